#!/usr/bin/env python3
"""The same GNN on the same graph with PyG, DGL and Frugal, and one table of who takes how long.

    python3 bench/peers/gnn.py products.frgraph --frugal build/frugal --epochs 3 --seeds 3
    python3 bench/peers/gnn.py products.frgraph --max-batches 20 --only pyg,dgl

Same input, sampler settings (without replacement), threads, optimizer, and evaluation over all neighbours, which is not
timed. An epoch is training alone. Every run is a process of its own, so that its memory is its own: a peer's peak is that
of its training, Frugal's that of its whole run. Each peer runs in the configuration found fastest for it, see README.md.

seconds: median over epochs and seeds. test: mean and standard deviation over seeds, of the epoch best on the validation
part. "frugal .../this": Frugal's seconds divided by that line's, below 1 where Frugal is faster.
"cpu s" counts all threads: where other work shares the machine, compare these between the peers.
"""
import argparse
import statistics
import sys

import systems


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="a .frgraph folder")
    parser.add_argument("--model", default="sage", choices=["sage", "gcn", "gat"])
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--fanout", default="20,15,10", help="from the seeds outwards")
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-batches", type=int, default=0, help="time only the first batches of an epoch and extrapolate")
    parser.add_argument("--evaluate-every", type=int, default=1, help="peers evaluate every so many epochs; 0: at the end")
    parser.add_argument("--only", default="pyg,dgl,frugal", help="comma-separated: pyg, dgl, frugal")
    parser.add_argument("--cache", default="none,fresh", help="runs of Frugal: none, fresh, all")
    parser.add_argument("--frugal", default="build/frugal", help="our binary")
    parser.add_argument("--frugal-options", default="", help="added to its command line, e.g. '--store ram'")
    parser.add_argument("--python-pyg", default=sys.executable, help="interpreter that has PyG")
    parser.add_argument("--python-dgl", default=sys.executable, help="interpreter that has DGL")
    parser.add_argument("--pyg-variant", default="", help="see pyg_peer.py")
    parser.add_argument("--dgl-variant", default="", help="see dgl_peer.py")
    parser.add_argument("--workers", type=int, default=0, help="sampling processes of the peers")
    parser.add_argument("--verbose", action="store_true", help="all events on stderr")
    return parser.parse_args()


def main():
    o = options()
    settings = {"model": o.model, "layers": o.layers, "hidden": o.hidden, "fanout": [int(f) for f in o.fanout.split(",")],
                "batch": o.batch, "lr": o.lr, "dropout": o.dropout, "epochs": o.epochs, "threads": o.threads,
                "max_batches": o.max_batches, "evaluate_every": o.evaluate_every, "workers": o.workers,
                "pyg": {"variant": o.pyg_variant}, "dgl": {"variant": o.dgl_variant}, "frugal_options": o.frugal_options.split()}
    programs = {"pyg": o.python_pyg, "dgl": o.python_dgl, "frugal": o.frugal}
    wanted = o.only.split(",")
    names = [name for name in ("pyg", "dgl") if name in wanted]
    names += [f"frugal {cache}" for cache in o.cache.split(",")] if "frugal" in wanted else []
    runs = {}
    for seed in range(o.seeds):  # seeds outside: a slow moment of the machine hits all systems
        for name in names:
            try:
                runs.setdefault(name, []).append(systems.train(name, o.graph, dict(settings, seed=seed), programs, o.verbose))
            except (systems.Failed, OSError) as error:
                print(f"{name}, seed {seed}: {error}", file=sys.stderr)
    print(f"{o.graph}: {o.model}, {o.layers} layers of {o.hidden}, fan-outs {o.fanout}, batch {o.batch}, lr {o.lr}, "
          f"dropout {o.dropout}, {o.threads} threads, {o.epochs} epochs, {o.seeds} seeds")
    print_table(runs, o.max_batches)
    return 0 if len(runs) == len(names) else 1


def print_table(runs, max_batches):
    ours = {name: epoch_seconds(found) for name, found in runs.items() if name.startswith("frugal")}
    heads = ["system", "s/epoch", "fastest", "cpu s/epoch", "test", "spread", "peak MB", "rows/epoch"] + [f"{name}/this" for name in ours] + ["versions"]
    lines = [heads]
    for name, found in runs.items():
        test, spread = systems.mean_and_spread([run.test for run in found])
        memory = max((run.peak_memory or 0) for run in found)
        fastest = min(second for run in found for second in run.epoch_seconds)
        lines.append([name, f"{epoch_seconds(found):.3f}" + ("*" if found[0].extrapolated else ""), f"{fastest:.3f}", cpu_seconds(found),
                      "-" if test is None else f"{100 * test:.2f}", "-" if test is None else f"{100 * spread:.2f}",
                      f"{memory / 1e6:.0f}" if memory else "-", f"{statistics.median(run.rows_fetched for run in found):.3g}"]
                     + [f"{seconds / epoch_seconds(found):.3f}" for seconds in ours.values()]
                     + [" ".join(f"{key} {value}" for key, value in found[0].versions.items())])
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        print("  ".join(cell.ljust(width) if column in (0, len(heads) - 1) else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(line, widths))).rstrip())
    if any(run.extrapolated for found in runs.values() for run in found):
        print(f"* extrapolated from the median of the first {max_batches} batches; accuracy is not measured then")


def cpu_seconds(found):
    seconds = [second for run in found for second in run.cpu_seconds]
    return f"{statistics.median(seconds):.3f}" if seconds else "-"


def epoch_seconds(found):
    return statistics.median(second for run in found for second in run.epoch_seconds)


if __name__ == "__main__":
    sys.exit(main())
