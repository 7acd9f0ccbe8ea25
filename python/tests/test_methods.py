"""Several programs over one state: a prefill and the calls of decode behind it, as eager PyTorch computes them."""

import tempfile
import threading
import unittest
from pathlib import Path

import fnz
from fixtures import FIXTURES, close, flat, integers, read_safetensors

STEPS = read_safetensors("methods/steps.safetensors")


def source(name, **options):
    return fnz.load(FIXTURES / "methods" / f"{name}.pt2", **options)


def pair():
    return fnz.Methods({name: source(name) for name in ("prefill", "look")}).functionalize()


def three():
    """A decoder that calls its embedding otherwise."""
    return fnz.Methods({"prefill": source("prefill"), "decode": source("decode", renamed={"words": "embedding"}),
                        "look": source("look")})


class Several(unittest.TestCase):
    def test_calls_go_on_with_one_cache(self):
        made = three().compile(threads=1, check=True)
        for _ in range(2):
            for k in range(5):
                call = made["decode" if k else "prefill"]
                self.assertTrue(close(call(STEPS[f"{k}.input.tokens"]), STEPS[f"{k}.output.0"]))
            self.assertTrue(close(made["look"](STEPS["look.input.scale"]), STEPS["look.output.0"]))
            for name in ("keys", "values", "position"):
                self.assertTrue(close(made["look"].state[name], STEPS[f"buffer.{name}"]))
                self.assertEqual(flat(made["prefill"].state[name]), flat(made["decode"].state[name]))
            made["look"].reset()
            self.assertEqual(made["prefill"].state["position"].item(), 0)

    def test_a_file_of_them_is_the_same(self):
        made = fnz.load_methods(three().functionalize().write()).compile(threads=1)
        made["prefill"](STEPS["0.input.tokens"])
        self.assertTrue(close(made["decode"](STEPS["1.input.tokens"]), STEPS["1.output.0"]))

    def test_what_one_only_reads_another_writes(self):
        made = pair().compile(threads=1, check=True)
        self.assertEqual(list(made["look"].state), ["buffer.keys", "buffer.values", "buffer.position"])
        made["prefill"].state.update({name: STEPS[f"buffer.{name}"] for name in ("keys", "values", "position")})
        self.assertTrue(close(made["look"](STEPS["look.input.scale"]), STEPS["look.output.0"]))
        alone = pair()["look"].compile(threads=1)
        self.assertEqual((len(alone.state), flat(alone(STEPS["look.input.scale"]))), (0, [0.0] * 8))

    def test_a_file_has_all(self):
        methods = pair()
        self.assertEqual((list(methods), methods.state), (["prefill", "look"], ("keys", "values", "position")))
        self.assertIn("prefill, look; 5 weights, 3 in their state", repr(methods))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbor"
            methods.save(path)
            again = fnz.load_methods(path)
            self.assertEqual(path.read_bytes(), again.write())
            with self.assertRaisesRegex(fnz.Error, "2 methods: prefill, look"):
                fnz.load(path)
        program = again["look"]
        del again, methods
        self.assertEqual([one.name for one in program.inputs if one.kind == "user"], ["scale"])
        self.assertEqual(list(fnz.load_methods(program.write("cbor"))), ["main"])

    def test_refuses_what_is_not_one(self):
        decode = source("decode")  # which has another name for one weight, and so one more
        self.assertEqual(len(fnz.Methods({"prefill": source("prefill"), "decode": decode})["decode"].parameters), 2)
        other = fnz.load(b'fnz 1\nweight "keys": f32[3]\nprogram(%k: f32[3] buffer "keys" persistent) {\n  return %k\n}\n')
        with self.assertRaisesRegex(fnz.Error, r"f32\[10,8\] and f32\[3\] in the methods a and b"):
            fnz.Methods({"a": source("look"), "b": other})
        with self.assertRaisesRegex(fnz.Error, "1 to 256"):
            fnz.Methods({})
        for bad in ({"a": 1}, {1: decode}):
            with self.assertRaises(TypeError):
                fnz.Methods(bad)
        with self.assertRaises(TypeError):
            fnz.load_methods(3)
        with self.assertRaisesRegex(fnz.Error, "no weight of this name"):
            source("decode", renamed={"nothing": "embedding"})
        with self.assertRaisesRegex(KeyError, "the methods are prefill, look"):
            pair()["decode"]

    def test_calls_of_threads_wait_for_each_other(self):
        made = pair().compile(threads=1)

        def call():
            for _ in range(20):
                made["look"](STEPS["look.input.scale"])
                made["prefill"](integers([4], [0, 1, 2, 3]))
                made["look"].reset()
        threads = [threading.Thread(target=call) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertIn(made["prefill"].state["position"].item(), (0, 4))


if __name__ == "__main__":
    unittest.main()
