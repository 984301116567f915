"""The checks of scripts/ pass on the tree and catch what is planted. Oracle: planted faults."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.environ["FR_SOURCE_DIR"]


def run(script, root):
    return subprocess.run([os.path.join(ROOT, "scripts", script), root], capture_output=True, text=True, check=False)


class Checks(unittest.TestCase):
    def setUp(self):
        self.copy = tempfile.mkdtemp(prefix="frugal-checks-")
        for folder in ("src", "include"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(self.copy, folder))

    def tearDown(self):
        shutil.rmtree(self.copy)

    def plant(self, path, text):
        with open(os.path.join(self.copy, path), "a", encoding="utf-8") as file:
            file.write(text)

    def expect_failure(self, script, *words):
        result = run(script, self.copy)
        self.assertEqual(result.returncode, 1, result.stdout)
        for word in words:
            self.assertIn(word, result.stdout)

    def test_the_tree_is_clean(self):
        for script in ("check-layers", "check-banned"):
            result = run(script, self.copy)
            self.assertEqual(result.returncode, 0, result.stdout)

    def test_an_upward_include_is_found(self):
        self.plant("src/base/text.c", '\n#include "store/tier.h"\n')
        self.expect_failure("check-layers", "src/base/text.c:", "layer base includes store/tier.h of layer store")

    def test_an_upward_public_include_is_found(self):
        self.plant("src/kernel/gemm.c", "\n#include <frugal/program.h>\n")
        self.expect_failure("check-layers", "src/kernel/gemm.c:", "frugal/program.h of layer program")

    def test_an_upward_include_of_a_public_header_is_found(self):
        self.plant("include/frugal/tensor.h", "\n#include <frugal/gnn.h>\n")
        self.expect_failure("check-layers", "include/frugal/tensor.h:")

    def test_an_upward_include_by_a_macro_or_a_relative_path_is_found(self):
        for line in ('#define TEMPLATE "store/tier.h"', '#include "../store/tier.h"'):
            self.plant("src/base/text.c", f"\n{line}\n")
            with open(os.path.join(self.copy, "src/base/text.c"), encoding="utf-8") as file:
                number = len(file.readlines())
            self.expect_failure("check-layers", f"src/base/text.c:{number}: ")

    def test_an_include_sideways_is_found(self):
        os.makedirs(os.path.join(self.copy, "src", "text"), exist_ok=True)
        self.plant("src/text/planted.c", '#include "graph/graph.h"\n')
        self.expect_failure("check-layers", "src/text/planted.c:1: layer text includes graph/graph.h of layer graph")

    def test_a_folder_that_is_no_layer_is_found(self):
        os.makedirs(os.path.join(self.copy, "src", "util"))
        self.plant("src/util/x.c", "int x;\n")
        self.expect_failure("check-layers", "folder util is no layer")

    def test_a_bare_malloc_is_found(self):
        self.plant("src/graph/draw.c", "\nvoid *leak(void) { return malloc(3); }\n")
        self.expect_failure("check-banned", "src/graph/draw.c:", "malloc is banned")

    def test_calls_of_longer_names_and_of_members_are_fine(self):
        self.plant("src/graph/draw.c", "\nvoid f(struct t *t) { fr_free(t); t->free(t); t->at.free(t); }\n")
        self.assertEqual(run("check-banned", self.copy).returncode, 0)

    def test_words_in_comments_and_strings_are_fine(self):
        self.plant("src/graph/draw.c", '\n/* malloc(3), strcpy() */ static const char s[] = "free(x)"; // rand()\n')
        self.assertEqual(run("check-banned", self.copy).returncode, 0)

    def test_a_name_of_the_c_library_is_found(self):
        self.plant("src/graph/memory.h", "int x;\n")
        self.expect_failure("check-banned", "src/graph/memory.h:1: the name is that of a header")

    def test_a_name_twice_is_found(self):
        os.makedirs(os.path.join(self.copy, "src", "graph", "more"))
        self.plant("src/graph/more/draw.c", "int x;\n")
        self.expect_failure("check-banned", "has the same name")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
