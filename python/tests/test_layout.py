"""The layout of elements: strides of results, of memory that Python has, and of tensors without elements."""

import unittest

import fnz
from fixtures import flat, floats
from fnz.results import _is_dense
from fnz.tensors import row_major, span_of

TRANSPOSED = """fnz 1
program(%x: f32[3,2])
{
  %t: f32[2,3] stride(1,2) = t(%x)
  %y: f32[2,3] stride(1,2) = add.Scalar(%t, 1)
  %n: f32[2,0] = new_zeros(%x, [2, 0])
  %m: f32[0,2] stride(2,1) = new_zeros(%x, [0, 2])
  return %y, %n, %m
}
"""


class Layout(unittest.TestCase):
    def test_spans(self):
        for shape, strides, wanted in (((), (), 1), ((4,), (1,), 4), ((2, 3), (3, 1), 6), ((2, 3), (1, 2), 6),
                                       ((2, 2), (5, 1), 7), ((3, 2), (0, 1), 2), ((0, 3), (3, 1), 0), ((3, 0), (1, 1), 0)):
            self.assertEqual(span_of(shape, strides), wanted, (shape, strides))

    def test_dense(self):
        for shape, strides, wanted in (((2, 3), (3, 1), True), ((2, 3), (1, 2), True), ((2, 3), (4, 1), False),
                                       ((2, 3), (1, 1), False), ((2, 3), (6, 2), False), ((2, 1), (1, 9), True),
                                       ((), (), True)):
            self.assertIs(_is_dense(shape, strides), wanted, (shape, strides))

    def test_rows(self):
        self.assertEqual([row_major(shape) for shape in ((), (3,), (2, 3), (2, 0, 3))], [(), (1,), (3, 1), (3, 3, 1)])

    def test_results_have_the_strides_of_the_program(self):
        executable = fnz.load(TRANSPOSED.encode()).functionalize().compile(threads=1)
        y, n, m = executable(floats([3, 2], range(6)))
        self.assertEqual((y.shape, y.strides), ((2, 3), (1, 2)))
        self.assertEqual(y.tolist(), [[1, 3, 5], [2, 4, 6]])
        self.assertEqual((flat(y), n.tolist(), m.tolist()), ([1, 3, 5, 2, 4, 6], [[], []], []))


if __name__ == "__main__":
    unittest.main()
