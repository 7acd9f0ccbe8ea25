"""The programs that docs/python.md shows run, and so does the example."""

import contextlib
import io
import os
import re
import runpy
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from fixtures import FIXTURES

ROOT = FIXTURES.parent


class Manual(unittest.TestCase):
    def test_snippets(self):
        try:
            import numpy  # noqa: F401  the manual calls with NumPy's arrays
        except ImportError:
            self.skipTest("NumPy is not installed")
        snippets = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text(), re.S | re.M)
        self.assertGreater(len(snippets), 3)
        before, names, said = os.getcwd(), {}, io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(FIXTURES / "pt2" / "kv_cache.pt2", Path(folder, "model.pt2"))
            os.chdir(folder)
            try:
                with contextlib.redirect_stdout(said):
                    for snippet in snippets:
                        exec(compile(snippet, "docs/python.md", "exec"), names)
            finally:
                os.chdir(before)
        self.assertIn("index_copy(", said.getvalue())
        self.assertIn("expected 2 by position (x, pos), got 1", said.getvalue())

    def test_example(self):
        said, before = io.StringIO(), sys.argv
        sys.argv = ["decode.py", str(FIXTURES / "decode" / "llama.pt2")]
        try:
            with contextlib.redirect_stdout(said):
                runpy.run_path(str(ROOT / "examples" / "decode.py"), run_name="__main__")
        finally:
            sys.argv = before
        self.assertEqual(said.getvalue() + "# exit 0\n", (ROOT / "examples" / "decode.want").read_text())


if __name__ == "__main__":
    unittest.main()
