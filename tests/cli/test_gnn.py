"""The whole job through the real program: train, evaluate, infer, stop, kill, resume, help."""
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from cli import FRUGAL, SMALL_RUN, events, must, run, synth


def weights(run_folder):
    """Bytes of best.frc: weights alone, no times."""
    with open(os.path.join(run_folder, "best.frc"), "rb") as file:
        return file.read()


class WholeJob(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="frugal-gnn-")
        self.graph = synth(self.path("g.frgraph"), nodes=2000, degree=10)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_train_eval_infer(self):
        result = run("gnn", "train", self.graph, "-o", self.path("run"), *SMALL_RUN, "--epochs", 4, "--eval-every", 1, "--cache", "fresh",
                     "--t-stale", 5, "--json", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        told = events(result.stdout)
        self.assertEqual([e["event"] for e in told], ["epoch"] * 4 + ["done"])
        for field in ("epoch", "loss", "valid", "seconds", "rows_wanted", "rows_fetched", "bytes_read", "hit_rate", "max_age", "stall"):
            self.assertIn(field, told[1])
        for field in ("test", "valid", "best_epoch", "seconds", "rows_wanted", "rows_fetched", "bytes_read", "peak_memory"):
            self.assertIn(field, told[-1])
        self.assertLess(told[-2]["max_age"], 5)
        for name in ("config.json", "metrics.csv", "last.frc", "best.frc"):
            self.assertTrue(os.path.exists(os.path.join(self.path("run"), name)), name)
        evaluated = must("gnn", "eval", self.path("run"), self.graph)
        self.assertEqual(evaluated["test"], told[-1]["test"])
        for more, width, name in ([], 3, "<f4"), (["--embeddings"], 8, "<f4"), (["--classes"], None, "<i4"):
            must("gnn", "infer", self.path("run"), self.graph, "-o", self.path("out.npy"), "--memory", "64K", *more)
            with open(self.path("out.npy"), "rb") as file:
                header = file.read(200)
            shape = f"(2000, {width})" if width else "(2000,)"
            self.assertIn(shape.encode(), header)
            self.assertIn(name.encode(), header)

    def test_infer_in_little_memory_equals_infer_in_much(self):
        must("gnn", "train", self.graph, "-o", self.path("run"), *SMALL_RUN, "--model", "gat")
        for memory in ("1K", "1G"):
            must("gnn", "infer", self.path("run"), self.graph, "-o", self.path(memory + ".npy"), "--memory", memory)
        with open(self.path("1K.npy"), "rb") as a, open(self.path("1G.npy"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_a_second_run_in_the_same_folder_is_refused(self):
        must("gnn", "train", self.graph, "-o", self.path("run"), *SMALL_RUN)
        result = run("gnn", "train", self.graph, "-o", self.path("run"), *SMALL_RUN)
        self.assertEqual(result.returncode, 1)
        self.assertIn("run", result.stderr)

    def test_resume_with_other_options_names_the_field(self):
        must("gnn", "train", self.graph, "-o", self.path("run"), *SMALL_RUN)
        result = run("gnn", "train", self.graph, "-o", self.path("run"), *SMALL_RUN, "--lr", "0.5", "--resume")
        self.assertEqual(result.returncode, 1)
        self.assertIn("lr", result.stderr)

    LONG_RUN = [*SMALL_RUN, "--epochs", "40", "--cache", "fresh", "--t-stale", "30", "--checkpoint-every", "0"]

    def test_ctrl_c_leaves_a_checkpoint_and_resume_gives_the_same_bits(self):
        must("gnn", "train", self.graph, "-o", self.path("whole"), *self.LONG_RUN)
        command = [FRUGAL, "gnn", "train", self.graph, "-o", self.path("parts"), *self.LONG_RUN, "--quiet", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()  # an epoch is done
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, told)
        self.assertIn("--resume", told)
        must("gnn", "train", self.graph, "-o", self.path("parts"), *self.LONG_RUN, "--resume")
        self.assertEqual(weights(self.path("whole")), weights(self.path("parts")))

    def test_kill_at_any_moment_then_resume_gives_the_same_bits(self):
        seed = int(os.environ.get("FR_TEST_SEED", time.time_ns() % 1000000))
        print("FR_TEST_SEED", seed)
        chance = random.Random(seed)
        long_run = [*self.LONG_RUN, "--checkpoint-every", "1"]
        must("gnn", "train", self.graph, "-o", self.path("whole"), *long_run)
        resume = []
        for _ in range(6):
            process = subprocess.Popen([FRUGAL, "gnn", "train", self.graph, "-o", self.path("parts"), *long_run, *resume, "--quiet"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(0.2 + chance.random() * 1.5)
            process.kill()
            process.communicate()
            resume = ["--resume"] if os.path.exists(os.path.join(self.path("parts"), "config.json")) else []
        must("gnn", "train", self.graph, "-o", self.path("parts"), *long_run, *resume)
        self.assertEqual(weights(self.path("whole")), weights(self.path("parts")))

    def test_two_processes_cannot_share_a_run(self):
        process = subprocess.Popen([FRUGAL, "gnn", "train", self.graph, "-o", self.path("run"), *self.LONG_RUN, "--epochs", "4000", "--quiet", "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process.stdout.readline()
        result = run("gnn", "train", self.graph, "-o", self.path("run"), *self.LONG_RUN, "--epochs", "4000", "--resume")
        process.kill()
        process.communicate()
        self.assertEqual(result.returncode, 1, result.stderr)

    def test_threads_do_not_change_the_bits(self):
        for threads in (1, 2):
            must("gnn", "train", self.graph, "-o", self.path(f"t{threads}"), *SMALL_RUN, "--threads", threads, "--cache", "fresh")
        self.assertEqual(weights(self.path("t1")), weights(self.path("t2")))


class Help(unittest.TestCase):
    def test_every_command_has_help_with_an_example(self):
        overview = run("help").stdout
        names = [line.split("  ")[1].strip() for line in overview.splitlines() if line.startswith("  ")]
        self.assertIn("gnn train", names)
        for name in names:
            for form in (["help", *name.split()], [*name.split(), "--help"]):
                result = run(*form)
                self.assertEqual(result.returncode, 0, name)
                self.assertIn("Example:\n  frugal " + name, result.stdout)

    def test_version_man_and_completion(self):
        self.assertRegex(run("--version").stdout, r"^frugal \d+\.\d+\.\d+\n$")
        man = run("help", "--man").stdout
        self.assertTrue(man.startswith(".TH FRUGAL 1"))
        self.assertIn("gnn train", man)
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("frugal", run("completion", shell).stdout)
        if shutil.which("bash"):
            script = run("completion", "bash").stdout + "\nCOMP_WORDS=(frugal gnn tr); COMP_CWORD=2; _frugal; echo ${COMPREPLY[@]}"
            completed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd="/")
            self.assertIn("train", completed.stdout)

    def test_doctor_names_the_processor(self):
        self.assertIn("instruction set", run("doctor").stdout)
        self.assertIn("MatMul", run("doctor", "--operators").stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
