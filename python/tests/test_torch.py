"""With PyTorch, where it is installed: exported programs as they are, its tensors in and out."""

import gc
import unittest

import fnz
from fnz import capsules

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "PyTorch is not installed")
class WithTorch(unittest.TestCase):
    def test_an_exported_module(self):
        class Counts(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 8)
                self.register_buffer("calls", torch.zeros(1))

            def forward(self, x, *, scale):
                self.calls.add_(1)
                x.mul_(2)
                return {"y": self.linear(x) * scale, "more": (self.calls + 0, None, 3)}

        module, x, scale = Counts().eval(), torch.randn(2, 8), torch.randn(8)
        program = fnz.load(torch.export.export(module, (x.clone(),), {"scale": scale}))
        functional = program.functionalize()
        self.assertTrue(functional.verify(program))
        executable, before = functional.compile(), x.clone()
        for _ in range(2):
            got = executable(x, scale=scale)
            self.assertTrue(torch.equal(x, before))
            mine = x.clone()
            with torch.no_grad():
                wanted = module(mine, scale=scale)
            self.assertTrue(torch.allclose(got["y"], wanted["y"], atol=1e-6))
            self.assertEqual((got["more"][0], got["more"][1:]), (wanted["more"][0], wanted["more"][1:]))
            self.assertTrue(torch.equal(executable.mutated["input.x"], mine))
        shared = torch.from_dlpack(executable.state["calls"])
        shared.zero_()
        self.assertEqual(executable.state["calls"].item(), 0)
        weight = torch.from_dlpack(functional.parameters["linear.weight"])
        self.assertTrue(torch.equal(weight, module.linear.weight))
        del executable, functional, program
        gc.collect()
        self.assertTrue(torch.equal(got["y"], got["y"].clone()))
        self.assertEqual((shared.item(), capsules.sweep()), (0, 2))
        del shared, weight
        self.assertEqual(capsules.sweep(), 0)

    def test_sizes_of_a_call(self):
        module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        sizes = ({0: torch.export.Dim("rows", min=1, max=64)},)
        executable = fnz.load(torch.export.export(module, (torch.randn(3, 4),), dynamic_shapes=sizes)
                              ).functionalize().compile()
        for rows in (3, 7, 1, 64):
            x = torch.randn(4, rows).t()
            with torch.no_grad():
                self.assertTrue(torch.allclose(executable(x), module(x), atol=1e-6))

    def test_what_memory_does_not_say(self):
        text = "fnz 1\nprogram(%x: {0}[2]) {{\n  %a: {0}[2] = mul.Scalar(%x, 2)\n  return %a\n}}\n"
        complexes = fnz.load(text.format("c64").encode()).compile()
        floats = fnz.load(text.format("f32").encode()).compile()
        x = torch.tensor([1 + 2j, 3 - 1j])
        self.assertTrue(torch.equal(complexes(x), 2 * x))
        self.assertTrue(torch.equal(floats(x.imag), 2 * x.imag))
        self.assertTrue(torch.equal(floats(torch.ones(2, dtype=torch.bfloat16).float()), torch.full((2,), 2.0)))
        for executable, wrong, words in ((complexes, x.conj(), "resolve_conj"), (floats, x.conj().imag, "resolve_neg"),
                                         (floats, torch.randn(2, requires_grad=True), "detach"),
                                         (floats, torch.randn(2, device="meta"), "meta"),
                                         (floats, torch.randn(2).to_sparse(), "x"), (floats, x, "c64")):
            with self.assertRaisesRegex(fnz.Error, words):
                executable(wrong)

    def test_types_that_numpy_has_not(self):
        text = b"fnz 1\nprogram(%x: bf16[2]) {\n  %a: bf16[2] = mul.Scalar(%x, 2)\n  return %a\n}\n"
        x = torch.tensor([1, 3], dtype=torch.bfloat16)
        executable = fnz.load(text).compile()
        out = executable(x)
        self.assertEqual((out.dtype, out.tolist()), (torch.bfloat16, [2, 6]))
        self.assertEqual(executable.another()(out).tolist(), [4, 12])


if __name__ == "__main__":
    unittest.main()
