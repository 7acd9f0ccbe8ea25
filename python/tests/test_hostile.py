"""Callers that do what no caller should: calls within calls, capsules that lie, processes that fork, wrong types."""

import copy
import ctypes
import os
import pickle
import signal
import threading
import unittest
import warnings

import fnz
from fixtures import FIXTURES, flat, floats, integers, read_safetensors
from fnz import _structures as s
from fnz._python import new_capsule

SUB = b"fnz 1\nprogram(%x: f32[4], %y: f32[4]) {\n  %m: f32[4] = sub.Tensor(%x, %y)\n  return %m\n}\n"
TWICE = b"fnz 1\nprogram(%x: f32[4]) {\n  %m: f32[4] = mul.Scalar(%x, 2)\n  return %m\n}\n"
SLICE_WRITE = FIXTURES / "cli" / "slice_write.fnz"
TEN, ONE, ZERO = floats([4], [10] * 4), floats([4], [1] * 4), floats([4], [0] * 4)


class Lazy:
    """A tensor that is made when a call looks at it."""

    def __init__(self, make):
        self.make = make

    def __dlpack__(self, **options):
        return self.make().__dlpack__(**options)


class Made:
    """A capsule with fields that may lie."""

    def __init__(self, versioned: bool = True, **fields):
        self.kind = s.DLManagedTensorVersioned if versioned else s.DLManagedTensor
        self.versioned, self.managed = versioned, self.kind()
        self.data, self.shape = (ctypes.c_float * 8)(1, 2, 3, 4), (ctypes.c_int64 * 1)(4)
        tensor = self.managed.dl_tensor
        tensor.data, tensor.ndim, tensor.device.device_type = ctypes.addressof(self.data), 1, 1
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes, tensor.shape = 2, 32, 1, self.shape
        if versioned:
            self.managed.version.major = fields.pop("major", 1)
        if "size" in fields:
            self.shape[0] = fields.pop("size")
        if "stride" in fields:
            self.strides = (ctypes.c_int64 * 1)(fields.pop("stride"))
            tensor.strides = self.strides
        for name in ("code", "bits", "lanes"):
            if name in fields:
                setattr(tensor.dtype, name, fields.pop(name))
        if "device" in fields:
            tensor.device.device_type = fields.pop("device")
        for name, value in fields.items():
            setattr(tensor, name, value)

    def __dlpack__(self, **options):
        return new_capsule(ctypes.addressof(self.managed), self.versioned)


def sub() -> fnz.Executable:
    return fnz.load(SUB).compile(threads=1)


class Calls(unittest.TestCase):
    def test_an_input_calls_the_executable(self):
        executable, called = sub(), []

        def make():
            called.append(flat(executable(ZERO, ONE)))
            return executable(ONE, ZERO)
        self.assertEqual(flat(executable(TEN, Lazy(make))), [9] * 4)
        self.assertEqual(flat(executable(Lazy(lambda: executable(TEN, Lazy(make))), ONE)), [8] * 4)
        self.assertEqual(called, [[-1] * 4] * 2)
        self.assertEqual(flat(executable(TEN, ONE)), [9] * 4)

    def test_an_input_waits_for_a_thread_that_calls_it(self):
        executable = sub()

        def make():
            given = []
            thread = threading.Thread(target=lambda: given.append(executable(ONE, ZERO)), daemon=True)
            thread.start()
            thread.join(20)
            return given[0]
        self.assertEqual(flat(executable(TEN, Lazy(make))), [9] * 4)

    def test_an_input_begins_the_state_anew(self):
        executable = fnz.load(FIXTURES / "pt2/kv_cache.pt2").compile()
        given = list(read_safetensors("pt2/kv_cache.step0.safetensors").values())
        once = flat(executable(*given))
        whole = fnz.load(TWICE.replace(b"[4]", b"[1,1,16]").replace(b"2)", b"1)")).compile()

        def make():
            executable.reset()
            return whole(given[0])
        self.assertEqual(flat(executable(Lazy(make), given[1])), once)

    def test_an_input_that_fails(self):
        executable = sub()

        def fail():
            raise RuntimeError("not now")
        for _ in range(3):
            with self.assertRaisesRegex(RuntimeError, "not now"):
                executable(TEN, Lazy(fail))
            with self.assertRaises(fnz.Error):
                executable(TEN, Lazy(lambda: executable(TEN, floats([2], [1, 2]))))
            self.assertEqual(flat(executable(TEN, ONE)), [9] * 4)


class Capsules(unittest.TestCase):
    def test_what_lies_is_refused(self):
        executable = fnz.load(TWICE).compile(threads=1)
        far = ctypes.c_uint64(-16).value
        for fields, words in (({"major": 2}, "DLPack 2.0"), ({"major": 0}, "DLPack 0.0"), ({"shape": None}, "no shape"),
                              ({"ndim": -1}, "-1 dimensions"), ({"ndim": 1 << 30}, "dimensions"),
                              ({"lanes": 4}, "4 lanes"), ({"lanes": 0}, "0 lanes"), ({"bits": 31}, "31 bits"),
                              ({"code": 200}, "code 200"), ({"data": None}, "no memory"), ({"byte_offset": 2}, "multiples"),
                              ({"byte_offset": far}, "address space"), ({"size": -1}, "size -1"),
                              ({"stride": -1}, "stride -1"), ({"stride": 1 << 62}, "63 bits"), ({"size": 1 << 62}, "too large"),
                              ({"device": 2}, "device"), ({"device": 0}, "kind 0"), ({"device": -5}, "kind -5")):
            for versioned in (True, False):
                if "major" in fields and not versioned:
                    continue
                with self.assertRaises(fnz.Error, msg=fields) as caught:
                    executable(Made(versioned, **fields))
                self.assertIn(words, str(caught.exception), fields)
        for versioned in (True, False):
            self.assertEqual(flat(executable(Made(versioned))), [2, 4, 6, 8])
            self.assertEqual(flat(executable(Made(versioned, byte_offset=4))), [4, 6, 8, 0])
            self.assertEqual(flat(executable(Made(versioned, stride=0))), [2] * 4)

    def test_what_is_no_capsule_is_refused(self):
        class Other:
            def __init__(self, capsule):
                self.capsule = capsule

            def __dlpack__(self, **options):
                return self.capsule
        executable = fnz.load(TWICE).compile()
        for wrong in (None, 5, b"bytes", object()):
            with self.assertRaisesRegex(fnz.Error, "no capsule"):
                executable(Other(wrong))
        with self.assertRaisesRegex(TypeError, "the class"):
            executable(Other)

    def test_arrays_of_ctypes_lie_in_rows(self):
        row = fnz.load(TWICE).compile()
        self.assertEqual(flat(row((ctypes.c_float * 4)(1, 2, 3, 4))), [2, 4, 6, 8])
        table = fnz.load(TWICE.replace(b"[4]", b"[2,2]")).compile()
        self.assertEqual(flat(table(((ctypes.c_float * 2) * 2)((1, 2), (3, 4)))), [2, 4, 6, 8])
        number = fnz.load(TWICE.replace(b"[4]", b"[]")).compile()
        self.assertEqual(flat(number(ctypes.c_float(3))), [6])
        none = fnz.load(TWICE.replace(b"[4]", b"[0,2]")).compile()
        self.assertEqual(none(((ctypes.c_float * 2) * 0)()).shape, (0, 2))
        for wrong in (((ctypes.c_float * 2) * 2)(), ctypes.c_float(3), ctypes.pointer(ctypes.c_float(1)),
                      (ctypes.c_float.__ctype_be__ * 4)(), (ctypes.c_longdouble * 4)()):
            with self.assertRaises(fnz.Error):
                row(wrong)

    def test_a_tensor_keeps_its_sizes(self):
        tensor = sub()(TEN, ONE)
        for name, value in (("shape", (1 << 40,)), ("strides", (99,)), ("dtype", "float64"), ("read_only", True)):
            with self.assertRaises(AttributeError):
                setattr(tensor, name, value)
        self.assertEqual(flat(tensor), [9] * 4)


class Meaning(unittest.TestCase):
    """compile() and run() give the meaning that the program has on memory."""
    TEXT = (b"fnz 1\nprogram(%x: f32[2,3]) {\n  %t: f32[3,2] stride(1,3) = t(%x)\n"
            b"  %s: f32[3] = as_strided(%t, [3], [1], 0)\n  %m: f32[3] = mul.Scalar(%s, 1)\n  return %m\n}\n")

    def test_views_are_those_of_memory(self):
        program, x = fnz.load(self.TEXT), floats([2, 3], range(6))
        executable = program.compile(threads=1)
        for given in (executable(x), program.functionalize().compile()(x), program.run(x)):
            self.assertEqual(flat(given), [0, 1, 2])
        executable.verify(x)
        executable.another().verify(x)

    def test_copies_of_views_are_those_of_memory(self):
        program = fnz.load(self.TEXT.replace(b"as_strided(", b"as_strided_copy(").replace(b" t(", b" t_copy("))
        executable, x = program.compile(threads=1), floats([2, 3], range(6))
        self.assertEqual(flat(executable(x)), flat(program.run(x)))
        executable.verify(x)

    def test_writes_are_functionalized(self):
        program, x = fnz.load(SLICE_WRITE), floats([4], [1, 2, 3, 4])
        for given in (program, program.functionalize(views="keep", state="epilogue")):
            executable = given.compile()
            self.assertEqual(flat(executable(x)), [1, 3, 4, 4])
            self.assertEqual(flat(executable.mutated["input.x"]), [1, 3, 4, 4])
            executable.verify(x)

    def test_the_original_is_what_is_compared(self):
        program, x = fnz.load(SLICE_WRITE), floats([4], [1, 2, 3, 4])
        executable = program.compile()
        other = fnz.load(SLICE_WRITE.read_bytes().replace(b"(%s, 1)", b"(%s, 2)"))
        executable._check_meaning = program.functionalize()._check_meaning(other)
        with self.assertRaises(fnz.Error) as caught:
            executable.verify(x)
        self.assertEqual(caught.exception.status, "DIFFERENT")


def in_child(body) -> int:
    """The exit code of a child that does this; -14 for one that hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons say that there are threads
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        code = 1
        try:
            code = 0 if body() else 2
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


class Forks(unittest.TestCase):
    TEXT = b"fnz 1\nprogram(%x: f32[500,600]) {\n  %m: f32[500,600] = sin(%x)\n  return %m\n}\n"

    def test_a_child_calls(self):
        executable = fnz.load(self.TEXT).compile(threads=2)
        x = floats([500, 600], [0.5] * 300000)
        wanted = executable(x).tobytes()

        def by_a_thread():
            given = []
            thread = threading.Thread(target=lambda: given.append(executable(x).tobytes() == wanted))
            thread.start()
            thread.join()
            return given == [True]
        self.assertEqual(in_child(lambda: executable(x).tobytes() == wanted), 0)
        self.assertEqual(in_child(by_a_thread), 0)
        self.assertEqual(in_child(lambda: fnz.load(self.TEXT).compile(threads=2)(x).tobytes() == wanted), 0)
        self.assertEqual(executable(x).tobytes(), wanted)

    def test_another_thread_was_in_a_call(self):
        program = fnz.load(SUB)
        executable, inside, go_on = program.compile(), threading.Event(), threading.Event()

        def hold():
            with executable._context.lock, program._context.lock:
                inside.set()
                go_on.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()
        try:
            self.assertEqual(in_child(lambda: flat(executable(TEN, ONE)) == [9] * 4 and len(program.hash()) == 64), 0)
        finally:
            go_on.set()
            thread.join()


class Copies(unittest.TestCase):
    def test_programs_are_pickled(self):
        custom = b"fnz 1\nprogram(%x: f32[2]) {\n  %a: f32[2] = lib::twice(%x)\n  return %a\n}\n"
        for program in (fnz.load(FIXTURES / "pt2/kv_cache.pt2"), fnz.load(FIXTURES / "pt2/kv_cache.pt2").functionalize(),
                        fnz.load(custom, ops=["lib::twice(Tensor x) -> Tensor"])):
            again = pickle.loads(pickle.dumps(program))
            self.assertEqual(again.hash(), program.hash())
            self.assertIs(copy.copy(program), program)
            self.assertIs(copy.deepcopy([program])[0], program)

    def test_their_structure_is_pickled(self):
        given = list(read_safetensors("pt2/kv_cache.step0.safetensors").values())
        program = pickle.loads(pickle.dumps(fnz.load(FIXTURES / "pt2/kv_cache.pt2")))
        wanted = fnz.load(FIXTURES / "pt2/kv_cache.pt2").run(*given)
        self.assertEqual(flat(program.compile()(given[0], pos=given[1])), flat(wanted))

    def test_tensors_are_copied(self):
        tensor = sub()(TEN, ONE)
        for again in (pickle.loads(pickle.dumps(tensor)), copy.copy(tensor), copy.deepcopy(tensor)):
            self.assertEqual((again.shape, again.dtype, flat(again)), ((4,), "float32", [9] * 4))
            self.assertNotEqual(again._address, tensor._address)
        empty = pickle.loads(pickle.dumps(fnz.load(TWICE.replace(b"[4]", b"[0,2]")).compile()(
            ((ctypes.c_float * 2) * 0)())))
        self.assertEqual(empty.shape, (0, 2))

    def test_what_belongs_to_a_process_says_so(self):
        program = fnz.load(FIXTURES / "pt2/kv_cache.pt2")
        executable = program.compile()
        for one, words in ((executable, "compile"), (executable.state, "save"), (program.nodes, "Program"),
                           (program.nodes[0], "Program"), (program._context, "anew")):
            for way in (pickle.dumps, copy.copy, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, words):
                    way(one)

    def test_what_is_read_is_copied(self):
        nodes = list(fnz.load(FIXTURES / "pt2/kv_cache.pt2").nodes)
        args = [node.args for node in nodes]
        for again in (pickle.loads(pickle.dumps(args)), copy.deepcopy(args)):
            self.assertEqual(again, args)
        error = pickle.loads(pickle.dumps(fnz.Error("IO", "IO", "here", "this")))
        self.assertEqual((error.status, error.kind, error.where, error.message), ("IO", "IO", "here", "this"))


class Numbers(unittest.TestCase):
    def test_a_kernel_says_what_it_refuses(self):
        program = fnz.load(b"fnz 1\nprogram(%x: f64[2,2]) {\n  %r: f64[2,2] = linalg_cholesky(%x)\n  return %r\n}\n")
        x = memoryview(bytearray(32)).cast("d", (2, 2))
        for call in (program.run, program.compile()):
            with self.assertRaisesRegex(fnz.Error, "not positive-definite"):
                call(x)

    def test_an_operator_refuses_what_its_steps_would_take(self):
        program = fnz.load(b"fnz 1\nprogram(%x: f32[4], %y: f32[4], %z: f32[4]) {\n"
                           b"  %r: f32[4] = huber_loss_backward(%x, %y, %z, 7, 2.5)\n  return %r\n}\n")
        for call in (program.run, program.compile()):
            with self.assertRaisesRegex(fnz.Error, "reduction is 7"):
                call(ONE, TEN, ZERO)


class Arguments(unittest.TestCase):
    def refused(self, kind, body, *args, **kwargs):
        with self.assertRaises(kind, msg=(body, args, kwargs)) as caught:
            body(*args, **kwargs)
        self.assertIsInstance(caught.exception, fnz.Error)
        self.assertEqual(caught.exception.status, "BAD_ARGUMENT")
        self.assertGreater(len(str(caught.exception)), 20)

    def test_wrong_types_are_errors_in_words(self):
        program = fnz.load(SLICE_WRITE)
        functional = program.functionalize()
        executable = functional.compile()
        for body, kwargs in (
                (fnz.load, {"source": 5}), (fnz.load, {"source": ["a"]}), (fnz.load, {"source": b"", "format": 5}),
                (fnz.load, {"source": SLICE_WRITE, "ops": 5}), (fnz.load, {"source": SLICE_WRITE, "ops": [5]}),
                (fnz.load, {"source": SLICE_WRITE, "aliases": None}), (fnz.load, {"source": SLICE_WRITE, "aliases": [b"x"]}),
                (program.functionalize, {"views": 5}), (program.functionalize, {"state": ["outputs"]}),
                (program.functionalize, {"deny": 5}), (program.functionalize, {"deny": [None]}),
                (functional.decompose, {"set": None}), (functional.decompose, {"keep": 1}),
                (functional.decompose, {"decompose": [1]}), (functional.compile, {"device": 5}),
                (functional.compile, {"device": None}), (functional.compile, {"threads": 1.5}),
                (functional.compile, {"threads": "2"}), (functional.compile, {"threads": True}),
                (functional.compile, {"threads": None}), (functional.compile, {"donated": 5}),
                (functional.compile, {"cache": 5}), (functional.compile, {"check": "no"}),
                (functional.verify, {"original": "x"}), (functional.verify, {"original": None}),
                (functional.verify, {"original": program, "trials": "many"}),
                (functional.verify, {"original": program, "ignore_weights": 2}),
                (functional.verify, {"original": program, "inputs": [1]}),
                (functional.verify, {"original": program, "inputs": {5: TEN}}), (functional.diff, {"other": "x"}),
                (functional.hash, {"weights": None}), (functional.write, {"format": 5}), (functional.save, {"path": 5}),
                (functional.save, {"path": "a.cbor", "external_weights": "yes"}),
                (functional.save, {"path": "a.cbor", "format": 7}), (functional.plan, {"device": 5}),
                (functional.plan, {"json": "yes"}), (functional.graph, {"index": "x"}), (functional.graph, {"index": 0.5}),
                (functional.run_arrays, {"inputs": 5}), (functional.run_arrays, {"inputs": {"x": "text"}}),
                (executable.seed, {"seed": 1.5}), (executable.seed, {"seed": "x"}), (executable.__call__, {"x": 5.0}),
                (executable.__call__, {"x": None}), (executable.verify, {"x": "text"}),
                (executable.state.load, {"path": 5}), (fnz.op, {"name": 5})):
            self.refused(TypeError, body, **kwargs)
        for wrong in ("x", 1.5, None):
            with self.assertRaises(TypeError):
                program.nodes[wrong]
        state = fnz.load(FIXTURES / "pt2/kv_cache.pt2").compile().state
        self.refused(TypeError, state.update, {5: TEN})
        self.refused(TypeError, state.save, 5)
        self.assertFalse(5 in state)
        with self.assertRaises(KeyError):
            state[5]

    def test_wrong_values_are_errors_in_words(self):
        program = fnz.load(SLICE_WRITE)
        functional = program.functionalize()
        executable = functional.compile()
        for body, kwargs in (
                (fnz.load, {"source": SLICE_WRITE, "format": "zip"}), (fnz.load, {"source": f"{SLICE_WRITE}\0.pt2"}),
                (fnz.load, {"source": SLICE_WRITE, "aliases": ["x\0"]}), (program.functionalize, {"views": "some"}),
                (program.functionalize, {"state": ""}), (functional.compile, {"threads": -1}),
                (functional.compile, {"threads": 1 << 40}), (functional.compile, {"threads": 5000}),
                (functional.compile, {"device": "cpu\0"}), (functional.compile, {"device": "tpu"}),
                (functional.verify, {"original": program, "trials": 0}),
                (functional.verify, {"original": program, "trials": -5}),
                (functional.verify, {"original": program, "trials": 1 << 40}), (functional.write, {"format": "zip"}),
                (functional.save, {"path": "out.zip"}), (functional.save, {"path": "out\0.cbor"}),
                (functional.graph, {"index": -1}), (functional.graph, {"index": 99}), (executable.seed, {"seed": 1 << 64}),
                (executable.seed, {"seed": -1 << 70})):
            self.refused(ValueError, body, **kwargs)
        executable.seed(-1)
        executable.seed((1 << 64) - 1)

    def test_one_text_is_one(self):
        text = b"fnz 1\nprogram(%x: f32[2]) {\n  %a: f32[2] = lib::twice(%x)\n  return %a\n}\n"
        self.assertEqual(fnz.load(text, ops="lib::twice(Tensor x) -> Tensor").nodes[0].target, "lib::twice")
        executable = fnz.load(SLICE_WRITE).compile(donated="x")
        self.assertEqual(flat(executable(floats([4], [1, 2, 3, 4]))), [1, 3, 4, 4])

    def test_numbers_that_no_integer_has(self):
        program = fnz.load(b"fnz 1\nsymbol s0 = 3\nprogram(%n: sym{s0}, %x: f32[4]) {\n"
                           b"  %m: f32[4] = mul.Scalar(%x, %n)\n  return %m\n}\n")
        executable = program.compile()
        self.assertEqual(flat(executable(2, ONE)), [2] * 4)
        for wrong in (1 << 63, -1 << 70):
            self.refused(ValueError, executable, wrong, ONE)
            self.refused(ValueError, program.run, wrong, ONE)
        for wrong in (1.5, True, "2", None):
            self.refused(TypeError, executable, wrong, ONE)
        self.assertEqual(flat(program.run(2, ONE)), [2] * 4)
        self.assertEqual(flat(executable(integers([1], [5])[0], ONE)), [5] * 4)


if __name__ == "__main__":
    unittest.main()
