"""compile(in_place=True): inputs that a program changes are changed, in the memory of the caller."""

import math
import unittest

import fnz
from fixtures import FIXTURES, flat, floats, integers, leaves, optional
from fnz import quick

numpy, torch = optional("numpy"), optional("torch")

WRITES = (b"fnz 1\nprogram(%x: f32[4], %y: f32[4]) {\n  %a: f32[4] = add_.Tensor(%x, %y)\n"
          b"  %b: f32[4] = mul.Tensor(%a, %y)\n  return %b\n}\n")
SIZED = (b"fnz 1\nsymbol s0 = 4\nrange s0 1..\nprogram(%x: f32[{s0}]) {\n  %a: f32[{s0}] = mul_.Scalar(%x, 2)\n"
         b"  %b: f32[] = sum(%a)\n  return %b\n}\n")


class InPlace(unittest.TestCase):
    def both(self, text, **options):
        """The executable, and one that does without the compiled part of calls."""
        executable = fnz.load(text).compile(threads=1, in_place=True, **options)
        other = executable.another()
        other._quick = None
        return (executable, other) if quick.module else (other,)

    def test_inputs_are_changed(self):
        for executable in self.both(WRITES):
            x, y = floats([4], range(4)), floats([4], [1, 2, 3, 4])
            self.assertEqual(flat(executable(x, y)), [1, 6, 15, 28])
            self.assertEqual((flat(x), flat(y)), ([1, 3, 5, 7], [1, 2, 3, 4]))
            self.assertIs(executable.mutated["input.x"], x)
            executable(x, y)
            self.assertEqual(flat(x), [2, 5, 8, 11])
            executable.verify(x, y)
            self.assertEqual(flat(x), [2, 5, 8, 11])

    def test_without_it_they_stay(self):
        executable, x = fnz.load(WRITES).compile(threads=1), floats([4], range(4))
        executable(x, floats([4], [1] * 4))
        self.assertEqual((flat(x), flat(executable.mutated["input.x"])), ([0, 1, 2, 3], [1, 2, 3, 4]))

    def test_what_may_not_be_written_is_refused(self):
        for executable in self.both(WRITES):
            y, memory = floats([4], [1] * 4), floats([6], range(6))
            for x, words in ((memoryview(bytes(16)).cast("f"), "read-only"), (y, "OVERLAP"), (floats([3], range(3)), "size")):
                with self.assertRaisesRegex(fnz.Error, words):
                    executable(x, y)
            with self.assertRaisesRegex(fnz.Error, "OVERLAP"):
                executable(memory[:4], memory[2:])
            self.assertEqual((flat(memory), flat(y)), ([0, 1, 2, 3, 4, 5], [1] * 4))
            self.assertEqual(flat(executable(memory[:4], y)), [1, 2, 3, 4])
            self.assertEqual(flat(memory), [1, 2, 3, 4, 4, 5])

    def test_sizes_that_a_call_decides(self):
        for executable in self.both(SIZED):
            for size in (4, 1, 7):
                x = floats([size], range(size))
                self.assertEqual(flat(executable(x)), [size * (size - 1)])
                self.assertEqual(flat(x), [2 * k for k in range(size)])

    def test_a_result_that_is_the_input(self):
        text = b"fnz 1\nprogram(%x: f32[4]) {\n  %a: f32[4] = add_.Scalar(%x, 1)\n  return %x\n}\n"
        for executable in self.both(text):
            x = floats([4], range(4))
            self.assertIs(executable(x), x)
            self.assertEqual(flat(x), [1, 2, 3, 4])

    def test_elements_are_read_before_they_are_written(self):
        bodies = (
            ("%f: f32[{0}] = flip(%x, [0])", "%f", "%y"), ("%f: f32[{0}] = cumsum(%x, 0)", "%f", "%f"),
            ("%o: f32[{0}] = clone(%x)\n  %f: f32[{0}] = roll(%x, [1])", "%f", "%o"), ("", "%y", "%x"),
            ("%m: f32[{0}] = neg(%x)\n  %f: f32[{0}] = flip(%m, [0])\n  %g: f32[{0}] = add.Tensor(%f, %x)", "%g", "%m"))
        for size in ("4", "{s0}"):
            for body, final, result in bodies:
                text = ("fnz 1\nsymbol s0 = 4\nrange s0 1..\n" * (size != "4") or "fnz 1\n") + (
                    "program(%x: f32[{0}], %y: f32[{0}]) {{\n  " + body + "\n  %w: f32[{0}] = copy_(%x, " + final + ")\n"
                    "  %z: f32[{0}] = exp_(%y)\n  return " + result + "\n}}\n").format(size)
                plain = fnz.load(text.encode()).compile(threads=1)
                for executable in self.both(text.encode()):
                    for _ in range(2):
                        x, y = floats([4], [1, 2, 3, 4]), floats([4], [5, 6, 7, 8])
                        wanted = flat(plain(x, y))
                        self.assertEqual(flat(executable(x, y)), wanted, text)
                        self.assertEqual([flat(x), flat(y)], [flat(plain.mutated[f"input.{one}"]) for one in "xy"], text)

    def test_inputs_are_exchanged(self):
        for size in ("4", "{s0}"):
            text = ("fnz 1\nsymbol s0 = 4\nrange s0 1..\n" * (size != "4") or "fnz 1\n") + (
                "program(%x: f32[{0}], %y: f32[{0}]) {{\n  %o: f32[{0}] = clone(%x)\n  %a: f32[{0}] = copy_(%x, %y)\n"
                "  %b: f32[{0}] = copy_(%y, %o)\n  return %o\n}}\n").format(size)
            for executable in self.both(text.encode()):
                x, y = floats([4], [1, 2, 3, 4]), floats([4], [5, 6, 7, 8])
                self.assertEqual(flat(executable(x, y)), [1, 2, 3, 4])
                self.assertEqual([flat(x), flat(y)], [[5, 6, 7, 8], [1, 2, 3, 4]])

    def test_programs_of_files(self):
        """All of the fixtures that change an input: as without in_place, or refused when they are compiled."""
        tried = 0
        for path in sorted([*FIXTURES.glob("**/*.pt2"), *FIXTURES.glob("**/*.fnz")]):
            if self.changes_an_input(path):
                tried += self.compare(path)
        self.assertGreater(tried, 10)

    def changes_an_input(self, path) -> bool:
        try:
            functional = fnz.load(path).functionalize()
        except fnz.Error:
            return False
        return any(one.kind == "input_mutation" for one in functional.outputs)

    def compare(self, path) -> bool:
        functional = fnz.load(path).functionalize()
        inputs = [one for one in functional.inputs if one.kind in ("user", "literal")]
        metas = [getattr(one.value, "meta", None) for one in inputs]
        if not all(meta is not None and meta.dtype in ("float32", "int64") and all(isinstance(n, int) for n in meta.shape)
                   and 0 < math.prod(meta.shape) < 1000 for meta in metas):
            return False

        def draw():
            counts = [math.prod(meta.shape) for meta in metas]
            return [floats(meta.shape, [0.5 + k % 7 for k in range(count)]) if meta.dtype == "float32"
                    else integers(meta.shape, [k % 2 for k in range(count)]) for meta, count in zip(metas, counts)]
        plain = functional.compile(threads=1)
        calling = plain._calling
        if not calling.is_plain:
            return False
        try:
            wanted = plain(*draw())
            made = functional.compile(threads=1, in_place=True)
        except fnz.Error:
            return False
        other = made.another()
        other._quick = None
        for executable in (made, other):
            given = draw()
            found = executable(*given)
            self.assertEqual(self.written(found), self.written(wanted), path)
            for name, value in plain.mutated.items():
                self.assertEqual(self.written(executable.mutated[name]), self.written(value), (path, name))
                if name.startswith("input."):
                    number = [one.name for one in inputs].index(name[len("input."):])
                    self.assertIs(executable.mutated[name], given[number])
        return True

    def written(self, value) -> list:
        """The elements of all tensors of a structure."""
        return [one.tobytes() for one in leaves(value) if hasattr(one, "tobytes")]

    def test_a_window_is_written(self):
        for executable in self.both(FIXTURES / "cli" / "slice_write.fnz"):
            x = floats([4], [1, 2, 3, 4])
            executable(x)
            self.assertEqual(flat(x), [1, 3, 4, 4])

    def test_programs_that_cannot_are_refused(self):
        text = b"fnz 1\nprogram(%x: f32[3], %y: f32[4]) {\n  %a: f32[3] = add_.Scalar(%x, 1)\n  return %a\n}\n"
        moved = (b"fnz 1\nprogram(%x: f32[2,2]) {\n  %t: f32[2,2] stride(1,2) = t_(%x)\n"
                 b"  %a: f32[2,2] stride(1,2) = add_.Scalar(%x, 1)\n  return\n}\n")
        for program, words in ((fnz.load(text, aliases=["x=y[1:]"]), "shares memory"), (fnz.load(moved), "other sizes")):
            with self.assertRaisesRegex(fnz.Error, words):
                program.compile(in_place=True)
        with self.assertRaises(TypeError):
            fnz.load(WRITES).compile(in_place="yes")

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_arrays(self):
        for executable in self.both(WRITES):
            whole, y = numpy.zeros(8, "f4"), numpy.arange(4, dtype="f4")
            x = whole[::2]
            executable(x, y)
            self.assertEqual(whole.tolist(), [0, 0, 1, 0, 2, 0, 3, 0])
            for wrong in (numpy.broadcast_to(numpy.zeros(1, "f4"), 4), numpy.frombuffer(bytes(16), "f4"),
                          numpy.lib.stride_tricks.as_strided(numpy.zeros(4, "f4"), (4,), (0,))):
                with self.assertRaises(fnz.Error):
                    executable(wrong, y)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_tensors(self):
        for executable in self.both(WRITES):
            x, y = torch.zeros(4), torch.ones(4)
            version, address = x._version, x.data_ptr()
            executable(x, y)
            self.assertEqual((x.tolist(), x._version, x.data_ptr()), ([1] * 4, version + 1, address))
            executable(x.view(2, 2).flatten(), y)
            self.assertEqual(x.tolist(), [2] * 4)
            for wrong in (torch.zeros(1).expand(4), torch.zeros(4, requires_grad=True)):
                with self.assertRaises(fnz.Error):
                    executable(wrong, y)
            with torch.inference_mode():
                x = torch.zeros(4)
                executable(x, y)
                self.assertEqual(x.tolist(), [1] * 4)


if __name__ == "__main__":
    unittest.main()
