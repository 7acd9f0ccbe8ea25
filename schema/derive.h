/* derive.h - the variants of an operator that follow from its schema alone, with the names that
 * PyTorch's code generator gives them.
 *
 * All of it works on any namespace and on operators outside the table. Results live in the arena,
 * have the tag "generated" (and the tags of the original that carry over), the composite class
 * explicit, and no twins: the caller knows the group. A schema that has no such variant fails with
 * TYPE. */
#ifndef FNZI_SCHEMA_DERIVE_H
#define FNZI_SCHEMA_DERIVE_H

#include "schema/schema.h"

/* The functional twin of an in-place, out or mutable operator.
 *
 *   add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
 *   add.Tensor(Tensor self, Tensor other) -> Tensor
 *
 *   ns::f(Tensor(a!) x, Tensor y) -> Tensor
 *   ns::f_functional(Tensor x, Tensor y) -> (Tensor, Tensor x_out)
 *
 * Parameters lose their annotations and out arguments go. Results are the results of the original
 * without annotations, then one for each written argument that the original does not return, in the
 * order of fnzi_written_next(). An operator that keeps a written keyword-only argument because it
 * reads it too has is_out cleared in that parameter. */
FNZ_MUST_CHECK fnz_status fnzi_derive_functional(fnzi_arena *arena, const fnz_op *op, fnz_op **out);

/* The form of an operator that writes tensors which may share memory: a function of that memory.
 *
 *   ns::f_(Tensor(a!) x, Tensor(b!)[] ys, Tensor z) -> ()
 *   ns::f__on_bases(Tensor[] _all_bases, int[] x, int[] ys, Tensor z) -> Tensor[] _all_bases_out
 *
 * A base is all elements of one memory, in one dimension, and a written tensor a window of it: the
 * index of the base, the rank, the offset, sizes, strides; -1 alone for None. A list is its length
 * and the windows; -1 for None. Results are the new ones of the original, then the bases. */
FNZ_MUST_CHECK fnz_status fnzi_derive_on_bases(fnzi_arena *arena, const fnz_op *op, fnz_op **out);

/* The out= variant of an in-place, mutable or functional operator: overload "out", or "Tensor_out"
 * for the overload "Tensor"; its arguments are called `out`, or `out0`, `out1` ... beside each
 * other. It returns them when all results are plain tensors. A functional operator loses its
 * dtype, layout, device and pin_memory. */
FNZ_MUST_CHECK fnz_status fnzi_derive_out(fnzi_arena *arena, const fnz_op *op, fnz_op **out);

#endif
