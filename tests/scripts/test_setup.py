"""scripts/setup with a dpkg-query, apt-get, id and sudo of our own in front. Oracle: the calls they write down."""
import os
import subprocess
import sys
import unittest

ROOT = os.environ["FR_SOURCE_DIR"]


class Setup(unittest.TestCase):
    def setUp(self):
        self.bin = os.path.abspath(self.id())
        os.makedirs(self.bin)
        self.calls = os.path.join(self.bin, "calls")
        self.command("dpkg-query", 'case "$*" in *libdnnl-dev*) [ -n "$MISSING" ] && exit 1;; esac; echo installed')
        self.command("apt-get", f'echo "$DEBIAN_FRONTEND $*" >>{self.calls}; case "$*" in *$FAILS*) exit 100;; esac')
        self.command("id", "echo ${USER_ID:-0}")
        self.command("sudo", 'if [ "$1" = -n ]; then exit $SUDO_ASKS; fi; exec "$@"')

    def command(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def run_setup(self, *options, **environment):
        environment = {"MISSING": "", "FAILS": "nothing-fails", "SUDO_ASKS": "0", **environment}
        result = subprocess.run([os.path.join(ROOT, "scripts", "setup"), *options], capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, check=False,
                                env={**os.environ, "PATH": self.bin + ":" + os.environ["PATH"], **environment})
        calls = ""
        if os.path.exists(self.calls):
            with open(self.calls, encoding="utf-8") as file:
                calls = file.read()
        return result.returncode, result.stderr, calls

    def test_nothing_missing_asks_no_apt(self):
        self.assertEqual(self.run_setup(), (0, "", ""))

    def test_what_is_missing_and_no_more_is_installed(self):
        code, _, calls = self.run_setup(MISSING="1")
        self.assertEqual(code, 0)
        self.assertIn("noninteractive -q install -y --no-install-recommends libdnnl-dev\n", calls)

    def test_no_new_lists_are_no_reason_to_stop(self):
        code, words, calls = self.run_setup(MISSING="1", FAILS="update")
        self.assertEqual(code, 0)
        self.assertIn("update failed", words)
        self.assertIn("install", calls)

    def test_a_failed_installation_is_said(self):
        code, words, _ = self.run_setup(MISSING="1", FAILS="install")
        self.assertEqual(code, 1)
        self.assertIn("setup: could not install: libdnnl-dev", words)

    def test_a_user_installs_through_sudo(self):
        code, _, calls = self.run_setup(MISSING="1", USER_ID="1000")
        self.assertEqual(code, 0)
        self.assertIn("noninteractive -q install", calls)

    def test_a_password_that_nobody_can_type_is_not_waited_for(self):
        code, words, calls = self.run_setup(MISSING="1", USER_ID="1000", SUDO_ASKS="1")
        self.assertEqual((code, calls), (1, ""))
        self.assertIn("sudo wants a password", words)

    def test_an_unknown_option_is_refused(self):
        self.assertEqual(self.run_setup("--all")[0], 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
