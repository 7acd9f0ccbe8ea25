/* places_backward.c - what flows back through operators that pick elements, by index, by mask or as
 * the largest ones; and through running products. */
#include "kernels/decomp/decomp.h"

/* --- By index ---------------------------------------------------------------------------- */
DECOMP(index_select_backward) {
  fnzi_krn_array *zeros = fnzi_dec_zeros_of(s, "self_sizes");
  fnzi_dec_result_give(s, STEP(index_add, V(zeros), *fnzi_krn_named(s->call, "dim"),
                               V(fnzi_dec_given_array(s, "index")),
                               V(fnzi_dec_given_array(s, "grad"))));
}

static fnzi_krn_array *scattered(fnzi_dec_steps *s, fnzi_krn_array *zeros, fnz_arg dim,
                                 fnzi_krn_array *index, fnzi_krn_array *grad) {
  return STEP(scatter_add, V(zeros), dim, V(index), V(grad));
}

DECOMP(gather_backward) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad"), *self = fnzi_dec_given_array(s, "self");
  if (fnzi_krn_named_bool(s->call, "sparse_grad", false))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "sparse_grad is True; sparse gradients are not supported");
  fnzi_krn_array *zeros =
      self ? STEP(new_zeros, V(grad),
                  fnzi_dec_ints(s, self->geometry.sizes, fnzi_dec_array_rank(self)))
           : NULL;
  fnzi_dec_result_give(s, scattered(s, zeros, *fnzi_krn_named(s->call, "dim"),
                                    fnzi_dec_given_array(s, "index"), grad));
}

/* The gradient of cummax and cummin: each index names the element that was the largest so far. */
DECOMP(running_extreme_backward) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad"),
                 *indices = fnzi_dec_given_array(s, "indices");
  fnzi_krn_array *input = fnzi_dec_given_array(s, "input");
  if (fnzi_dec_array_numel(input) == 0) {
    fnzi_dec_result_give(s, input);
    return;
  }
  fnzi_krn_array *zeros =
      STEP(new_zeros, V(grad), fnzi_dec_ints(s, input->geometry.sizes, fnzi_dec_array_rank(input)));
  fnzi_dec_result_give(s, scattered(s, zeros, *fnzi_krn_named(s->call, "dim"), indices, grad));
}

/* The gradient of max, min, median and other operators that return the index of the chosen
 * element. */
DECOMP(chosen_backward) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad"),
                 *indices = fnzi_dec_given_array(s, "indices");
  fnzi_krn_array *zeros = fnzi_dec_zeros_of(s, "sizes");
  bool keeps = fnzi_krn_named_bool(s->call, "keepdim", false);
  fnz_arg dim = I(fnzi_dec_given_dim(s, "dim", zeros));
  if (!keeps && fnzi_dec_array_rank(zeros) > 0) {
    grad = STEP(unsqueeze, V(grad), dim);
    indices = STEP(unsqueeze, V(indices), dim);
  }
  fnzi_dec_result_give(s, STEP(scatter__src, V(zeros), dim, V(indices), V(grad)));
}

/* --- By mask ----------------------------------------------------------------------------- */
/* The elements that were written, in order, and zeros behind them. */
DECOMP(masked_scatter_backward) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad_output"),
                 *mask = fnzi_dec_given_array(s, "mask");
  fnzi_krn_array *zeros = fnzi_dec_zeros_of(s, "sizes");
  int64_t room = fnzi_dec_array_numel(zeros);
  if (fnzi_dec_array_dtype(mask) != FNZ_BOOL)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "mask is %s; it must be bool",
                    fnzi_dtype(fnzi_dec_array_dtype(mask))->name);
  fnzi_dec_broadcast_both(s, &grad, &mask);
  int64_t count = fnzi_dec_array_numel(grad);
  grad = RESHAPED(grad, count), mask = RESHAPED(mask, count);
  /* The n-th written element goes to place n, counted from 1; all others to place 0. */
  fnzi_krn_array *places = STEP(cumsum, V(fnzi_dec_cast(s, mask, FNZ_I64)), I(0));
  places = STEP(where__ScalarOther, V(mask), V(places), I(0));
  fnzi_krn_array *all = STEP(new_zeros, V(grad), INTS(room + 1));
  all = fnzi_part(s, STEP(scatter__src, V(all), I(0), V(places), V(grad)), 0, 1, room);
  if (zeros)
    fnzi_dec_result_give(
        s, fnzi_dec_reshaped(s, all, zeros->geometry.sizes, fnzi_dec_array_rank(zeros)));
}

/* Back to the elements under the mask, of the sizes that both were broadcast to. */
DECOMP(masked_select_backward) {
  fnzi_krn_array *input = fnzi_dec_given_array(s, "input"), *mask = fnzi_dec_given_array(s, "mask");
  fnzi_dec_broadcast_both(s, &input, &mask);
  fnzi_krn_array *zeros = STEP(zeros_like, V(input), NONE, NONE, NONE, NONE,
                               (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1});
  fnzi_dec_result_give(s,
                       STEP(masked_scatter, V(zeros), V(mask), V(fnzi_dec_given_array(s, "grad"))));
}

/* --- Along dimensions -------------------------------------------------------------------- */
DECOMP(trace_backward) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad");
  const int64_t *sizes = NULL;
  size_t rank = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "sizes", &sizes, &rank));
  if (rank != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "sizes has %zu numbers; a matrix has 2", rank);
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *one = STEP(eye__m, I(sizes[0]), I(sizes[1]), DTYPE(fnzi_dec_array_dtype(grad)));
  fnzi_dec_result_give(s, MUL(one, grad));
}

static fnzi_krn_array *from_the_end(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim) {
  a = STEP(flip, V(a), INTS(dim));
  return STEP(flip, V(STEP(cumsum, V(a), I(dim))), INTS(dim));
}

static fnzi_krn_array *filled(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *mask,
                              int64_t number) {
  return STEP(masked_fill__Scalar, V(a), V(mask), I(number));
}

/* The gradient of running products, without a division by zero: before the first zero the products
 * divided by the element; at it the products that lack it, up to the next zero; behind it
 * nothing. */
DECOMP(cumprod_backward) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad"), *input = fnzi_dec_given_array(s, "input"),
                 *output = fnzi_dec_given_array(s, "output");
  if (fnzi_dec_array_numel(input) <= 1) {
    fnzi_dec_result_give(s, grad);
    return;
  }
  int64_t dim = fnzi_dec_given_dim(s, "dim", input);
  if (fnzi_dec_array_size(input, dim) == 1) {
    fnzi_dec_result_give(s, grad);
    return;
  }
  if (fnzi_is_complex(fnzi_dec_array_dtype(input))) {
    input = STEP(_conj_physical, V(input));
    output = STEP(_conj_physical, V(output));
  }
  fnzi_krn_array *is_zero = STEP(eq__Scalar, V(input), I(0));
  /* Floats are exact enough: a place has no zero before it, one, or more. */
  fnzi_krn_array *zeros = STEP(cumsum, V(fnzi_dec_cast(s, is_zero, FNZ_F32)), I(dim));
  fnzi_krn_array *some = STEP(ne__Scalar, V(zeros), I(0)),
                 *other = STEP(ne__Scalar, V(zeros), I(1));
  fnzi_krn_array *given = filled(s, input, some, 1);
  fnzi_krn_array *before = DIV(from_the_end(s, filled(s, MUL(output, grad), some, 0), dim), given);
  fnzi_krn_array *not_behind = STEP(logical_or, V(other), V(is_zero));
  fnzi_krn_array *products = STEP(cumprod, V(filled(s, input, not_behind, 1)), I(dim));
  products = MUL(products, filled(s, grad, other, 0));
  fnzi_krn_array *lacking = STEP(sum__dim_IntList, V(products), INTS(dim), B(true));
  lacking = MUL(lacking, STEP(prod__dim_int, V(given), I(dim), B(true)));
  fnzi_krn_array *at = STEP(logical_and, V(is_zero), V(STEP(logical_not, V(other))));
  fnzi_dec_result_give(s, CHOSEN(at, lacking, filled(s, before, some, 0)));
}
