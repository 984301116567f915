"""What the end-to-end tests share: running the program, small graphs written by hand, JSON events."""
import json
import os
import struct
import subprocess

FRUGAL = os.environ["FRUGAL"]


def run(*arguments, timeout=120, **options):
    return subprocess.run([FRUGAL, *[str(a) for a in arguments]], capture_output=True, text=True, timeout=timeout, check=False, **options)


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def must(*arguments, **options):
    """Runs with --json --quiet and returns the last event; fails with what stderr says."""
    result = run(*arguments, "--json", "--quiet", **options)
    if result.returncode != 0:
        raise AssertionError(f"{arguments}: exit {result.returncode}: {result.stderr}")
    return events(result.stdout)[-1]


def synth(path, *more, nodes=300, degree=8):
    must("data", "synth", "-o", path, "--nodes", nodes, "--degree", degree, "--features", 6, "--classes", 3, "--signal", 1, *more)
    return path


SMALL_RUN = ["--layers", "2", "--hidden", "8", "--fanout", "4,3", "--batch", "10", "--epochs", "2", "--eval-every", "0"]


def write_npy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
