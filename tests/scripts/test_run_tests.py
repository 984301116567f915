"""The test runner's closing line and exit code, on projects of planted tests. Oracle: what was planted."""
import os
import subprocess
import sys
import unittest

ROOT = os.environ["FR_SOURCE_DIR"]
PASS, FAIL = 'COMMAND true', 'COMMAND false'
MISSING = 'COMMAND "${CMAKE_BINARY_DIR}/was-not-built"'
SKIP = 'COMMAND sh -c "exit 77"'


def run(folder, *tests):
    """Last line and exit code of run-tests over these tests."""
    os.makedirs(folder)
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("cmake_minimum_required(VERSION 3.22)\nproject(planted LANGUAGES NONE)\nenable_testing()\n")
        for number, command in enumerate(tests):
            file.write(f"add_test(NAME t{number} {command})\n")
            file.write(f"set_tests_properties(t{number} PROPERTIES SKIP_RETURN_CODE 77 LABELS short)\n")
    build = os.path.join(folder, "build")
    subprocess.run(["cmake", "-S", folder, "-B", build], capture_output=True, check=True)
    result = subprocess.run([os.path.join(ROOT, "scripts", "run-tests"), build, "-L", "short"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False)
    return result.stdout.splitlines()[-1], result.returncode


class Runner(unittest.TestCase):
    def test_all_pass(self):
        self.assertEqual(run("pass", PASS, PASS, SKIP), ("2 passed, 0 failed, 1 skipped", 0))

    def test_a_failure_fails(self):
        self.assertEqual(run("fail", PASS, FAIL, SKIP), ("1 passed, 1 failed, 1 skipped", 1))

    def test_a_program_that_was_not_built_is_a_failure(self):
        self.assertEqual(run("missing", PASS, MISSING), ("1 passed, 1 failed, 0 skipped", 1))

    def test_no_test_at_all_fails(self):
        self.assertEqual(run("none"), ("0 passed, 0 failed, 0 skipped", 1))

    def test_skipped_tests_alone_fail(self):
        self.assertEqual(run("skipped", SKIP), ("0 passed, 0 failed, 1 skipped", 1))


class ContinuousIntegration(unittest.TestCase):
    """.ci/run with a `make` of our own in front."""

    def run_ci(self, make):
        os.makedirs("bin", exist_ok=True)
        with open("bin/make", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + make)
        os.chmod("bin/make", 0o755)
        path = os.path.abspath("bin") + ":" + os.environ["PATH"]
        result = subprocess.run(["bash", os.path.join(ROOT, ".ci", "run")], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "PATH": path}, check=False)
        return result.stdout.splitlines(), result.returncode

    def test_the_closing_line_is_last_once(self):
        lines, code = self.run_ci("echo building; echo '3 passed, 0 failed, 0 skipped'")
        self.assertEqual((lines, code), (["building", "3 passed, 0 failed, 0 skipped"], 0))

    def test_it_is_last_after_words_of_make(self):
        lines, code = self.run_ci("echo '2 passed, 1 failed, 0 skipped'; echo 'make: Error 1' >&2; exit 2")
        self.assertEqual((lines[-1], code), ("2 passed, 1 failed, 0 skipped", 2))

    def test_a_failed_build_is_said(self):
        lines, code = self.run_ci("echo 'x.c:1: error'; exit 2")
        self.assertEqual((lines[-1], code), ("no test ran: the build failed", 2))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
