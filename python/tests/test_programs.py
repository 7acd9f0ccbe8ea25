"""Programs: read from where they lie, rewritten, compared, written, walked over."""

import tempfile
import unittest
from pathlib import Path

import fnz
from fixtures import FIXTURES, floats

KV_CACHE = FIXTURES / "pt2" / "kv_cache.pt2"
NEG = b"fnz 1\nprogram(%x: f32[4]) {\n  %a: f32[4] = neg(%x)\n  return %a\n}\n"
SLICE_WRITE = FIXTURES / "cli" / "slice_write.fnz"


class Programs(unittest.TestCase):
    def test_reads_paths_and_bytes(self):
        program = fnz.load(SLICE_WRITE)
        again = fnz.load(SLICE_WRITE.read_bytes())
        self.assertIsNone(program.diff(again))
        self.assertEqual(program.hash(), fnz.load(str(SLICE_WRITE), format="text").hash())
        self.assertEqual((program.stats.nodes, program.stats.views, program.stats.mutations), (2, 1, 1))
        self.assertIn("2 nodes", repr(program))
        self.assertEqual(fnz.load(KV_CACHE).torch_version[:2], "2.")

    def test_functionalizes_and_verifies(self):
        program = fnz.load(SLICE_WRITE)
        functional = program.functionalize()
        self.assertEqual([node.target for node in functional.nodes],
                         ["slice_copy.Tensor", "add.Scalar", "slice_scatter"])
        self.assertIn("slice_scatter(%x, %add, 0, 1, 3, 1)", str(functional))
        report = functional.verify(program, inputs={"x": floats([4], [1, 2, 3, 4])})
        self.assertTrue(report)
        self.assertTrue(report.numbers)
        kept = program.functionalize(views="keep", state="epilogue")
        self.assertEqual(kept.nodes[-1].target, "copy_")
        difference = functional.diff(kept)
        self.assertIsNotNone(difference)
        self.assertTrue(difference.what)

    def test_prepares_for_targets(self):
        program = fnz.load(b"fnz 1\nprogram(%x: f32[4]) {\n  %a: f32[4] = silu(%x)\n  return %a\n}\n")
        self.assertEqual([node.target for node in program.functionalize(target="onnx").nodes], ["silu"])
        self.assertEqual([node.target for node in program.functionalize(target="executorch").nodes],
                         ["sigmoid", "mul.Tensor"])
        cached = fnz.load(SLICE_WRITE)
        self.assertEqual(cached.functionalize(target="onnx").nodes[0].target, "slice.Tensor")
        self.assertEqual(cached.functionalize(target="onnx", views="copy").nodes[0].target, "slice_copy.Tensor")
        lacking = fnz.load(b"fnz 1\nprogram(%x: f32[4]) {\n  %a: f32[4] = polygamma(2, %x)\n  return %a\n}\n")
        left = lacking.functionalize(target="tvm").left("tvm")
        self.assertEqual(list(left), ["polygamma"])
        self.assertEqual(program.functionalize(target="onnx").left("onnx"), {})
        with self.assertRaisesRegex(fnz.Error, "executorch, coreml, .*, iree are"):
            program.functionalize(target="none")

    def test_differences_are_no_failures(self):
        one, other = fnz.load(NEG), fnz.load(NEG.replace(b"neg", b"abs"))
        report = other.verify(one)
        self.assertFalse(report)
        self.assertIn("output", report.message)
        self.assertEqual(one.diff(other).a.node, 0)
        self.assertNotEqual(one.hash(), other.hash())

    def test_saves_by_ending(self):
        functional = fnz.load(KV_CACHE).functionalize()
        with tempfile.TemporaryDirectory() as folder:
            fnz.load(NEG).save(Path(folder, "out.mlir"))
            for ending in ("cbor", "fnz", "pt2", "json", "dot"):
                path = Path(folder, f"out.{ending}")
                functional.save(path)
                self.assertGreater(path.stat().st_size, 100)
                if ending in ("cbor", "pt2"):
                    self.assertEqual(fnz.load(path).hash(), functional.hash())
            functional.save(Path(folder, "beside.cbor"), external_weights=True)
            self.assertTrue(Path(folder, "beside.safetensors").exists())
            self.assertEqual(fnz.load(Path(folder, "beside.cbor")).hash(), functional.hash())
            with self.assertRaises(fnz.Error) as caught:
                functional.save(Path(folder, "out.zip"))
            self.assertEqual(caught.exception.status, "BAD_ARGUMENT")

    def test_walks(self):
        program = fnz.load(KV_CACHE)
        linear = next(node for node in program.nodes if node.target == "linear")
        self.assertIsInstance(linear.args[0], fnz.Value)
        self.assertEqual((linear.meta, linear.name), (linear.outputs[0].meta, linear.outputs[0].name))
        self.assertEqual((linear.meta.dtype, len(linear.meta.shape)), ("float32", len(linear.meta.strides)))
        self.assertEqual(len(program.nodes[1:3]), 2)
        self.assertEqual(program.nodes[-1].index, len(program.nodes) - 1)
        kinds = {one.kind for one in program.inputs}
        self.assertLessEqual({"user", "parameter", "buffer"}, kinds)
        self.assertEqual([one.name for one in program.inputs if one.kind == "user"], ["x", "pos"])
        finals = {one.target for one in program.functionalize().outputs if one.kind == "buffer_mutation"}
        self.assertEqual(finals, {"kc", "vc"})
        cache = program.buffers["kc"]
        self.assertEqual((cache.shape, cache.dtype, cache.read_only), ((1, 2, 16, 8), "float32", True))
        self.assertEqual(set(cache.tobytes()), {0})
        self.assertTrue(program.parameters)

    def test_symbols_are_texts(self):
        path = next((FIXTURES / "symbolic" / "sizes").glob("quarter.pt2"))
        shape = next(one for one in fnz.load(path).inputs if one.kind == "user").meta.shape
        self.assertTrue(any(isinstance(size, str) for size in shape), shape)

    def test_decomposes_lints_and_plans(self):
        functional = fnz.load(KV_CACHE).functionalize()
        core = functional.decompose("core")
        self.assertNotIn("linear", [node.target for node in core.nodes])
        self.assertIn("addmm", [node.target for node in core.nodes])
        findings = fnz.load(SLICE_WRITE).lint()
        self.assertEqual([(one.kind, bool(one.what)) for one in findings], [("copy", True), ("alias", True)])
        self.assertIn("steps", functional.plan())

    def test_custom_operators_and_aliases(self):
        text = b"fnz 1\nprogram(%x: f32[2]) {\n  %a: f32[2] = lib::twice(%x)\n  return %a\n}\n"
        with self.assertRaises(fnz.Error):
            fnz.load(text)
        program = fnz.load(text, ops=["lib::twice(Tensor x) -> Tensor"])
        self.assertEqual(program.nodes[0].target, "lib::twice")
        text = b"fnz 1\nprogram(%x: f32[2], %y: f32[3]) {\n  %a: f32[2] = add_.Scalar(%x, 1)\n  return %y\n}\n"
        aliased = fnz.load(text, aliases=["x=y[1:]"]).functionalize()
        self.assertIn("slice_scatter", [node.target for node in aliased.nodes])

    def test_failures_say_what(self):
        for what, status, kind in ((b"fnz 1\nprogram(", "BAD_INPUT", None), ("/nowhere.pt2", "IO", "IO"),
                                   (17, "BAD_ARGUMENT", "ARGUMENT"), (None, "BAD_ARGUMENT", "ARGUMENT")):
            with self.assertRaises(fnz.Error) as caught:
                fnz.load(what)
            self.assertEqual(caught.exception.status, status)
            self.assertEqual(caught.exception.kind, kind or caught.exception.kind)
            self.assertIn(caught.exception.message, str(caught.exception))
        with self.assertRaises(fnz.Error):
            fnz.load(SLICE_WRITE, format="zip")
        with self.assertRaises(fnz.Error):
            fnz.load(SLICE_WRITE).functionalize(views="some")

    def test_operators(self):
        self.assertGreater(len(fnz.ops()), 3000)
        add = fnz.op("add_.Tensor")
        self.assertEqual((add.kind, add.is_mutating, add.functional_twin), ("inplace", True, "add.Tensor"))
        self.assertTrue(fnz.op("aten::add.Tensor").has_cpu_kernel)
        self.assertIn("core", fnz.op("view").tags)
        with self.assertRaises(fnz.Error):
            fnz.op("no_such")


if __name__ == "__main__":
    unittest.main()
