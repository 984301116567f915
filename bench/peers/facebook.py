#!/usr/bin/env python3
"""Does Frugal learn as well as PyG? Sampled GraphSAGE on facebook_pages, equal splits, several seeds.

    python3 bench/peers/facebook.py facebook_pages.npz --frugal build/frugal
    python3 bench/peers/facebook.py facebook_pages.npz --only pyg

The graph (22,470 pages, 4 classes) comes as CSR in an .npz: links in one direction, some self-loops, sparse features. It is
symmetrised without doubles and self-loops. For each seed a random 60/20/20 split is drawn and written with the graph as one
.frgraph folder, and every system trains on that folder. Prints test accuracy a seed, means, the difference and its
standard error over the paired seeds.
"""
import argparse
import os
import statistics
import sys
import tempfile

import numpy as np

import frgraph
import systems

PARTS = (0.6, 0.2, 0.2)


def load_npz(path):
    """(indptr, indices, dense features, labels) of an .npz with adj_*, attr_* and labels."""
    with np.load(path, allow_pickle=False) as file:
        n = int(file["adj_shape"][0])
        source = np.repeat(np.arange(n), np.diff(file["adj_indptr"]))
        indptr, indices = frgraph.symmetric_csr(source, file["adj_indices"], n)
        features = np.zeros(tuple(file["attr_shape"]), np.float32)
        rows = np.repeat(np.arange(n), np.diff(file["attr_indptr"]))
        features[rows, file["attr_indices"]] = file["attr_data"]
        return indptr, indices, features, file["labels"].astype(np.int32)


def random_split(n, seed):
    order = np.random.default_rng(seed).permutation(n)
    split = np.full(n, frgraph.PARTS["test"], np.uint8)
    split[order[:int(PARTS[0] * n)]] = frgraph.PARTS["train"]
    split[order[int(PARTS[0] * n):int((PARTS[0] + PARTS[1]) * n)]] = frgraph.PARTS["valid"]
    return split


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npz")
    parser.add_argument("--model", default="sage", choices=["sage", "gcn", "gat"])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--fanout", default="10,10", help="from the seeds outwards")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="pyg,frugal", help="comma-separated: pyg, dgl, frugal")
    parser.add_argument("--cache", default="none,fresh", help="runs of Frugal: none, fresh, all")
    parser.add_argument("--frugal", default="build/frugal")
    parser.add_argument("--python-pyg", default=sys.executable)
    parser.add_argument("--python-dgl", default=sys.executable)
    parser.add_argument("--pyg-variant", default="")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    o = options()
    settings = {"model": o.model, "layers": o.layers, "hidden": o.hidden, "fanout": [int(f) for f in o.fanout.split(",")],
                "batch": o.batch, "lr": o.lr, "dropout": o.dropout, "epochs": o.epochs, "threads": o.threads,
                "pyg": {"variant": o.pyg_variant}}
    programs = {"pyg": o.python_pyg, "dgl": o.python_dgl, "frugal": o.frugal}
    names = [name for name in ("pyg", "dgl") if name in o.only.split(",")]
    names += [f"frugal {cache}" for cache in o.cache.split(",")] if "frugal" in o.only.split(",") else []
    indptr, indices, features, labels = load_npz(o.npz)
    print(f"{len(labels)} nodes, {len(indices)} edges, {features.shape[1]} features: {o.model}, {o.layers} layers of {o.hidden}, "
          f"fan-outs {o.fanout}, batch {o.batch}, lr {o.lr}, dropout {o.dropout}, {o.epochs} epochs, best on validation")
    print("seed".ljust(6) + "".join(name.rjust(14) for name in names))
    tests, seconds, failed = {name: [] for name in names}, {name: [] for name in names}, False
    with tempfile.TemporaryDirectory() as folder:
        graph = os.path.join(folder, "facebook.frgraph")
        frgraph.write_folder(graph, indptr, indices, features, labels, random_split(len(labels), 0), int(labels.max()) + 1)
        for seed in range(o.seeds):
            frgraph.change_split(graph, random_split(len(labels), seed))
            for name in names:
                try:
                    run = systems.train(name, graph, dict(settings, seed=seed), programs, o.verbose)
                except (systems.Failed, OSError) as error:
                    print(f"{name}, seed {seed}: {error}", file=sys.stderr)
                    failed = True
                    tests[name].append(None)
                    continue
                tests[name].append(run.test)
                seconds[name] += run.epoch_seconds
            print(f"{seed:<6}" + "".join(show(tests[name][seed]) for name in names), flush=True)
    print("mean  " + "".join(show(systems.mean_and_spread(tests[name])[0]) for name in names))
    print("spread" + "".join(show(systems.mean_and_spread(tests[name])[1]) for name in names))
    print("s/ep. " + "".join((f"{statistics.median(seconds[name]):.3f}" if seconds[name] else "-").rjust(14) for name in names))
    for name in names[1:]:
        pairs = [(a, b) for a, b in zip(tests[name], tests[names[0]]) if a is not None and b is not None]
        mean, spread = systems.mean_and_spread([a - b for a, b in pairs])
        if mean is not None:
            print(f"{name} - {names[0]}: {100 * mean:+.2f} points, standard error {100 * spread / len(pairs) ** 0.5:.2f}")
    return 1 if failed else 0


def show(share):
    return ("-" if share is None else f"{100 * share:.2f}").rjust(14)


if __name__ == "__main__":
    sys.exit(main())
