"""The page of a program: in a notebook, in a file."""

import os
import tempfile
import unittest

import fnz
from fixtures import FIXTURES

KV_CACHE = FIXTURES / "pt2" / "kv_cache.pt2"


class Pages(unittest.TestCase):
    def test_names_the_file_and_is_the_same_each_time(self):
        page = fnz.view(KV_CACHE)
        self.assertIn('"title": "kv_cache.pt2"', page.html)
        self.assertIn('"equal": null', page.html)
        self.assertEqual(page.html, fnz.view(fnz.load(KV_CACHE), title="kv_cache.pt2").html)
        self.assertIn('"equal": 0', fnz.view(KV_CACHE, verify=True).html)

    def test_is_a_frame_in_a_notebook(self):
        shown = fnz.view(KV_CACHE)._repr_html_()
        self.assertEqual(shown.count("<"), 2)
        self.assertEqual(shown.count('"'), 6)
        self.assertIn('sandbox="allow-scripts"', shown)

    def test_saves(self):
        page = fnz.view(KV_CACHE)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.html")
            page.save(path)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), page.html)
            with self.assertRaises(fnz.Error):
                page.save(os.path.join(folder, "none", "page.html"))

    def test_takes_what_load_takes(self):
        text = b"fnz 1\nprogram(%x: f32[2], %y: f32[3]) {\n  %a: f32[2] = add_.Scalar(%x, 1)\n  return %y\n}\n"
        self.assertIn("slice_scatter", fnz.view(text, aliases=["x=y[1:]"]).html)
        self.assertIn('"title": "program"', fnz.view(text).html)
        for wrong in ({"verify": "yes"}, {"title": b"x"}, {"title": "a\0b"}):
            with self.assertRaises(fnz.Error):
                fnz.view(text, **wrong)
        with self.assertRaises(fnz.Error):
            fnz.view(17)


if __name__ == "__main__":
    unittest.main()
