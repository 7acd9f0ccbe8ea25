"""torch.compile(model, backend="fnz"), where PyTorch is installed."""

import copy
import unittest
import warnings
from pathlib import Path

import fnz

try:
    import torch
    from torch.utils import _pytree as pytree
    from torch_modules import CASES, bigger_cases
    from fnz.pytorch import dynamo
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        dynamo._warned.clear()

    def compiled(self, module, **options):
        return torch.compile(module, backend=dynamo.backend, **options)

    def assert_close(self, got, wanted):
        self.assertEqual(pytree.tree_structure(got), pytree.tree_structure(wanted))
        for a, b in zip(pytree.tree_leaves(got), pytree.tree_leaves(wanted)):
            if isinstance(b, torch.Tensor):
                self.assertEqual((a.shape, a.stride(), a.dtype), (b.shape, b.stride(), b.dtype))
                torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
            else:
                self.assertEqual(a, b)

    def check(self, case, times=3):
        """Results, arguments and buffers after calls; eager PyTorch runs no graph."""
        mine, eager = copy.deepcopy(case.module), copy.deepcopy(case.module)
        call = self.compiled(mine)
        with warnings.catch_warnings(record=True) as said, torch.no_grad():
            warnings.simplefilter("always")
            for _ in range(times):
                (args, kwargs), (theirs, named) = (copy.deepcopy((case.args, case.kwargs)) for _ in range(2))
                self.assert_close(call(*args, **kwargs), eager(*theirs, **named))
                self.assert_close((args, kwargs), (theirs, named))
            self.assert_close(dict(mine.named_buffers()), dict(eager.named_buffers()))
        self.assertEqual([str(one.message) for one in said if "fnz" in str(one.message)], [])

    def test_modules(self):
        for case in CASES:
            with self.subTest(case.name):
                self.setUp()
                self.check(case)

    def test_models(self):
        """Models of torchvision and transformers: outputs are of the model's classes."""
        for case in bigger_cases():
            with self.subTest(case.name):
                self.setUp()
                self.check(case, 2)

    def test_the_name_of_the_backend(self):
        """The name is in the package; scripts/check_wheel.py tries the installed one."""
        text = (Path(__file__).resolve().parents[1] / "setup.py").read_text(encoding="utf-8")
        self.assertIn('entry_points["torch_dynamo_backends"] = ["fnz = fnz.pytorch.dynamo:backend"]', text)
        self.assertTrue(callable(dynamo.backend))

    def test_writes_go_where_the_tensor_lies(self):
        class Cache(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("cache", torch.zeros(4, 3))

            def forward(self, x, at):
                self.cache[at] = x
                return self.cache.sum(0)

        module = Cache()
        call, address, window = self.compiled(module), module.cache.data_ptr(), module.cache[2]
        version = module.cache._version
        with torch.no_grad():
            for k in range(4):
                self.assertEqual(call(torch.full((3,), float(k)), torch.tensor(k)).tolist(), [sum(range(k + 1))] * 3)
        self.assertEqual((module.cache.data_ptr(), window.tolist()), (address, [2, 2, 2]))
        self.assertGreater(module.cache._version, version)

    def test_weights_that_change(self):
        module, x = torch.nn.Conv2d(2, 2, 1), torch.randn(1, 2, 3, 3)
        call = self.compiled(module)
        with torch.no_grad():
            for _ in range(6):
                for _ in range(3):
                    torch.testing.assert_close(call(x), module(x))
                module.weight.add_(1)
            module.weight.data = torch.ones(2, 2, 1, 1)
            torch.testing.assert_close(call(x), module(x))
            module.weight = torch.nn.Parameter(torch.zeros(2, 2, 1, 1))
            torch.testing.assert_close(call(x), module(x))

    def test_dynamic_sizes(self):
        module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        for dynamic in (True, None):
            call = self.compiled(module, dynamic=dynamic)
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                for rows in (3, 5, 9, 1, 64):
                    x = torch.randn(rows, 4)
                    torch.testing.assert_close(call(x), module(x))

    def test_views_of_arguments(self):
        call = self.compiled(lambda x: (x.view(-1), x, x.add_(1)[0]))
        x = torch.zeros(2, 3)
        flat, same, row = call(x)
        self.assertIs(same, x)
        flat[5] = 7
        self.assertEqual((x[1, 2].item(), row.tolist()), (7, [1, 1, 1]))
        x[0, 0] = 3
        self.assertEqual(row[0].item(), 3)

    def test_training_is_eager(self):
        module = torch.nn.Linear(3, 2)
        with self.assertWarnsRegex(UserWarning, "training"):
            self.compiled(module)(torch.ones(1, 3)).sum().backward()
        self.assertEqual(module.weight.grad.shape, (2, 3))

    def test_what_is_not_run_is_named_once(self):
        module = torch.nn.Dropout()
        call = self.compiled(module)
        with torch.no_grad(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            torch.manual_seed(1)
            got = [call(torch.ones(9)) for _ in range(2)]
            torch.manual_seed(1)
            self.assertTrue(all(torch.equal(one, module(torch.ones(9))) for one in got))
        said = [str(one.message) for one in said if "fnz" in str(one.message)]
        self.assertEqual(len(said), 1)
        self.assertIn("dropout", said[0])

    def test_options(self):
        call = self.compiled(torch.nn.ReLU(), options={"threads": 1})
        self.assertEqual(call(torch.tensor([-1.0, 2])).tolist(), [0, 2])
        with self.assertRaisesRegex(Exception, "no option speed"):
            self.compiled(torch.nn.ReLU(), options={"speed": 1})(torch.ones(2))

    def test_errors_of_a_call(self):
        call = self.compiled(lambda x, at: x[at])
        with self.assertWarnsRegex(UserWarning, "refuses"), self.assertRaises(IndexError):
            call(torch.ones(3), torch.tensor([7]))


if __name__ == "__main__":
    unittest.main()
