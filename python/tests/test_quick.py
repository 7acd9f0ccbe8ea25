"""The compiled part of calls: calls that it serves, calls that ctypes serves, and memory that is used again."""

import ctypes
import gc
import os
import random
import sys
import threading
import unittest

import fnz
from fixtures import FIXTURES, flat, floats, integers, optional, read_safetensors
from fnz import quick

numpy, torch = optional("numpy"), optional("torch")

ADD = b"fnz 1\nprogram(%x: f32[3], %y: f32[3]) {\n  %a: f32[3] = add.Tensor(%x, %y)\n  return %a\n}\n"
SAME = "fnz 1\nprogram(%x: {0}[2,3]) {{\n  %a: {0}[2,3] = clone(%x)\n  return %a\n}}\n"
ONE = floats([3], [1, 1, 1])


def adder() -> fnz.Executable:
    return fnz.load(ADD).compile(threads=1)


def plus(number: float):
    return floats([3], [number - 1] * 3)


class Loaded(unittest.TestCase):
    def test_it_is_there_where_it_was_built(self):
        needed = os.environ.get("FNZ_NEED_CALL") == "1" and sys.version_info >= (3, 11)
        if os.environ.get("FNZ_CTYPES"):
            self.assertIsNone(quick.module)
        elif needed:
            self.assertIsNotNone(quick.module)


class Counted:
    """An executable, and how many of its calls went by ctypes."""

    def __init__(self, executable: fnz.Executable):
        self.executable, self.count, self._by_ctypes = executable, 0, executable._by_ctypes
        executable._by_ctypes = self.by_ctypes

    def by_ctypes(self, leaves):
        self.count += 1
        return self._by_ctypes(leaves)


@unittest.skipIf(quick.module is None, "the compiled part is not there")
class Served(unittest.TestCase):
    def test_buffers(self):
        counted = Counted(adder())
        for k in range(3):
            out = counted.executable(ONE, y=plus(k))
            self.assertEqual((type(out), out.shape, out.strides, flat(out)), (fnz.Tensor, (3,), (1,), [k] * 3))
        self.assertEqual(counted.count, 0)

    def test_tensors_of_the_package(self):
        counted = Counted(fnz.load(SAME.format("f32").encode()).compile(threads=1))
        turned = fnz.load(b"fnz 1\nprogram(%x: f32[3,2]) {\n  %t: f32[2,3] stride(1,2) = t(%x)\n"
                          b"  %y: f32[2,3] stride(1,2) = add.Scalar(%t, 1)\n  return %y\n}\n").functionalize().compile()
        out = turned(floats([3, 2], range(6)))
        self.assertEqual(out.strides, (1, 2))
        for _ in range(3):
            out = counted.executable(out)
            self.assertEqual(flat(out), [1, 3, 5, 2, 4, 6])
        self.assertEqual(counted.count, 0)

    def test_the_rest_goes_by_ctypes(self):
        counted, other = Counted(adder()), (ctypes.c_float * 3)(2, 2, 2)
        self.assertEqual(flat(counted.executable(other, ONE)), [3] * 3)
        self.assertEqual(counted.count, 1)
        for wrong in (None, 5, "text", floats([2], [1, 2]), integers([3], [1, 2, 3]), ONE[::-1]):
            with self.assertRaises(fnz.Error):
                counted.executable(ONE, wrong)
        for wrong in ((), (ONE,), (ONE,) * 3):
            with self.assertRaises(fnz.Error):
                counted.executable(*wrong)
        self.assertEqual(flat(counted.executable(ONE, ONE)), [2] * 3)

    def test_a_run_that_fails(self):
        text = (b"fnz 1\nprogram(%x: f32[4,2], %i: i64[2]) {\n  %a: f32[2,2] = index_select(%x, 0, %i)\n"
                b"  return %a\n}\n")
        counted = Counted(fnz.load(text).compile(threads=1))
        x = floats([4, 2], range(8))
        for _ in range(3):
            with self.assertRaisesRegex(fnz.Error, "index"):
                counted.executable(x, integers([2], [0, 9]))
            self.assertEqual(flat(counted.executable(x, integers([2], [3, 0]))), [6, 7, 0, 1])
        self.assertEqual(counted.count, 0)

    def test_states_random_numbers_and_sizes(self):
        counted = Counted(fnz.load(FIXTURES / "pt2/kv_cache.pt2").functionalize().compile())
        given = list(read_safetensors("pt2/kv_cache.step0.safetensors").values())
        first = flat(counted.executable(*given))
        counted.executable(*given)
        counted.executable.reset()
        self.assertEqual((flat(counted.executable(*given)), counted.count), (first, 0))
        counted = Counted(fnz.load(FIXTURES / "random/transformer.pt2").functionalize().compile())
        x, drawn = read_safetensors("random/transformer.safetensors")["input.x"], []
        for seed in (1, 2, 1):
            counted.executable.seed(seed)
            drawn.append(counted.executable(x))
        drawn = [flat(one[0] if isinstance(one, tuple) else one) for one in drawn]
        self.assertEqual((drawn[0], counted.count), (drawn[2], 0))
        self.assertNotEqual(drawn[0], drawn[1])

    def test_arguments_of_a_caller_are_checked(self):
        for wrong in ((), (1,), ((), (), None, None, None, None, (), ()), ((0,) * 5, (), None, None, None, None, (), ())):
            with self.assertRaises((TypeError, ValueError, IndexError, AttributeError)):
                quick.module.Caller(*wrong)
        with self.assertRaises(TypeError):
            quick.module.Memory()

    def test_threads(self):
        executable, wrong = adder(), []

        def run(number):
            for _ in range(300):
                if flat(executable(ONE, plus(number))) != [number] * 3:
                    wrong.append(number)
        threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_call_while_results_are_made(self):
        executable, seen = adder(), []

        class Last:
            def __del__(self):
                seen.append(flat(executable(ONE, plus(7))))
        for _ in range(50):
            circle = Last()
            circle.me = circle
            del circle
            self.assertEqual(flat(executable(ONE, plus(5))), [5] * 3)
        gc.collect()
        self.assertEqual(seen, [[7] * 3] * 50)

    def test_a_child_calls(self):
        executable = adder()
        executable(ONE, ONE)
        child = os.fork()
        if child == 0:
            os._exit(0 if flat(executable(ONE, ONE)) == [2] * 3 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


@unittest.skipIf(quick.module is None, "the compiled part is not there")
class Reused(unittest.TestCase):
    """Memory of a result serves a later one when nothing refers to it any more, and not before."""

    def test_tensors(self):
        executable = adder()
        first = executable(ONE, ONE)
        address = first._address
        self.assertNotEqual(executable(ONE, ONE)._address, address)
        view = memoryview(first._owner)
        del first
        self.assertNotIn(address, [executable(ONE, plus(k))._address for k in range(9)])
        self.assertEqual(view.cast("f").tolist(), [2] * 3)
        del view
        self.assertIn(address, [one._address for one in [executable(ONE, ONE) for _ in range(3)]])

    def test_what_a_consumer_of_dlpack_has(self):
        executable = adder()
        capsule = executable(ONE, ONE).__dlpack__()
        address = fnz._structures.DLManagedTensor.from_address(fnz._python.pointer_of(capsule)[0]).dl_tensor.data
        self.assertNotIn(address, [executable(ONE, plus(k))._address for k in range(9)])
        del capsule
        fnz.capsules.sweep()
        self.assertIn(address, [one._address for one in [executable(ONE, ONE) for _ in range(3)]])

    def test_results_outlive_the_executable(self):
        executable = adder()
        results = [executable(ONE, plus(k)) for k in range(9)]
        del executable
        gc.collect()
        for k in (5, 3, 0):
            self.assertEqual(flat(results[k]), [k] * 3)
            del results[k]
        self.assertEqual([flat(one)[0] for one in results], [1, 2, 4, 6, 7, 8])

    def test_sizes_that_change(self):
        executable = fnz.load(FIXTURES / "symbolic/sizes/quarter.pt2").functionalize().compile()
        kept, step = [], 0
        while (FIXTURES / f"symbolic/sizes/quarter.{step}.in.safetensors").exists():
            given = read_safetensors(f"symbolic/sizes/quarter.{step}.in.safetensors")
            for _ in range(3):
                out = executable(**given)
                kept.append((out, [flat(one) for one in (out if isinstance(out, tuple) else (out,))]))
            step += 1
        for out, wanted in kept:
            self.assertEqual([flat(one) for one in (out if isinstance(out, tuple) else (out,))], wanted)

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_arrays_and_views_of_views(self):
        executable, x = adder(), numpy.ones(3, "f4")
        ways = (lambda a: a, lambda a: a[1:], lambda a: a[1:][1:].reshape(1, 1), lambda a: a.view("i4").T[::-1],
                lambda a: a.base, lambda a: memoryview(a[1:]), lambda a: numpy.asarray(memoryview(a)),
                lambda a: numpy.from_dlpack(a)[:1], lambda a: numpy.lib.stride_tricks.as_strided(a, (2, 2), (4, 4)),
                lambda a: numpy.frombuffer(a.base, "u1"), lambda a: a.ctypes, lambda a: a.flat)
        for k, way in enumerate(ways):
            out = executable(x, numpy.full(3, k, "f4"))
            address, before = out.__array_interface__["data"][0], out.copy()
            seen = way(out)
            del out
            others = [executable(x, x) for _ in range(9)]
            self.assertNotIn(address, [one.__array_interface__["data"][0] for one in others], k)
            self.assertEqual(numpy.ctypeslib.as_array(
                (fnz._structures.c_uint8 * 12).from_address(address)).tobytes(), before.tobytes())
            del seen, others
        again = executable(x, x).__array_interface__["data"][0]
        self.assertEqual(executable(x, x).__array_interface__["data"][0], again)

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_random_holders(self):
        executable, x, random_, kept = adder(), numpy.ones(3, "f4"), random.Random(1), {}
        for step in range(3000):
            out = executable(x, numpy.full(3, step, "f4"))
            kept[random_.randrange(40)] = (step, out if step % 3 else out[random_.randrange(2):].view())
            if step % 100 == 0:
                for number, one in kept.values():
                    self.assertEqual(set(one.tolist()), {number + 1})


@unittest.skipIf(quick.module is None or numpy is None, "the compiled part or NumPy is not there")
class WithNumpy(unittest.TestCase):
    def test_types_and_strides(self):
        for ours, theirs in (("f64", "f8"), ("f32", "f4"), ("f16", "f2"), ("i64", "i8"), ("i32", "i4"), ("i16", "i2"),
                             ("i8", "i1"), ("u8", "u1"), ("u16", "u2"), ("u32", "u4"), ("u64", "u8"), ("bool", "?"),
                             ("c64", "c8"), ("c128", "c16")):
            counted = Counted(fnz.load(SAME.format(ours).encode()).compile(threads=1))
            rows = numpy.arange(24).astype(theirs).reshape(4, 6)
            for x in (rows[:2, :3].copy(), rows[::2, ::2], rows[:2, :3].T.copy().T):
                out = counted.executable(x)
                self.assertEqual((type(out), out.dtype, out.shape, out.tobytes()),
                                 (numpy.ndarray, x.dtype, x.shape, x.tobytes()), ours)
                self.assertTrue(out.flags.writeable and out.flags.aligned)
            self.assertEqual(counted.count, 0, ours)
            with self.assertRaises(fnz.Error):
                counted.executable(numpy.ones((2, 3), "c8" if theirs == "i1" else "i1"))
        for wrong in (numpy.arange(6, dtype=">f4").reshape(2, 3), numpy.ones((2, 3), "f4")[:, ::-1], numpy.ones((2, 3), "O"),
                      numpy.frombuffer(bytes(25), "u1")[1:].view("f4").reshape(2, 3)):
            with self.assertRaises(fnz.Error):
                fnz.load(SAME.format("f32").encode()).compile()(wrong)

    def test_no_elements_and_no_dimensions(self):
        for shape in ((), (0,), (2, 0, 3), (1, 1)):
            text = f"fnz 1\nprogram(%x: f32{list(shape)}) {{\n  %a: f32{list(shape)} = neg(%x)\n  return %a\n}}\n"
            counted = Counted(fnz.load(text.encode()).compile(threads=1))
            for _ in range(2):
                out = counted.executable(numpy.ones(shape, "f4"))
                self.assertEqual((type(out), out.shape, out.tolist()),
                                 (numpy.ndarray, shape, (-numpy.ones(shape, "f4")).tolist()))
            self.assertEqual(counted.count, 0)

    def test_libraries_in_turns(self):
        executable = adder()
        for _ in range(2):
            self.assertIsInstance(executable(ONE, ONE), fnz.Tensor)
            self.assertIsInstance(executable(ONE, numpy.ones(3, "f4")), numpy.ndarray)
            self.assertIsInstance(executable(executable(ONE, ONE), ONE), fnz.Tensor)


@unittest.skipIf(quick.module is None or torch is None, "the compiled part or PyTorch is not there")
class WithTorch(unittest.TestCase):
    def test_tensors_and_views_of_views(self):
        counted, x = Counted(adder()), torch.ones(3)
        ways = (lambda a: a, lambda a: a[1:], lambda a: a[1:].view(1, 2)[0], lambda a: a.untyped_storage(),
                lambda a: a.numpy(), lambda a: a.detach().numpy()[1:], lambda a: torch.from_dlpack(a),
                lambda a: a.__dlpack__(), lambda a: torch.utils.dlpack.to_dlpack(a), lambda a: a.data,
                lambda a: torch.nn.Parameter(a), lambda a: a.view(torch.int32), lambda a: iter(a.unbind()),
                lambda a: memoryview(a.numpy()))
        for k, way in enumerate(ways):
            out = counted.executable(x, torch.full((3,), float(k)))
            address, before = out.data_ptr(), out.numpy().tobytes()
            seen = way(out)
            del out
            others = [counted.executable(x, x) for _ in range(9)]
            self.assertNotIn(address, [one.data_ptr() for one in others], k)
            self.assertEqual(bytes((fnz._structures.c_uint8 * 12).from_address(address)), before)
            del seen, others
        gc.collect()
        again = counted.executable(x, x).data_ptr()
        self.assertEqual(counted.executable(x, x).data_ptr(), again)
        self.assertEqual(counted.count, 0)

    def test_a_result_that_a_gradient_needs(self):
        executable, x = adder(), torch.ones(3)
        weight = torch.full((3,), 2.0, requires_grad=True)
        product = (weight * executable(x, x)).sum()
        for _ in range(5):
            executable(x, torch.full((3,), 9.0))
        product.backward()
        self.assertEqual(weight.grad.tolist(), [2.0] * 3)

    def test_results_end_in_other_threads(self):
        executable, x, kept = adder(), torch.ones(3), []

        def end():
            for _ in range(2000):
                if kept:
                    kept.pop()
        threads = [threading.Thread(target=end) for _ in range(2)]
        for thread in threads:
            thread.start()
        for k in range(2000):
            out = executable(x, torch.full((3,), float(k)))
            self.assertEqual(out.tolist(), [k + 1] * 3)
            kept.append(out)
        for thread in threads:
            thread.join()

    def test_subclasses_go_by_ctypes(self):
        class Own(torch.Tensor):
            pass
        counted, x = Counted(adder()), torch.ones(3)
        self.assertEqual(counted.executable(torch.ones(3).as_subclass(Own), x).tolist(), [2] * 3)
        self.assertEqual(counted.count, 1)
        self.assertEqual(counted.executable(torch.nn.Parameter(x, requires_grad=False), x).tolist(), [2] * 3)
        self.assertEqual(counted.count, 1)

    def test_strides_and_libraries(self):
        executable = fnz.load(SAME.format("f32").encode()).compile()
        x = torch.arange(24.).view(4, 6)
        for one in (x[:2, :3], x[::2, 1:4], x.t()[:3, :2].t()):
            self.assertTrue(torch.equal(executable(one), one))
        self.assertIsInstance(adder()(ONE, torch.ones(3)), torch.Tensor)


if __name__ == "__main__":
    unittest.main()
