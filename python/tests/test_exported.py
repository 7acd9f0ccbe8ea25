"""ExportedPrograms of PyTorch in and out, where it is installed."""

import copy
import gc
import unittest
import warnings

import fnz

try:
    import torch
    from torch.utils import _pytree as pytree
    from torch_modules import CASES, bigger_cases
except ImportError:
    torch = None


if torch is not None:
    class Scaled(torch.Tensor):
        """The product of two tensors, computed where it is used."""

        @staticmethod
        def __new__(cls, whole, scale):
            return torch.Tensor._make_wrapper_subclass(cls, whole.shape, dtype=whole.dtype)

        def __init__(self, whole, scale):
            self.whole, self.scale = whole, scale

        def __tensor_flatten__(self):
            return ["whole", "scale"], None

        @classmethod
        def __tensor_unflatten__(cls, inner, meta, size, stride):
            return cls(inner["whole"], inner["scale"])

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function is not torch.nn.functional.linear:
                return super().__torch_function__(function, types, args, kwargs or {})
            input, weight, bias = args
            return torch.nn.functional.linear(input / weight.scale.T.sum(), weight.whole, bias)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            if function is torch.ops.aten.detach.default:
                return cls(args[0].whole.detach(), args[0].scale.detach())
            raise NotImplementedError(function)


def tensors(value):
    return [one for one in pytree.tree_leaves(value) if isinstance(one, torch.Tensor)]


def export(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(case.module, case.args, case.kwargs, dynamic_shapes=case.dynamic, strict=False)


def called_twice(exported, case):
    """Results of two calls, the arguments after them, and the state in the end."""
    module, found = copy.deepcopy(exported).module(check_guards=False), []
    for _ in range(2):
        args, kwargs = copy.deepcopy((case.args, case.kwargs))
        torch.manual_seed(0)
        result = module(*args, **kwargs)
        found.append(pytree.tree_map(lambda one: one.detach().clone() if isinstance(one, torch.Tensor) else one,
                                     (result, args, kwargs)))
    return found, {name: value.clone() for name, value in module.named_buffers()}


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Exported(unittest.TestCase):
    def assert_same(self, got, wanted, close=False):
        self.assertEqual(pytree.tree_structure(got), pytree.tree_structure(wanted))
        for a, b in zip(pytree.tree_leaves(got), pytree.tree_leaves(wanted)):
            if isinstance(b, torch.Tensor):
                self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
                self.assertTrue(torch.allclose(a, b, 1e-4, 1e-5) if close else torch.equal(a, b))
            else:
                self.assertEqual(a, b)

    def check(self, case):
        exported = export(case)
        functional = fnz.functionalize(exported)
        self.assertIs(type(functional), torch.export.ExportedProgram)
        targets = [node.target for node in functional.graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
        self.assertFalse([target for target in targets if target._schema.is_mutable])
        self.assert_same(called_twice(functional, case), called_twice(exported, case))
        self.assertTrue(fnz.verify(functional, exported, ignore_memory=True))
        for name, value in exported.state_dict.items():
            self.assertIs(functional.state_dict[name], value)
        for entry, had in zip(functional.module_call_graph, exported.module_call_graph):
            self.assertEqual((entry.fqn, entry.signature and entry.signature.out_spec),
                             (had.fqn, had.signature and had.signature.out_spec))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            functional.run_decompositions()
        return functional

    def test_modules(self):
        for case in CASES:
            with self.subTest(case.name):
                self.check(case)

    def test_models(self):
        """Models of torchvision and transformers."""
        for case in bigger_cases():
            with self.subTest(case.name):
                self.check(case)

    def test_state_as_inputs(self):
        case = next(case for case in CASES if case.name == "Counts")
        exported = export(case)
        plain = fnz.functionalize(exported, state="io")
        self.assertEqual([spec.kind.name for spec in plain.graph_signature.input_specs], ["USER_INPUT"] * 3)
        result, *finals = plain.module()(*plain.example_inputs[0])
        module = copy.deepcopy(exported).module()
        self.assertTrue(torch.equal(result, module(*case.args)))
        for final, wanted in zip(finals, dict(module.named_buffers()).values()):
            self.assertTrue(torch.equal(final, wanted))

    def test_decompose(self):
        case = next(case for case in CASES if case.name == "Attention")
        exported = export(case)
        core = fnz.decompose(exported, "core")
        names = {str(node.target) for node in core.graph.nodes if node.op == "call_function"}
        self.assertFalse(names & {"aten.linear.default", "aten.scaled_dot_product_attention.default"})
        self.assert_same(called_twice(core, case), called_twice(exported, case), close=True)

    def test_programs_stay_programs(self):
        program = fnz.load(export(CASES[0]))
        functional = fnz.functionalize(program)
        self.assertIsInstance(functional, fnz.Program)
        self.assertEqual(str(functional), str(program.functionalize()))
        self.assertIsInstance(fnz.decompose(functional), fnz.Program)
        self.assertTrue(fnz.verify(functional, program))

    def test_metadata(self):
        with torch.fx.traceback.preserve_node_meta():
            exported = export(CASES[2])
        for node in exported.graph.nodes:
            if node.op == "call_function":
                node.meta["custom"] = {"mine": 1}
        functional = fnz.functionalize(exported)
        for node in functional.graph.nodes:
            if node.op == "call_function":
                self.assertIn("torch_modules.py", node.meta["stack_trace"])
                self.assertTrue(node.meta["nn_module_stack"])
                self.assertEqual(node.meta["custom"], {"mine": 1})
        for node in exported.graph.nodes:
            node.meta["quantization_tag"] = 4
        with self.assertWarnsRegex(UserWarning, "quantization_tag"):
            fnz.functionalize(exported)

    def test_subclasses(self):
        """A weight that is a tensor subclass becomes its plain tensors. Here one is such a subclass again."""
        torch.manual_seed(0)
        module = torch.nn.Linear(4, 3)
        module.weight = torch.nn.Parameter(Scaled(Scaled(module.weight.detach(), torch.rand(3, 1)), torch.rand(3, 1)),
                                           requires_grad=False)
        input = torch.randn(2, 4)
        exported = torch.export.export(module, (input,), strict=False)
        functional = fnz.functionalize(exported)
        self.assertEqual(sorted(functional.state_dict), ["bias", "weight.scale", "weight.whole.scale", "weight.whole.whole"])
        self.assertEqual(functional.state_dict["weight.scale"].data_ptr(), exported.state_dict["weight"].scale.data_ptr())
        self.assertTrue(torch.equal(functional.module()(input), module(input)))
        self.assertTrue(fnz.verify(functional, exported))
        self.assert_same(fnz.run(exported, input), module(input), close=True)
        self.assertTrue(fnz.load(exported).functionalize().verify(fnz.load(functional)))
        self.assertEqual(list(exported.state_dict), ["weight", "bias"])
        doubled = Scaled(exported.state_dict["weight"].whole, exported.state_dict["weight"].scale * 2)
        exported.state_dict["weight"] = torch.nn.Parameter(doubled, requires_grad=False)
        other = fnz.load(exported).functionalize().compile()(input)
        self.assertFalse(torch.allclose(other, module(input)))

    def test_tied_subclasses(self):
        """One of two names of a weight is read."""
        module = torch.nn.Linear(4, 3)
        module.weight = torch.nn.Parameter(Scaled(module.weight.detach(), torch.rand(3, 1)), requires_grad=False)
        module.other = module.weight
        input = torch.randn(2, 4)
        program = fnz.load(torch.export.export(module, (input,), strict=False)).functionalize()
        self.assertTrue(torch.allclose(program.compile()(input), module(input)))

    def test_custom_operators(self):
        with torch.library._scoped_library("fnztest", "FRAGMENT") as library:
            library.define("twice(Tensor x) -> Tensor")
            library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
            library.impl("twice", lambda x: torch.empty_like(x), "Meta")

            class Twice(torch.nn.Module):
                def forward(self, x):
                    x.add_(1)
                    return torch.ops.fnztest.twice(x)

            x = torch.ones(3)
            functional = fnz.functionalize(torch.export.export(Twice(), (x.clone(),)))
            self.assertEqual(functional.module()(x).tolist(), [4, 4, 4])

    def test_weights_are_not_copied(self):
        class Large(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(16 << 20))  # 64 MB

            def forward(self, x):
                x.add_(1)
                return x * self.weight[0]

        exported = torch.export.export(Large(), (torch.zeros(2),))
        fnz.functionalize(exported)
        gc.collect()
        before = peak_kilobytes()
        fnz.functionalize(exported)
        fnz.verify(fnz.functionalize(exported), exported)
        self.assertLess(peak_kilobytes() - before, 32 << 10)

    def test_lint_and_explain(self):
        exported = export(CASES[0])
        self.assertEqual(fnz.lint(exported), fnz.load(exported).lint())
        explanation = fnz.explain(exported)
        self.assertEqual(len(explanation), explanation.program.stats.nodes)
        self.assertIn("write_back", str(explanation))
        self.assertRegex(str(explanation), r"torch_modules.py:\d+")
        html = explanation._repr_html_()
        self.assertEqual(html.count("<tr>"), len(explanation) + 1)
        self.assertNotIn("<script", html)

    def test_what_is_no_program(self):
        for wrong in (torch.nn.Linear(2, 2), export(CASES[0]).module()):
            with self.assertRaisesRegex(TypeError, r"torch\.export\.export\(model, args\)"):
                fnz.run(wrong, torch.zeros(2))
        with self.assertRaisesRegex(TypeError, "fnz.Program"):
            fnz.functionalize(3)

    def test_run(self):
        for case in CASES:
            with self.subTest(case.name):
                exported = export(case)
                given = copy.deepcopy((case.args, case.kwargs))
                wanted = called_twice(exported, case)[0][0][0]
                for _ in range(2):  # each begins with the program's state
                    got = fnz.run(exported, *given[0], **given[1])
                    self.assertIs(type(got), type(wanted))
                    self.assert_same(got, wanted, close=True)
                self.assert_same(given, (case.args, case.kwargs))

    def test_run_on_what_python_has(self):
        exported = export(CASES[0])
        x = [[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
        wanted = exported.module()(torch.tensor(x))
        self.assertTrue(torch.equal(fnz.run(exported, x), wanted))
        program = fnz.load(exported)
        self.assertEqual(fnz.run(program, x).tolist(), wanted.tolist())
        self.assertIsInstance(fnz.run(program, torch.tensor(x)), torch.Tensor)
        try:
            import numpy
        except ImportError:
            numpy = None
        if numpy:
            self.assertIsInstance(fnz.run(exported, numpy.array(x, "float32")), numpy.ndarray)
        with self.assertRaisesRegex(fnz.Error, "input `x`"):
            fnz.run(exported, [[1.0, "a"]])

    def test_run_sees_weights_that_changed(self):
        module = torch.nn.Conv2d(1, 1, 1)
        x = torch.ones(1, 1, 2, 2)
        exported = torch.export.export(module, (x,))
        for _ in range(4):
            with torch.no_grad():
                self.assertTrue(torch.allclose(fnz.run(exported, x), exported.module()(x)))
                exported.state_dict["weight"].add_(1)


def peak_kilobytes():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


if __name__ == "__main__":
    unittest.main()
