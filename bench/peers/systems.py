"""Starts one training run of one system as a process of its own and collects its events.

    run = systems.train("pyg", "g.frgraph", settings, programs)
    run.epoch_seconds, run.test, run.peak_memory, run.versions

Systems are "pyg", "dgl" and "frugal none|fresh|all" (the cache). Needs no package: peers run under interpreters of their
own, since PyG and DGL want different torch versions.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


# A batch's arrays are large, and by default the C library returns each to the kernel and faults it in anew. Keeping them
# takes a third off the peers' processor time (and adds a third to their memory); Frugal is run as it is.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(16 << 30), "MALLOC_TOP_PAD_": str(256 << 20)}


class Run:
    def __init__(self, system, events):
        epochs = [event for event in events if event["event"] == "epoch"]
        done = events[-1]
        self.system, self.epochs, self.done = system, epochs, done
        self.epoch_seconds = [epoch["seconds"] for epoch in epochs]
        self.cpu_seconds = [epoch["cpu_seconds"] for epoch in epochs if "cpu_seconds" in epoch]
        self.test, self.valid = done.get("test"), done.get("valid")
        self.peak_memory = done.get("peak_memory")
        self.versions = done.get("versions", {})
        self.extrapolated = done.get("extrapolated", False)
        self.rows_fetched = statistics.median(epoch.get("rows_fetched", 0) for epoch in epochs)


class Failed(Exception):
    pass


def train(system, graph, settings, programs, verbose=False):
    """programs: {"pyg": interpreter, "dgl": interpreter, "frugal": binary}."""
    if system.startswith("frugal"):
        with tempfile.TemporaryDirectory() as folder:
            command = frugal_command(programs["frugal"], graph, os.path.join(folder, "run"), system.split()[1], settings)
            return Run(system, events_of(command, settings, verbose, versions={"frugal": frugal_version(programs["frugal"])}))
    own = dict(settings, **settings.get(system, {}))
    command = [programs[system], os.path.join(HERE, f"{system}_peer.py"), graph, json.dumps(own)]
    return Run(system, events_of(command, own, verbose, environment=KEEP_MEMORY if settings.get("keep_memory", True) else {}))


def frugal_command(binary, graph, run, cache, settings):
    command = [binary, "gnn", "train", graph, "-o", run, "--model", settings["model"], "--layers", str(settings["layers"]),
               "--hidden", str(settings["hidden"]), "--fanout", ",".join(map(str, settings["fanout"])),
               "--batch", str(settings["batch"]), "--epochs", str(settings["epochs"]), "--lr", str(settings["lr"]),
               "--dropout", str(settings["dropout"]), "--cache", cache, "--seed", str(settings["seed"]),
               "--threads", str(settings["threads"]), "--json"]
    return command + settings.get("frugal_options", [])


def frugal_version(binary):
    out = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return out[1] if len(out) > 1 else "unknown"


def events_of(command, settings, verbose, versions=None, environment=None):
    environment = dict(os.environ, OMP_NUM_THREADS=str(settings["threads"]), DGLBACKEND="pytorch", **(environment or {}))
    environment.pop("PYTHONPATH", None)
    # A thread that waits shall sleep: spinning ones cost up to ten times the time where other work wants the cores.
    environment.setdefault("OMP_WAIT_POLICY", "passive")
    # Some machines name an old kernel for numpy's sake; a peer shall use the best it has.
    environment.pop("OPENBLAS_CORETYPE", None)
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    events = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    if verbose:
        for event in events:
            print("   ", json.dumps(event), file=sys.stderr)
    if process.returncode != 0 or not events or events[-1]["event"] != "done":
        last = [line for line in process.stderr.splitlines() if line.strip()][-1:] or ["no message"]
        raise Failed(f"exit {process.returncode}: {last[0]}")
    if versions is not None:
        events[-1].setdefault("versions", versions)
    return events


def mean_and_spread(values):
    values = [value for value in values if value is not None]
    if not values:
        return None, None
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
