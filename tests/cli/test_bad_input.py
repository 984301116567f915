"""Bad input, as a user meets it: one clear sentence, the right exit code, nothing half-written, no crash.

One table: command, exit code, words that the sentence must hold. @ stands for the test's folder.
"""
import os
import shutil
import struct
import sys
import tempfile
import unittest

from cli import SMALL_RUN, must, run, synth, write_npy

TRAIN = ["gnn", "train", "@/g.frgraph", "-o", "@/run"]
USAGE = [
    ([], 2, "Usage"),
    (["gnn"], 2, "unknown command"),
    (["gnn", "trian", "@/g.frgraph"], 2, "did you mean gnn train"),
    (["data", "import"], 2, "needs KIND SRC"),
    (["data", "import", "parquet", "x", "-o", "@/o.frgraph"], 2, "parquet"),
    (["data", "import", "edges", "x"], 2, "needs -o"),
    (["data", "synth"], 2, "needs -o"),
    (["data", "info"], 2, "needs G.frgraph"),
    (["data", "info", ""], 2, "operand 1 is empty"),
    (["data", "info", "@/g.frgraph", "more"], 2, "one operand too many"),
    (["gnn", "train", "@/g.frgraph"], 2, "needs -o RUN"),
    (TRAIN + ["--layer", "2"], 2, "did you mean --layers"),
    (TRAIN + ["--zzzzzzzz"], 2, "unknown option"),
    (TRAIN + ["-layers", "2"], 2, "unknown option"),
    (TRAIN + ["--layers"], 2, "needs a value"),
    (TRAIN + ["--resume=yes"], 2, "takes no value"),
    (TRAIN + ["--layers", "two"], 2, "not an integer"),
    (TRAIN + ["--layers", "0"], 2, "outside [1, 8]"),
    (TRAIN + ["--layers", "99999999999999999999"], 2, "not an integer"),
    (TRAIN + ["--hidden", "-4"], 2, "outside"),
    (TRAIN + ["--model", "transformer"], 2, "must be one of sage|gcn"),
    (TRAIN + ["--fanout", "10,10"], 2, "2 fan-outs for 3 layers"),
    (TRAIN + ["--fanout", "10,,10"], 2, "not a list of numbers"),
    (TRAIN + ["--fanout", "10,0,5"], 2, "fan-out 2 is 0"),
    (TRAIN + ["--fanout", "1,2,3,4,5,6,7,8,9"], 2, "not a list"),
    (TRAIN + ["--lr", "nan"], 2, "not a number"),
    (TRAIN + ["--lr", "0"], 2, "outside"),
    (TRAIN + ["--dropout", "1"], 2, "outside"),
    (TRAIN + ["--memory", "lots"], 2, "not a size"),
    (TRAIN + ["--memory", "-1G"], 2, "not a size"),
    (TRAIN + ["--threads", "0"], 2, "outside"),
    (TRAIN + ["--seed", "-1"], 2, "outside"),
    (TRAIN + ["--t-stale", "soon"], 2, "not a number of iterations"),
    (TRAIN + ["--p-grad", "1.5"], 2, "outside [0, 1]"),
    (TRAIN + ["--cache", "none", "--p-grad", "0.5"], 2, "no meaning with --cache none"),
    (TRAIN + ["--cache", "fresh", "--layers", "1", "--fanout", "5"], 2, "hidden layers"),
    (TRAIN + ["--cache", "fresh", "--cached-layer", "3"], 2, "cached layer 3"),
    (TRAIN + ["--cache", "all", "--max-error", "0.1"], 2, "works with the fresh cache"),
    (TRAIN + ["--max-error", "0.1"], 2, "cache is none"),
    (TRAIN + ["--sample-full", "--sample-pruned", "--cache", "fresh"], 2, "exclude each other"),
    (TRAIN + ["--model", "mlp", "--cache", "fresh"], 2, "nothing to cache"),
    (TRAIN + ["--model", "gat", "--hidden", "30", "--heads", "4"], 2, "no multiple of 4 heads"),
    (["gnn", "infer", "@/run", "@/g.frgraph"], 2, "needs -o"),
    (["gnn", "infer", "@/run", "@/g.frgraph", "-o", "@/x.npy", "--classes", "--embeddings"], 2, "exclude each other"),
    (["completion", "tcsh"], 2, "bash, zsh or fish"),
    (["help", "nothing"], 2, "unknown command"),
]
FILES = [
    (["data", "info", "@/nothing.frgraph"], 1, "nothing.frgraph/meta.json"),
    (["data", "verify", "@/nothing.frgraph"], 1, "nothing.frgraph/meta.json"),
    (["gnn", "train", "@/nothing.frgraph", "-o", "@/run"], 1, "nothing.frgraph"),
    (["gnn", "eval", "@/no-run", "@/g.frgraph"], 1, "no-run"),
    (TRAIN + ["--resume"], 1, "run"),
    (TRAIN + ["--store", "file"], 1, "file"),
    (["gnn", "train", "@/g.frgraph", "-o", "/proc/run"] + SMALL_RUN, 1, "/proc/run"),
    (["data", "synth", "-o", "/proc/g.frgraph", "--nodes", "10", "--classes", "2"], 1, "/proc/g.frgraph"),
    (["data", "synth", "-o", "@/g.frgraph", "--nodes", "10", "--classes", "2"], 1, "already there"),
    (["data", "synth", "-o", "@/o.frgraph", "--nodes", "3", "--classes", "9"], 1, "9 classes for 3 nodes"),
    (["data", "synth", "-o", "@/o.frgraph", "--nodes", "30", "--classes", "2", "--train", "0.9", "--valid", "0.9"], 1, "sum to at most 1"),
    (["data", "import", "planetoid", "@/ind.none", "-o", "@/o.frgraph"], 1, "ind.none.x"),
    (["data", "import", "npz", "@/none.npz", "-o", "@/o.frgraph"], 1, "none.npz"),
    (["data", "import", "npz", "@/text.txt", "-o", "@/o.frgraph"], 1, "no zip archive"),
    (["data", "import", "edges", "@/none.txt", "-o", "@/o.frgraph"], 1, "none.txt"),
    (["data", "import", "edges", "@", "-o", "@/o.frgraph"], 1, "no regular file"),
    (["data", "import", "edges", "@/text.txt", "-o", "@/o.frgraph"], 1, "text.txt:2: \"hello world\" is not two node ids"),
    (["data", "import", "edges", "@/negative.txt", "-o", "@/o.frgraph"], 1, "negative.txt:2: node id -3 is below 0"),
    (["data", "import", "edges", "@/huge.txt", "-o", "@/o.frgraph"], 1, "huge.txt:1:"),
    (["data", "import", "edges", "@/half.txt", "-o", "@/o.frgraph"], 1, "half.txt:3: lacks a weight"),
    (["data", "import", "edges", "@/nan.txt", "-o", "@/o.frgraph"], 1, "nan.txt:1: the weight \"nan\" is not a finite number"),
    (["data", "import", "edges", "@/edges.txt", "-o", "@/o.frgraph", "--labels", "@/none.csv"], 1, "none.csv"),
    (["data", "import", "edges", "@/edges.txt", "-o", "@/o.frgraph", "--labels", "@/few.csv"], 1, "few.csv: 2 rows, the graph has 3 nodes"),
    (["data", "import", "edges", "@/edges.txt", "-o", "@/o.frgraph", "--labels", "@/words.csv"], 1, "words.csv:2: field 1 is \"two\", not a number"),
    (["data", "import", "edges", "@/edges.txt", "-o", "@/o.frgraph", "--labels", "@/minus.csv"], 1, "class -7"),
    (["data", "import", "edges", "@/edges.txt", "-o", "@/o.frgraph", "--features", "@/nan.npy"], 1, "node 1, column 0 is not a number"),
    (["data", "import", "edges", "@/edges.txt", "-o", "@/o.frgraph", "--labels", "@/three.csv", "--split", "@/parts.csv"], 1, "part 9"),
    (["data", "import", "edges", "@/edges.txt", "-o", "@/o.frgraph", "--labels", "@/none3.csv", "--split", "@/ones.csv"], 1, "has no label"),
]


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="frugal-bad-")
        synth(os.path.join(cls.folder, "g.frgraph"))
        texts = {"text.txt": "# fine\nhello world\n", "negative.txt": "1 2\n-3 4\n", "huge.txt": "99999999999999999999999 1\n",
                 "half.txt": "1 2 0.5\n2 3 0.5\n3 1\n", "nan.txt": "1 2 nan\n", "edges.txt": "0 1\n1 2\n", "few.csv": "0\n1\n",
                 "words.csv": "1\ntwo\n3\n", "minus.csv": "0\n-7\n1\n", "three.csv": "0\n1\n1\n", "parts.csv": "1\n9\n2\n",
                 "none3.csv": "0\n-1\n1\n", "ones.csv": "1\n1\n1\n"}
        for name, text in texts.items():
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        write_npy(os.path.join(cls.folder, "nan.npy"), "<f4", (3, 1), struct.pack("<3f", 1, float("nan"), 2))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def check(self, arguments, code, words):
        arguments = [a.replace("@", self.folder) for a in arguments]
        before = sorted(os.listdir(self.folder))
        result = run(*arguments, stdin=None)
        told = f"{' '.join(arguments)}: exit {result.returncode}: {result.stderr}"
        self.assertEqual(result.returncode, code, told)
        self.assertIn(words, result.stderr, told)
        if code == 1:
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, told)
            self.assertTrue(result.stderr.startswith("frugal: "), told)
        left = [name for name in sorted(os.listdir(self.folder)) if name not in before and name != "run"]
        self.assertEqual(left, [], told)

    def test_usage_mistakes(self):
        for case in USAGE:
            with self.subTest(case=case):
                self.check(*case)

    def test_files(self):
        for case in FILES:
            with self.subTest(case=case):
                self.check(*case)

    def test_there_are_sixty_cases(self):
        self.assertGreaterEqual(len(USAGE) + len(FILES), 60)


class DamagedGraphs(unittest.TestCase):
    """Each file of a graph shortened, emptied, lengthened, removed, or with one byte turned over."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="frugal-damage-")
        self.good = synth(os.path.join(self.folder, "good.frgraph"))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def damaged(self, name, change):
        path = os.path.join(self.folder, "bad.frgraph")
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.good, path)
        change(os.path.join(path, name))
        return path

    def test_lengths(self):
        changes = {"shorter": lambda p: os.truncate(p, os.path.getsize(p) - 2), "empty": lambda p: os.truncate(p, 0),
                   "longer": lambda p: os.truncate(p, os.path.getsize(p) + 1), "gone": os.remove}
        for name in sorted(os.listdir(self.good)):
            for what, change in changes.items():
                if name == "meta.json" and what == "longer":
                    continue
                path = self.damaged(name, change)
                for command in (["gnn", "train", path, "-o", os.path.join(self.folder, "run"), *SMALL_RUN], ["data", "verify", path]):
                    with self.subTest(name=name, what=what, command=command[:2]):
                        result = run(*command)
                        self.assertEqual(result.returncode, 1, result.stderr)
                        self.assertIn(name, result.stderr)

    def test_one_byte_is_found_by_verify(self):
        def turn(path):
            with open(path, "r+b") as file:
                file.seek(os.path.getsize(path) // 2)
                byte = file.read(1)
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte[0] ^ 0x10]))
        for name in sorted(os.listdir(self.good)):
            if name == "meta.json":
                continue
            with self.subTest(name=name):
                result = run("data", "verify", self.damaged(name, turn))
                self.assertEqual(result.returncode, 1)
                self.assertIn(name, result.stderr)

    def test_a_label_outside_the_classes(self):
        def write(path):
            with open(path, "r+b") as file:
                file.seek(40)
                file.write(struct.pack("<i", 77))
        result = run("gnn", "train", self.damaged("labels.bin", write), "-o", os.path.join(self.folder, "run"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("node 10 has class 77, there are 3", result.stderr)


    def test_an_index_outside_the_graph(self):
        def write(path):
            with open(path, "r+b") as file:
                for at in range(0, os.path.getsize(path), 4):
                    file.seek(at)
                    file.write(struct.pack("<I", 4000000000))
        for model in ("sage", "gcn"):
            result = run("gnn", "train", self.damaged("indices.bin", write), "-o", os.path.join(self.folder, "run"), "--model", model)
            self.assertEqual(result.returncode, 1)
            self.assertIn("indices.bin: names node 4000000000", result.stderr)
            shutil.rmtree(os.path.join(self.folder, "run"))


class SmallGraphs(unittest.TestCase):
    """Graphs of 0, 1 and isolated nodes."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="frugal-small-")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_no_edges_at_all(self):
        with open(self.path("none.txt"), "w", encoding="utf-8") as file:
            file.write("# nothing\n")
        must("data", "import", "edges", self.path("none.txt"), "-o", self.path("g.frgraph"))
        must("data", "verify", self.path("g.frgraph"))
        self.assertEqual(must("data", "info", self.path("g.frgraph"))["nodes"], 0)
        result = run("gnn", "train", self.path("g.frgraph"), "-o", self.path("run"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no features", result.stderr)

    def test_one_node(self):
        synth(self.path("one.frgraph"), "--classes", 1, "--train", 1, "--valid", 0, "--test", 0, nodes=1, degree=0)
        done = must("gnn", "train", self.path("one.frgraph"), "-o", self.path("run"), *SMALL_RUN)
        self.assertEqual(done["train"], 1)

    def test_isolated_nodes(self):
        synth(self.path("lonely.frgraph"), degree=0)
        for model in ("sage", "gcn", "gat", "gin"):
            for cache in ("none", "fresh"):
                must("gnn", "train", self.path("lonely.frgraph"), "-o", self.path(model + cache), "--model", model, "--cache", cache, *SMALL_RUN)

    def test_no_training_nodes(self):
        synth(self.path("idle.frgraph"), "--train", 0, "--valid", 0, "--test", 1)
        result = run("gnn", "train", self.path("idle.frgraph"), "-o", self.path("run"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no training nodes", result.stderr)

    def test_a_full_disk(self):
        """A file size limit stands for a full disk: the write fails in the middle."""
        import resource
        import signal

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
        result = run("data", "synth", "-o", self.path("g.frgraph"), "--nodes", 20000, "--classes", 3, preexec_fn=limit)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("g.frgraph", result.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_unwritable_folder(self):
        if os.geteuid() == 0:
            self.skipTest("root may write anywhere")
        os.mkdir(self.path("closed"), 0o500)
        result = run("data", "synth", "-o", self.path("closed/g.frgraph"), "--nodes", 20, "--classes", 3)
        self.assertEqual(result.returncode, 1)
        self.assertIn("closed", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
