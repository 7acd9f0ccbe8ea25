"""The functions that take programs, without PyTorch."""

import unittest

import fnz
from fixtures import FIXTURES, close, floats, integers

COUNTS = b"""fnz 1
weight "calls": f32[2]
program(%calls: f32[2] buffer "calls" persistent, %x: f32[2,2], %n: i64[2], %half: f16[2])
{
  %c: f32[2] = add.Tensor(%calls, 1)
  %y: f32[2,2] = add.Tensor(%x, %n)
  %z: f32[2,2] = add.Tensor(%y, %half)
  return %c buffer_mutation "calls", %z, %c, 7
}
"""

WRITES = b"""fnz 1
program(%x: f32[2,3])
{
  %c: f32[2,3] = clone(%x)  at "model.py:2"
  %row: f32[3] = select.int(%c, 0, 1)  at "model.py:3"
  %f: f32[3] = fill_.Scalar(%row, 1)  at "model.py:3"
  %y: f32[2,3] = neg(%c)  at "model.py:4"
  return %y
}
"""


class Verbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = fnz.load(FIXTURES / "pt2" / "kv_cache.pt2")

    def test_as_methods(self):
        program = self.program
        functional = fnz.functionalize(program)
        self.assertIsInstance(functional, fnz.Program)
        self.assertEqual(str(functional), str(program.functionalize()))
        self.assertEqual(str(fnz.functionalize(program, views="keep")), str(program.functionalize(views="keep")))
        self.assertEqual(str(fnz.decompose(functional, "core", keep=["linear"])),
                         str(functional.decompose("core", keep=["linear"])))
        self.assertEqual(fnz.verify(functional, program), functional.verify(program))
        self.assertEqual(fnz.lint(program), program.lint())
        wrong = fnz.load(str(functional).replace("div.Tensor", "mul.Tensor").encode())
        self.assertFalse(fnz.verify(wrong, program, ignore_weights=True))

    def test_explain(self):
        program = fnz.load(WRITES)
        explanation = fnz.explain(program)
        self.assertEqual(str(explanation.program), str(program.functionalize()))
        self.assertEqual(len(explanation), len(explanation.program.nodes))
        found = {one.reason for one in explanation.reasons}
        self.assertTrue({"computed", "write_back"} <= found, found)
        self.assertTrue(all(one.words and one.node.startswith("%") for one in explanation.reasons))
        written = next(one for one in explanation.reasons if one.reason == "write_back")
        self.assertEqual((written.of, written.place), ("%f = fill_.Scalar(%row, 1)", "model.py:3"))
        self.assertEqual(explanation.findings, program.lint())
        self.assertEqual((explanation.no_run, explanation.sizes, explanation.findings.no_run), ("", "", ""))
        self.assertTrue(str(explanation).startswith("a run copies 24 B\n24 B: one copy, model.py:3: base %x may not"))
        self.assertEqual(len(str(explanation).splitlines()), 4 + len(explanation))  # the one finding is the cost
        self.assertEqual(repr(explanation), str(explanation))
        html = explanation._repr_html_()
        self.assertEqual((html.count("<tr>"), html.count("<li>")), (1 + len(explanation), len(explanation.findings)))

    def test_costs_of_a_run(self):
        program = fnz.load((FIXTURES / "why" / "costs.fnz").read_bytes())
        explanation = fnz.explain(program)
        first, second = explanation.costs
        self.assertEqual((first.kind, first.bytes, first.largest, first.times, first.modules), ("copy", 384, 128, 3, 3))
        self.assertEqual((first.place, first.module, first.last_module, first.rule),
                         ("model.py:11", "layers.0.attn", "layers.2.attn", "R1"))
        self.assertEqual((second.kind, second.bytes), ("join", 160))
        self.assertTrue(first.why and first.remedy and first.node.startswith("%view_copy = "))
        self.assertIn("\n384 B: 3 copies of 128 B, model.py:11, in layers.0.attn to layers.2.attn: ", str(explanation))
        self.assertTrue(str(explanation).startswith("a run copies 384 B\n"))
        finding, = program.lint()
        self.assertEqual((finding.kind, finding.cost), ("copy", first._replace(node="")))
        self.assertIn("a run copies 384 B: ", str(finding))
        self.assertEqual(explanation._repr_html_().count("<li>"), 2)

    def test_costs_at_sizes(self):
        program = fnz.load(b"fnz 1 symbol s0 = 6 range s0 2..9 program(%x: f32[{s0},8]) { %t: f32[8,{s0}] stride(1,8) = t(%x) "
                           b"%r: f32[{8*s0}] = reshape(%t, [-1]) %e: f32[{8*s0}] = exp(%r) return %e }")
        for sizes, number in ((None, 192), ({"s0": 3}, 96)):
            explanation = fnz.explain(program, sizes=sizes)
            self.assertEqual([one.bytes for one in explanation.costs], [number])
            self.assertEqual(explanation.sizes, f"s0 = {number // 32}")
            self.assertEqual([one.cost.bytes for one in fnz.lint(program, sizes=sizes)], [number])
        for wrong in ({"s1": 3}, {"s0": 10}):
            with self.assertRaises(fnz.Error):
                fnz.explain(program, sizes=wrong)
        for wrong in ({"s0": 1.5}, 3):
            with self.assertRaises(TypeError):
                fnz.lint(program, sizes=wrong)

    def test_no_run(self):
        program = fnz.load((FIXTURES / "why" / "costs_no_kernel.fnz").read_bytes())
        explanation = fnz.explain(program)
        self.assertEqual(explanation.costs, [])
        self.assertIn("no kernel for my::f", explanation.no_run)
        self.assertIn("no plan of a run: ", str(explanation))
        self.assertIn("no kernel for my::f", explanation.findings.no_run)
        self.assertEqual([(one.kind, one.cost) for one in explanation.findings], [("copy", None)])

    def test_explain_shortens_only_text(self):
        explanation = fnz.explain(self.program)
        widest = max(len(one.node) for one in explanation.reasons)
        self.assertGreater(widest, 60)
        self.assertIn("linear.py:134", str(explanation))
        self.assertLess(max(map(len, str(explanation).splitlines())), 200)

    def test_a_page_of_reasons_has_no_tags_of_the_program(self):
        text = b'fnz 1\nprogram(%x: f32[2])\n{\n  %a: f32[2] = neg(%x)  at "<b>.py:3"\n  return %a\n}\n'
        self.assertIn("&lt;b&gt;.py:3", fnz.explain(fnz.load(text))._repr_html_())

    def test_run(self):
        program, x = self.program, floats([1, 1, 16], [1.0] * 16)
        wanted = program.run(x, pos=integers([1], [0]))
        for _ in range(2):  # each begins with the same state
            self.assertTrue(close(fnz.run(program, x, pos=integers([1], [0])), wanted))
        self.assertTrue(close(fnz.run(program, [[[1.0] * 16]], pos=[0]), wanted))

    def test_run_on_numbers(self):
        program = fnz.load(COUNTS)
        with self.assertRaisesRegex(fnz.Error, "calls"):
            fnz.run(program, [[1, 2], [3, 4]], [5, 6], [1, 1])
        plain = fnz.load(COUNTS.replace(b'%calls: f32[2] buffer "calls" persistent', b"%calls: f32[2]")
                         .replace(b'weight "calls": f32[2]\n', b"").replace(b'%c buffer_mutation "calls", ', b""))
        results = fnz.run(plain, (0.5, 1), [[1, 2], [3, 4]], [5, 6], [1, True])
        self.assertEqual([getattr(one, "tolist", lambda: one)() for one in results], [[[7, 9], [9, 11]], [1.5, 2], 7])
        for given, words in ((([1], [2]), "x"), ([[1, 2], [3]], "different lengths"), ([[1, "a"], [3, 4]], "is no number"),
                             ([[1, 1e99], [3, 4]], "float32"), ([1, 2], "dimensions")):
            with self.assertRaisesRegex(fnz.Error, words):
                fnz.run(plain, (0.5, 1), given, [5, 6], [1, 1])
        with self.assertRaisesRegex(fnz.Error, "Python has no bfloat16"):
            fnz.run(fnz.load(b"fnz 1\nprogram(%x: bf16[1])\n{\n  %a: bf16[1] = neg(%x)\n  return %a\n}\n"), [1.0])

    def test_run_with_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        x = numpy.ones((1, 1, 16), "float32")
        got = fnz.run(self.program, x, pos=[0])
        self.assertIsInstance(got, numpy.ndarray)
        self.assertTrue(close(got, self.program.run(x, pos=integers([1], [0]))))

    def test_what_is_no_program(self):
        for verb in (fnz.functionalize, fnz.decompose, fnz.lint, fnz.explain, fnz.run, lambda one: fnz.verify(one, one)):
            for wrong in (3, "model.pt2", None):
                with self.assertRaisesRegex(TypeError, "fnz.Program"):
                    verb(wrong)


if __name__ == "__main__":
    unittest.main()
