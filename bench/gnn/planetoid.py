"""Accuracy of GCN and GAT on Cora and CiteSeer with the standard splits: mean and deviation over seeds.

python3 bench/gnn/planetoid.py --frugal build/release/frugal --data DIR [--seeds 10] [--threads 1]
DIR holds ind.cora.*, ind.citeseer.*. Settings are those of the GCN and GAT papers. Prints the commands and one table.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

GCN = ("--model gcn --layers 2 --hidden 16 --fanout all --batch 0 --epochs 200 --lr 0.01 --dropout 0.5 --input-dropout 0.5 "
       "--weight-decay 5e-4 --decay-first-layer")
GAT = ("--model gat --layers 2 --hidden 64 --heads 8 --fanout all --batch 0 --epochs 300 --lr 0.005 --dropout 0.6 --input-dropout 0.6 "
       "--attention-dropout 0.6 --weight-decay 5e-4")
CASES = [("cora", "gcn", GCN, 81.0, 81.5), ("citeseer", "gcn", GCN, 70.0, 70.3), ("cora", "gat", GAT, 82.0, 83.0),
         ("citeseer", "gat", GAT, 71.5, 72.5)]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit {result.returncode}: {result.stderr}")
    return json.loads(result.stdout.strip().split("\n")[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frugal", default="build/release/frugal")
    parser.add_argument("--data", required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="for example cora/gat")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for name, model, settings, asked, published in CASES:
            if options.only and options.only != f"{name}/{model}":
                continue
            graph = os.path.join(folder, name + ".frgraph")
            if not os.path.exists(graph):
                run([options.frugal, "data", "import", "planetoid", os.path.join(options.data, "ind." + name), "-o", graph,
                     "--normalize-features", "--json", "--quiet"])
            print(f"frugal gnn train {name}.frgraph -o RUN {settings} --seed S", flush=True)
            tests, seconds = [], []
            for seed in range(options.seeds):
                done = run([options.frugal, "gnn", "train", graph, "-o", os.path.join(folder, f"{name}-{model}-{seed}"), *settings.split(),
                            "--seed", str(seed), "--threads", str(options.threads), "--json", "--quiet", "--checkpoint-every", "0"])
                tests.append(100 * done["test"])
                seconds.append(done["seconds"])
            rows.append((name, model, statistics.mean(tests), statistics.pstdev(tests), statistics.median(seconds), asked, published))
        print("\n| data | model | test, mean | deviation | seconds of training | asked | published |\n|---|---|--:|--:|--:|--:|--:|")
        for name, model, mean, deviation, seconds, asked, published in rows:
            print(f"| {name} | {model} | {mean:.2f} | {deviation:.2f} | {seconds:.2f} | {asked} | {published} |")


if __name__ == "__main__":
    main()
