"""Memory: its owner, when it is freed, and objects that are no tensor."""

import ctypes
import gc
import os
import sys
import threading
import unittest

import fnz
from fixtures import FIXTURES, floats, integers, read_safetensors
from fnz import _library, capsules
from fnz.handles import Handle

try:
    import numpy
except ImportError:
    numpy = None

ADD = b"fnz 1\nprogram(%x: f32[3], %y: f32[3]) {\n  %a: f32[3] = add.Tensor(%x, %y)\n  return %a\n}\n"


def adder() -> fnz.Executable:
    return fnz.load(ADD).compile(threads=1)


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Producer:
    """A tensor of another library, of either DLPack, that counts what ends."""

    def __init__(self, versioned: bool, device: int = 1, code: int = 2):
        self.versioned, self.ended, self.asked = versioned, 0, []
        self.data = (ctypes.c_float * 3)(1, 2, 3)
        self.shape = (ctypes.c_int64 * 1)(3)
        kind = fnz._structures.DLManagedTensorVersioned if versioned else fnz._structures.DLManagedTensor
        self.managed = kind()
        if versioned:
            self.managed.version.major = 1
        tensor = self.managed.dl_tensor
        tensor.data, tensor.ndim = ctypes.addressof(self.data), 1
        tensor.device.device_type, tensor.shape = device, self.shape
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, 32, 1
        self.end = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self.count)

    def count(self, _capsule):
        self.ended += 1

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("no such option")
        self.asked.append(options)
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
            ("PyCapsule_New", ctypes.pythonapi))
        return new(ctypes.addressof(self.managed), name, ctypes.cast(self.end, ctypes.c_void_p))


def take(tensor, versioned: bool):
    """Consumes a capsule: its managed tensor, and what ends it."""
    capsule = tensor.__dlpack__(max_version=(1, 0)) if versioned else tensor.__dlpack__()
    address, is_versioned = fnz._python.pointer_of(capsule)
    assert is_versioned == versioned
    used = b"used_dltensor_versioned" if versioned else b"used_dltensor"
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
    rename(capsule, used)
    take.names = used  # must outlive the capsule
    kind = fnz._structures.DLManagedTensorVersioned if versioned else fnz._structures.DLManagedTensor
    managed = kind.from_address(address)
    return managed, lambda: ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)(address)


class Inputs(unittest.TestCase):
    def test_capsules_end_once_and_are_not_consumed(self):
        executable, y = adder(), floats([3], [10, 20, 30])
        for versioned in (True, False):
            x = Producer(versioned)
            self.assertEqual(executable(x, y).tolist(), [11, 22, 33])
            self.assertEqual((len(x.asked), x.ended), (1, 1))

    def test_results_are_inputs(self):
        executable, x = adder(), floats([3], [1, 2, 3])
        one = executable(x, x)
        self.assertEqual(executable(one, one).tolist(), [4, 8, 12])

    def test_wrong_ones_are_named(self):
        executable, y = adder(), floats([3], [10, 20, 30])
        for x, words in ((None, "NoneType"), ("text", "str"), ([1, 2, 3], "list"), (3.0, "float"), (object(), "object"),
                         (floats([2], [1, 2]), "x"), (integers([3], [1, 2, 3]), "x"), (b"123", "x"),
                         (Producer(True, device=2), "device"), (Producer(True, device=99), "device"),
                         (Producer(True, code=77), "code 77"), (floats([8], range(8))[::-1][:3], "x"),
                         (memoryview(bytearray(13))[1:].cast("f"), "multiples")):
            with self.assertRaises(fnz.Error) as caught:
                executable(x, y)
            self.assertIn(words, str(caught.exception))
        for args, kwargs in (((y,), {}), ((y, y, y), {}), ((y, y), {"z": y}), ((), {"x": y})):
            with self.assertRaises(fnz.Error):
                executable(*args, **kwargs)
        self.assertEqual(executable(y, y).tolist(), [20, 40, 60])

    def test_symbolic_numbers_must_be_integers(self):
        executable = fnz.load(FIXTURES / "symbolic/sizes/item_narrow.pt2").functionalize().compile()
        with self.assertRaises(fnz.Error):
            executable("text", "text")


class Results(unittest.TestCase):
    def test_they_outlive_all(self):
        executable, x = adder(), floats([3], [1, 2, 3])
        results = [executable(x, floats([3], [k] * 3)) for k in range(50)]
        del executable, x
        gc.collect()
        self.assertEqual([one.tolist()[0] for one in results], [1 + k for k in range(50)])

    def test_states_and_weights_outlive_their_owners(self):
        program = fnz.load(FIXTURES / "pt2/kv_cache.pt2")
        executable = program.functionalize().compile()
        executable(*read_safetensors("pt2/kv_cache.step0.safetensors").values())
        cache, weight = executable.state["kc"], next(iter(program.parameters.values()))
        before = cache.tobytes(), weight.tobytes()
        executable.reset()
        del executable, program
        gc.collect()
        self.assertEqual((cache.tobytes(), weight.tobytes()), before)

    def test_what_is_in_a_circle_ends_last_first(self):
        class Circle:
            pass

        ended, circle = [], Circle()
        circle.me, circle.context = circle, Handle(1, ended.append)
        circle.program = Handle(2, ended.append, circle.context)
        circle.executable = Handle(3, ended.append, circle.context, circle.program)
        del circle
        gc.collect()
        self.assertEqual(ended, [3, 2, 1])

    def test_capsules_are_consumed_or_end(self):
        self.assertEqual(capsules.sweep(), 0)
        executable, x = adder(), floats([3], [1, 2, 3])
        for versioned in (True, False):
            tensor = executable(x, x)
            managed, end = take(tensor, versioned)
            del tensor
            gc.collect()
            self.assertEqual(capsules.sweep(), 1)
            data = ctypes.cast(managed.dl_tensor.data, ctypes.POINTER(ctypes.c_float))
            self.assertEqual(data[:3], [2, 4, 6])
            thread = threading.Thread(target=end)
            thread.start()
            thread.join()
            self.assertEqual(capsules.sweep(), 0)
        tensor = executable(x, x)
        held = tensor.__dlpack__()
        self.assertEqual(capsules.sweep(), 1)
        del held  # no consumer took the tensor in it
        self.assertEqual(capsules.sweep(), 0)

    def test_read_only_is_said_or_refused(self):
        weight = next(iter(fnz.load(FIXTURES / "pt2/kv_cache.pt2").parameters.values()))
        managed, end = take(weight, True)
        self.assertEqual(managed.flags, 1)
        end()
        for options in ({}, {"max_version": (0, 8)}, {"max_version": (1, 0), "copy": True},
                        {"max_version": (1, 0), "dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                weight.__dlpack__(**options)
        self.assertEqual(capsules.sweep(), 0)

    def test_nothing_is_left_behind(self):
        big = 1 << 20
        text = f"fnz 1\nprogram(%x: f32[{big}]) {{\n  %a: f32[{big}] = neg(%x)\n  return %a\n}}\n".encode()
        executable = fnz.load(text).compile(threads=1)
        x = memoryview(bytearray(4 * big)).cast("f")
        for _ in range(3):
            executable(x)
        before = resident()
        for k in range(60):
            tensor = executable(x)
            if k % 3 == 1:
                take(tensor, k % 2 == 0)[1]()
            elif k % 3 == 2:
                tensor.__dlpack__()
            del tensor
            with self.assertRaises(fnz.Error):
                executable(None)
        capsules.sweep()
        self.assertLess(resident() - before, 15 * 4 * big)
        for _ in range(40):
            fnz.load(text).compile(threads=1)(x)
        self.assertLess(resident() - before, 15 * 4 * big)

    def test_threads(self):
        executable = adder()
        wrong = []

        def run(mine, k):
            x = floats([3], [k] * 3)
            for _ in range(100):
                if mine(x, x).tolist() != [2 * k] * 3:
                    wrong.append(k)
        threads = [threading.Thread(target=run, args=(executable if k < 2 else executable.another(), k))
                   for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


@unittest.skipIf(numpy is None, "NumPy is not installed")
class WithNumpy(unittest.TestCase):
    def test_arrays_go_in_and_come_out(self):
        executable = adder()
        x = numpy.arange(6, dtype="f4")[::2]
        y = numpy.ones(3, "f4")
        y.flags.writeable = False
        out = executable(x, y)
        self.assertIsInstance(out, numpy.ndarray)
        self.assertEqual(out.tolist(), [1, 3, 5])
        out[0] = 7
        del executable
        gc.collect()
        self.assertEqual(out.tolist(), [7, 3, 5])
        with self.assertRaises(fnz.Error):
            adder()(x[::-1], y)
        with self.assertRaises(fnz.Error):
            adder()(x.astype("f8"), y)
        for wrong in (numpy.array([object()] * 3), numpy.array(["2020"] * 3, "M8[s]"), numpy.ndarray):
            with self.assertRaises(fnz.Error):
                adder()(wrong, y)

    def test_bool_and_scalars(self):
        text = b"fnz 1\nprogram(%x: bool[2]) {\n  %a: bool[2] = logical_not(%x)\n  return %a\n}\n"
        out = fnz.load(text).compile()(numpy.array([True, False]))
        self.assertEqual((out.dtype, out.tolist()), (numpy.dtype(bool), [False, True]))

    def test_states_are_shared(self):
        executable = fnz.load(FIXTURES / "pt2/kv_cache.pt2").functionalize().compile()
        executable.state["kc"].numpy()[...] = 3
        self.assertEqual(set(numpy.from_dlpack(executable.state["kc"]).ravel()), {3})
        weight = next(iter(fnz.load(FIXTURES / "pt2/kv_cache.pt2").parameters.values())).numpy()
        self.assertFalse(weight.flags.writeable)

    def test_what_numpy_has_no_type_for(self):
        text = b"fnz 1\nprogram(%x: f32[2]) {\n  %a: bf16[2] = _to_copy(%x, dtype=bf16)\n  return %a\n}\n"
        out = fnz.load(text).compile()(numpy.ones(2, "f4"))
        self.assertEqual((type(out), out.dtype, out.tobytes()), (fnz.Tensor, "bfloat16", b"\x80\x3f" * 2))
        for wrong in (numpy.asarray, numpy.from_dlpack):
            with self.assertRaises((TypeError, BufferError, RuntimeError)):
                wrong(out)
        self.assertEqual(capsules.sweep(), 0)


class Library(unittest.TestCase):
    def test_a_library_of_another_interface_is_refused(self):
        class Other:
            _name, abi = "libfnz.so.9", 9003000

            class fnz_version:
                def __new__(cls):
                    return b"9.3.0"

            class fnz_abi_version:
                def __new__(cls):
                    return Other.abi
        for Other.abi in (9003000, _library.ABI - 1, _library.ABI - 1000):  # another SONAME, or fewer functions
            with self.assertRaisesRegex(ImportError, f"libfnz 9.3.0 with the interface {Other.abi}, .* for 0.1.0 with 1000"):
                _library._bind(Other)

    def test_a_missing_function_is_named_when_it_is_called(self):
        missing = _library._missing("libfnz.so", "0.1.0", "fnz_compile")
        with self.assertRaisesRegex(NotImplementedError, "fnz_compile"):
            missing()

    def test_where_it_is_looked_for(self):
        named = os.environ.pop("FNZ_LIBRARY", None)
        try:
            self.assertEqual(_library._candidates()[-1], "libfnz.so.0.1")
            os.environ["FNZ_LIBRARY"] = "/there/libfnz.so"
            self.assertEqual(_library._candidates(), ["/there/libfnz.so"])
        finally:
            os.environ.pop("FNZ_LIBRARY", None)
            if named:
                os.environ["FNZ_LIBRARY"] = named

    def test_nothing_else_is_imported(self):
        code = "import sys, fnz; sys.exit(any(name in sys.modules for name in ('numpy', 'torch')))"
        import subprocess
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
