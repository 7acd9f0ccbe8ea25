"""Mistakes in Python, and the words that each answer has; docs/mistakes.md counts them."""

import os
import tempfile
import unittest

import fnz
from fixtures import FIXTURES

try:
    import numpy
except ImportError:
    numpy = None

PROGRAM = str(FIXTURES / "pt2" / "kv_cache.pt2")
INPUTS = str(FIXTURES / "pt2" / "kv_cache.inputs.safetensors")


class Answers(unittest.TestCase):
    def answers(self, mistakes):
        """Calls the first item of each row; the exception has the other items, in order."""
        for k, (call, *words) in enumerate(mistakes):
            with self.subTest(row=k, words=words):
                with self.assertRaises((fnz.Error, TypeError, ValueError, LookupError)) as caught:
                    call()
                at, text = 0, str(caught.exception)
                for word in words:
                    found = text.find(word, at)
                    self.assertGreaterEqual(found, 0, f"{word!r} in {text!r}")
                    at = found + len(word)

    def test_programs(self):
        program = fnz.load(PROGRAM)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        pickle = os.path.join(folder.name, "weights.pth")
        with open(pickle, "wb") as file:
            file.write(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.")
        self.answers([
            (lambda: fnz.load("nowhere.pt2"), "nowhere.pt2", "No such file", "check the path"),
            (lambda: fnz.load(folder.name), folder.name, "it is a folder", "name a file in it"),
            (lambda: fnz.load(pickle), pickle, "this is a pickle", "torch.export.save"),
            (lambda: fnz.load(INPUTS), INPUTS, "this is a safetensors file", "--inputs"),
            (lambda: fnz.load(b"abc"), "neither a .pt2 archive", "torch.export.save"),
            (lambda: fnz.load({"weight": 1}), "a path, bytes or", "of type dict", "torch.export.export(model, args)"),
            (lambda: fnz.load(3), "a path, bytes or", "of type int", "torch.export.export(model, args)"),
            (lambda: fnz.load(open(PROGRAM, "rb")), "BufferedReader", "an open file", "give its path"),
            (lambda: fnz.load(PROGRAM, format="onnx"), "'onnx'", "pt2, json, cbor"),
            (lambda: fnz.load(PROGRAM, renamed={"q.weigth": "w"}), "q.weigth", "no weight of this name", "did you mean q.weight"),
            (lambda: fnz.Methods({"decode": 3}), "the method decode", "fnz.load()", "of type int"),
            (lambda: program.lint(sizes={"s0": 3}), "the program has fixed sizes", "leave this out"),
            (lambda: program.verify(PROGRAM), "the original must be a fnz.program.Program", "of type str"),
            (lambda: program.verify(program, trials=0), "trials is 0", "from 1 to 1000000"),
            (lambda: program.nodes["linear"], "nodes have numbers", "node.target == 'linear'"),
            (lambda: fnz.load_methods("nowhere.cbor"), "nowhere.cbor", "No such file", "check the path"),
            (lambda: fnz.functionalize("model.pt2"), "fnz.load() reads one", "of type str"),
            (lambda: fnz.verify(program, 3), "fnz.load() reads one", "of type int"),
            (lambda: program.functionalize(views="copies"), "views is one of copy, keep", "not 'copies'"),
            (lambda: program.functionalize(state="output"), "state is one of outputs", "not 'output'"),
            (lambda: program.functionalize(target="tensorflow"), "'tensorflow'", "executorch, coreml"),
            (lambda: program.functionalize(deny=["slice_scater"]), "slice_scater", "did you mean slice_scatter"),
            (lambda: program.functionalize(deny=3), "must be texts", "of type int"),
            (lambda: program.functionalize().decompose("cores"), "cores", "there are inference, core"),
            (lambda: program.save("model.onnx"), "onnx", "pt2, json, cbor"),
            (lambda: program.save("model"), "model: the name says no format", "give format="),
            (lambda: program.save("/nowhere/x.cbor"), "/nowhere/x.cbor", "no folder /nowhere", "make it first"),
            (lambda: program.nodes[10000], "no node 10000", "there are"),
        ])

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_calls(self):
        functional = fnz.load(PROGRAM).functionalize()
        executable = functional.compile()
        x, pos = numpy.ones((1, 1, 16), "f4"), numpy.array([0])
        self.answers([
            (lambda: executable(), "expected 2 by position (x, pos)", "got 0"),
            (lambda: executable(x, pos, pos), "expected 2 by position (x, pos)", "got 3"),
            (lambda: executable(x, position=pos), "expected 2 by position (x, pos)", "got 1 and position by name"),
            (lambda: executable(x.astype("f8"), pos), "x: the program takes f32", "f64", "cast it before"),
            (lambda: executable(numpy.ones((1, 2, 16), "f4"), pos), "x: size 1 of dimension 1", "has 2", "give that size"),
            (lambda: executable(x[0], pos), "x: the program takes 3 dimensions", "has 2", "reshape it"),
            (lambda: executable([1.0] * 16, pos), "input `x`", "__dlpack__", "numpy.array()", "of type list"),
            (lambda: executable(x, numpy.array([99])), "index_copy", "index 99", "[0, 15]", "size 16"),
            (lambda: functional.verify(functional, inputs={"x": x}), "pos: no input of this name was given", "inputs are x"),
            (lambda: executable({"x": x, "pos": pos}), "expected 2 by position (x, pos)", "got 1"),
            (lambda: executable(x, numpy.array([0.5])), "pos: the program takes i64", "f64", "cast it before"),
            (lambda: executable(x[:, :, ::-1], pos), "input `x`", "stride -1", "copy it"),
            (lambda: executable.state["cache"], "cache", "buffer.kc"),
            (lambda: functional.verify(functional, inputs=[x]), "a dict of tensors by name", "of type list"),
            (lambda: functional.compile(donated=["y"]), "y: no user input", "x, pos"),
            (lambda: functional.compile(device="gpu"), "gpu", "cpu, cuda or cuda:N"),
            (lambda: functional.compile(threads="two"), "threads must be an integer", "of type str"),
            (lambda: functional.compile(threads=-1), "threads is -1", "from 0 to 4096"),
        ])


if __name__ == "__main__":
    unittest.main()
