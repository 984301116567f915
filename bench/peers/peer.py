"""What the peers' training programs share: settings, the loop over epochs, the events they print.

A peer is one process for one seed, so that its memory is its own. It takes the settings as one JSON object and prints
events of the same names as `frugal gnn train --json`:

    {"event": "epoch", "epoch": 0, "loss": ..., "valid": ..., "seconds": ..., "n_batches": ..., "rows_fetched": ..., "edges": ...}
    {"event": "done", "test": ..., "valid": ..., "peak_memory": ..., "versions": {...}, "extrapolated": false}

Seconds are those of training alone; `cpu_seconds` are those of all threads, steadier where other work shares the machine
(sampling processes are left out). `peak_memory` is the peak of resident memory (workers included) when training ended
and before the first evaluation.
"""
import argparse
import json
import os
import resource
import statistics
import time

WARM_UP_BATCHES = 2  # not counted where only the first batches of an epoch are timed

DEFAULTS = {"model": "sage", "layers": 3, "hidden": 256, "heads": 8, "fanout": [20, 15, 10], "batch": 1000, "epochs": 3,
            "lr": 0.003, "dropout": 0.5, "seed": 0, "threads": 2, "workers": 0, "variant": "", "max_batches": 0,
            "evaluate_every": 1}


def settings_from_command_line():
    parser = argparse.ArgumentParser(description="Trains with one seed; gnn.py calls this.")
    parser.add_argument("graph")
    parser.add_argument("settings", nargs="?", default="{}", help="a JSON object")
    arguments = parser.parse_args()
    settings = dict(DEFAULTS, **json.loads(arguments.settings))
    settings["graph"] = arguments.graph
    # Before torch is imported: OpenMP reads it once.
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(settings["threads"])
    return settings


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def peak_memory_bytes():
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * 1024


class Trainer:
    """Runs batches() through step() for the epochs asked for, and evaluate() between them.

    batches()        an iterator over one epoch's mini-batches
    step(batch)      one training step -> (loss as a tensor, feature rows read, edges computed)
    evaluate()       -> {"valid": accuracy, "test": accuracy}
    """

    def __init__(self, settings, n_batches, batches, step, evaluate, versions):
        self.settings, self.n_batches = settings, n_batches
        self.batches, self.step, self.evaluate, self.versions = batches, step, evaluate, versions

    def run(self):
        best, peak, limit = {"valid": -1.0, "test": None}, 0, self.settings["max_batches"]
        for epoch in range(self.settings["epochs"]):
            fields = self.first_batches(limit) if 0 < limit < self.n_batches else self.whole_epoch()
            peak = max(peak, peak_memory_bytes()) if epoch == 0 or not self.settings["evaluate_every"] else peak
            every = 0 if limit else self.settings["evaluate_every"]
            last = epoch + 1 == self.settings["epochs"]
            if not limit and ((every and (epoch + 1) % every == 0) or last):
                found = self.evaluate()
                fields["valid"] = found["valid"]
                best = found if found["valid"] > best["valid"] else best
            say("epoch", epoch=epoch, n_batches=self.n_batches, **fields)
        say("done", test=best["test"], valid=best["valid"] if best["test"] is not None else None, peak_memory=peak,
            versions=self.versions, extrapolated=0 < limit < self.n_batches)

    def whole_epoch(self):
        begin, cpu, losses, rows, edges = time.perf_counter(), time.process_time(), [], 0, 0
        for batch in self.batches():
            loss, n_rows, n_edges = self.step(batch)
            losses.append(loss)
            rows, edges = rows + n_rows, edges + n_edges
        seconds = time.perf_counter() - begin
        return {"loss": statistics.fmean(float(x) for x in losses), "seconds": seconds, "cpu_seconds": time.process_time() - cpu,
                "seconds_per_batch": seconds / self.n_batches, "rows_fetched": rows, "edges": edges}

    def first_batches(self, limit):
        """Times batch by batch, sampling included, and extrapolates the median to the epoch."""
        times, cpu_times, losses, rows, edges = [], [], [], 0, 0
        before, cpu_before = time.perf_counter(), time.process_time()
        for batch in self.batches():
            loss, n_rows, n_edges = self.step(batch)
            now, cpu = time.perf_counter(), time.process_time()
            times.append(now - before)
            cpu_times.append(cpu - cpu_before)
            losses.append(float(loss))
            rows, edges, before, cpu_before = rows + n_rows, edges + n_edges, now, cpu
            if len(times) == limit:
                break
        warm = min(WARM_UP_BATCHES, len(times) - 1)
        per_batch, cpu_per_batch = statistics.median(times[warm:]), statistics.median(cpu_times[warm:])
        return {"loss": statistics.fmean(losses), "seconds": per_batch * self.n_batches,
                "cpu_seconds": cpu_per_batch * self.n_batches, "seconds_per_batch": per_batch,
                "seconds_fastest_batch": min(times), "cpu_seconds_per_batch": cpu_per_batch, "rows_fetched": rows * self.n_batches // len(times),
                "edges": edges * self.n_batches // len(times)}
