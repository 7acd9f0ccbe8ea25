"""Calls: what PyTorch recorded comes out, in the exported structure, with state from call to call."""

import json
import struct
import tempfile
import unittest
import zipfile
from pathlib import Path

import fnz
from fixtures import FIXTURES, array, close, flat, floats, integers, leaves, read_safetensors


def compiled(path: str, **options) -> fnz.Executable:
    return fnz.load(FIXTURES / path).functionalize().compile(**options)


class Recorded(unittest.TestCase):
    def test_two_steps_with_a_cache(self):
        for options in ({"threads": 1}, {"threads": 2, "check": True}):
            executable = compiled("pt2/kv_cache.pt2", **options)
            for step in range(2):
                given = read_safetensors(f"pt2/kv_cache.step{step}.safetensors")
                wanted = read_safetensors(f"pt2/kv_cache.want{step}.safetensors")
                output = executable(given["x"], pos=given["pos"])
                self.assertTrue(close(output, wanted["output.0"]))
                for name in ("buffer.kc", "buffer.vc"):
                    self.assertTrue(close(executable.state[name], wanted[name]))
            executable.verify(given["x"], given["pos"])

    def test_a_language_model_writes(self):
        executable = compiled("decode/llama.pt2")
        wanted = [int(one) for one in Path(FIXTURES, "../examples/decode.want").read_text().split("\n")[0].split()]
        for _ in range(2):
            token, said = 7, []
            for _ in wanted:
                token = executable(integers([1, 1], [token])).item()
                said.append(token)
            self.assertEqual(said, wanted)
            self.assertEqual(executable.state["pos"].item(), 24)
            executable.reset()

    def test_optimizer_steps(self):
        for name in ("adam_step", "nadam_step", "optimizer_step"):
            executable = compiled(f"state/{name}.pt2")
            numbers = read_safetensors(f"state/{name}.steps.safetensors")
            for step in range(4):
                wanted = {key[2:]: value for key, value in numbers.items() if key.startswith(f"{step}.")}
                output = executable(wanted["input.grad"])
                self.assertTrue(close(output, wanted["output.0"]))
                for key in executable.state:
                    self.assertTrue(close(executable.state[key], wanted[key]), (name, step, key))

    def test_sizes_that_calls_decide(self):
        for name in ("quarter", "bins_at_least", "item_narrow"):
            executable, step = compiled(f"symbolic/sizes/{name}.pt2"), 0
            while (FIXTURES / f"symbolic/sizes/{name}.{step}.in.safetensors").exists():
                given = read_safetensors(f"symbolic/sizes/{name}.{step}.in.safetensors")
                wanted = read_safetensors(f"symbolic/sizes/{name}.{step}.out.safetensors")
                step += 1
                for k, one in enumerate(leaves(executable(**given))):
                    self.assertEqual(one.shape, tuple(wanted[f"output.{k}"].shape))
                    self.assertTrue(close(one, wanted[f"output.{k}"]), (name, step, k))
            self.assertGreater(step, 1)

    def test_many_results(self):
        given = read_safetensors("vmap/axes.inputs.safetensors")
        wanted = read_safetensors("vmap/axes.expected.safetensors")
        program = fnz.load(FIXTURES / "vmap/axes.pt2")
        functional = program.functionalize()
        for outputs in (functional.compile()(*given.values()), functional.run(*given.values()),
                        program.run(*given.values())):
            found = leaves(outputs)
            self.assertGreater(len(found), 20)
            for k, one in enumerate(found):
                if f"output.{k}" in wanted:
                    self.assertTrue(close(one, wanted[f"output.{k}"]), k)

    def test_random_numbers(self):
        wanted = read_safetensors("random/transformer.safetensors")
        executable = compiled("random/transformer.pt2")
        executable.seed(42)
        first = executable(wanted["input.x"])
        executable.seed(42)
        again = executable(wanted["input.x"])
        other = executable(wanted["input.x"])
        first, again, other = ([flat(one) for one in leaves(outs)] for outs in (first, again, other))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)


class Numbers(unittest.TestCase):
    TEXT = b"""fnz 1
symbol s0 = 5
range s0 2..
symbol u0
range u0 ..
symbol z0
symbol b0
program(%x: f32[{s0}], %c: i64[], %f: f64[], %p: bool[])
{
  %n: sym{s0} = sym_size.int(%x, 0)
  %m: sym{s0 + 1} = _operator.add(%n, 1)
  %g: sym{s0 > 3} = _operator.gt(%n, 3)
  %h: sym{s0 / 2} = _operator.truediv(%n, 2)
  %k: sym{u0} = item(%c)
  %z: sym{z0} = item(%f)
  %b: sym{b0} = item(%p)
  %y: f32[{s0}] = neg(%x)
  return %m, %g, %h, %k, %z, %b, 7, 2.5, True, None, %y
}
"""

    def test_results_that_are_numbers(self):
        program = fnz.load(self.TEXT)
        functional = program.functionalize()
        for size, number in ((3, -7), (4, 1)):
            given = (floats([size], range(size)), integers([], [number]),
                     array("d", [], struct.pack("d", 0.25)), array("?", [], b"\1"))
            wanted = (size + 1, size > 3, size / 2, number, 0.25, True, 7, 2.5, True, None)
            for call in (functional.compile(), functional.run, program.run):
                *found, tensor = call(*given)
                self.assertEqual(tuple(found), wanted)
                self.assertEqual([type(one) for one in found], [type(one) for one in wanted])
                self.assertEqual(tensor.tolist(), [-one for one in range(size)])


class Structure(unittest.TestCase):
    """The model of a program, with other texts for the structures of inputs and outputs."""

    def program(self, in_spec: str, out_spec: str) -> fnz.Program:
        with zipfile.ZipFile(FIXTURES / "pt2/alias_001.pt2") as archive:
            name = next(one for one in archive.namelist() if one.endswith("model.json"))
            model = json.loads(archive.read(name))
        signature = model["graph_module"]["module_call_graph"][0]["signature"]
        signature.update(in_spec=f"[1, {in_spec}]", out_spec=f"[1, {out_spec}]", forward_arg_names=None)
        return fnz.load(json.dumps(model).encode())

    LEAF = '{"type": null, "context": null, "children_spec": []}'

    def node(self, kind: str, *children: str, keys=None) -> str:
        context = json.dumps(json.dumps(keys)) if keys is not None else '"null"'
        return f'{{"type": "{kind}", "context": {context}, "children_spec": [{", ".join(children)}]}}'

    def test_dicts_lists_and_names(self):
        inputs = self.node("builtins.tuple", self.node("builtins.tuple", self.node(
            "builtins.dict", self.node("builtins.list", self.LEAF), keys=["pair"])),
            self.node("builtins.dict", keys=[]))
        outputs = self.node("collections.OrderedDict", self.node("builtins.tuple", self.LEAF), keys=["sum"])
        executable = self.program(inputs, outputs).functionalize().compile()
        x = floats([4], [1, 2, 3, 4])
        given = executable({"pair": [x]})
        self.assertEqual(list(given), ["sum"])
        self.assertEqual(given["sum"][0].tolist(), [2, 3, 4, 5])
        self.assertEqual(executable.mutated["input.x"].tolist(), [2, 3, 4, 5])
        self.assertEqual(x.tolist(), [1, 2, 3, 4])
        for wrong, words in ((({"pair": [x, x]},), "expected a list of 1, this is one of 2"),
                             (({"pairs": [x]},), "missing 'pair'; not 'pairs'"), ((x,), "expected a dict"),
                             ((), "expected 1 by position"), (({"pair": x},), "expected a list of 1")):
            with self.assertRaises(fnz.Error) as caught:
                executable(*wrong)
            self.assertIn(words, str(caught.exception))

    def test_literals_are_those_of_the_trace(self):
        program = fnz.load(b"fnz 1\nprogram(%x: f32[2], 3 literal \"k\", None literal \"none\") {\n"
                           b"  %y: f32[2] = mul.Scalar(%x, 3)\n  return %y\n}\n")
        executable, x = program.compile(threads=1), floats([2], [1, 2])
        self.assertEqual(executable(x, 3, None).tolist(), [3, 6])
        for wrong in ((x, 4, None), (x, 3.0, None), (x, True, None), (x, 3, 0)):
            with self.assertRaises(fnz.Error) as caught:
                executable(*wrong)
            self.assertIn("the program was traced with", str(caught.exception))

    def test_inputs_by_name(self):
        inputs = self.node("builtins.tuple", self.node("builtins.tuple"),
                           self.node("builtins.dict", self.LEAF, keys=["x"]))
        executable = self.program(inputs, self.node("builtins.tuple", self.LEAF)).functionalize().compile()
        self.assertEqual(executable(x=floats([4], [0, 0, 0, 1]))[0].tolist(), [1, 1, 1, 2])
        with self.assertRaises(fnz.Error):
            executable(floats([4], [0, 0, 0, 1]))

    def test_unknown_texts_are_leaves_in_order(self):
        executable = self.program("7", "{}").functionalize().compile()
        self.assertEqual(executable(floats([4], [0] * 4)).tolist(), [1, 1, 1, 1])
        self.assertEqual(executable(x=floats([4], [1] * 4)).tolist(), [2, 2, 2, 2])

    def test_it_is_kept_by_pt2_and_not_by_cbor(self):
        functional = fnz.load(FIXTURES / "pt2/kv_cache.pt2").functionalize()
        given = list(read_safetensors("pt2/kv_cache.step0.safetensors").values())
        for form in ("pt2", "cbor"):
            self.assertEqual(fnz.load(functional.write(form)).compile()(*given).shape, (1, 1, 16))


class States(unittest.TestCase):
    def test_reading_writing_and_files(self):
        executable = compiled("pt2/kv_cache.pt2")
        given = list(read_safetensors("pt2/kv_cache.step0.safetensors").values())
        executable(*given)
        state = executable.state
        self.assertEqual(sorted(state), ["buffer.kc", "buffer.vc"])
        self.assertEqual(state["kc"].tobytes(), state["buffer.kc"].tobytes())
        before = state["kc"].tobytes()
        with tempfile.TemporaryDirectory() as folder:
            state.save(Path(folder, "state.safetensors"))
            executable.reset()
            self.assertEqual(set(executable.state["kc"].tobytes()), {0})
            self.assertEqual(state["kc"].tobytes(), before)
            executable.state.load(Path(folder, "state.safetensors"))
        self.assertEqual(executable.state["kc"].tobytes(), before)
        executable.state["kc"] = floats([1, 2, 16, 8], range(256))
        self.assertEqual(flat(executable.state["kc"]), list(range(256)))
        with self.assertRaises(fnz.Error):
            executable.state.update(kc=floats([2], [1, 2]))
        with self.assertRaises(fnz.Error):
            executable.state["other"] = floats([2], [1, 2])
        with self.assertRaises(fnz.Error) as caught:
            executable.state.update({"kc": floats([1, 2, 16, 8], range(256)),
                                     "buffer.kc": floats([1, 2, 16, 8], range(256))})
        self.assertEqual(caught.exception.kind, "DUPLICATE")
        with self.assertRaises(KeyError):
            executable.state["other"]

    def test_another_has_its_own(self):
        executable = compiled("pt2/kv_cache.pt2")
        given = list(read_safetensors("pt2/kv_cache.step0.safetensors").values())
        executable(*given)
        other = executable.another()
        self.assertEqual(set(other.state["kc"].tobytes()), {0})
        del executable
        self.assertEqual(other(*given).shape, (1, 1, 16))


if __name__ == "__main__":
    unittest.main()
