/* where.c - where and masked_fill: every element is one of two operands' as it is, bit for bit.
 * Operands of another type are converted before; nothing is computed. */
#include "kernels/core/convert.h"
#include "kernels/cpu/cpu.h"
#include "kernels/core/float8.h"

/* Operands of the loop: the mask, the value where it is true, and the value where it is not. */
enum { MASK, YES, NO, OPERANDS };

typedef struct choice {
  fnzi_krn_window operands[OPERANDS];
  _Alignas(8) unsigned char numbers[OPERANDS][16];
} choice;

static void choose_row(const void *user, char *const *data, const int64_t *strides, int64_t count) {
  const size_t *cell = user;
  fnzi_krn_choice c = {.to = data[0], .mask = data[1], .yes = data[2], .no = data[3]};
  memcpy(c.strides, strides, sizeof c.strides);
  fnzi_krn_choose_row(&c, *cell, count);
}

/* The elements of a tensor as `dtype`, or a number. */
static fnz_status where_add_operand(fnzi_krn_call *call, const fnz_arg *arg, fnz_dtype dtype,
                                    size_t k, choice *c) {
  const fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  fnzi_krn_window *w = &c->operands[k];
  const void *data;
  if (!a) {
    fnzi_krn_window_number(arg, dtype, c->numbers[k], w);
    return FNZ_OK;
  }
  fnzi_krn_window_of(a, w);
  if (a->window.dtype == dtype)
    return FNZ_OK;
  if (fnzi_krn_is_float8(a->window.dtype) || fnzi_krn_is_float8(dtype)) /* eager promotes none */
    return fnzi_krn_refuse_conversion(call, dtype, a->window.dtype);
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, dtype, &data));
  fnzi_krn_window_dense(w, dtype, a->window.rank, a->window.sizes, data);
  return FNZ_OK;
}

static fnz_status where_choose(fnzi_krn_call *call, const choice *c) {
  fnzi_krn_window to;
  fnzi_krn_loop loop;
  fnzi_krn_window_of(call->outputs[0], &to);
  for (size_t k = YES; k < OPERANDS; k++)
    if (c->operands[k].dtype != to.dtype) /* a number that there is none of in this type */
      return fnzi_krn_refuse_conversion(call, to.dtype, c->operands[k].dtype);
  fnzi_krn_loop_start(&loop, to.rank, to.sizes);
  fnzi_krn_loop_add_window(&loop, &to);
  for (size_t k = 0; k < OPERANDS; k++)
    fnzi_krn_loop_add_window(&loop, &c->operands[k]);
  fnzi_krn_loop_run(&loop, choose_row, &to.cell, call->team, false);
  return FNZ_OK;
}

fnz_status fnzi_kernel_where(fnzi_krn_call *call) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  choice c;
  FNZ_TRY(where_add_operand(call, &call->args[0], FNZ_BOOL, MASK, &c));
  FNZ_TRY(where_add_operand(call, &call->args[1], dtype, YES, &c));
  FNZ_TRY(where_add_operand(call, &call->args[2], dtype, NO, &c));
  return where_choose(call, &c);
}

fnz_status fnzi_kernel_masked_fill(fnzi_krn_call *call) {
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  choice c;
  FNZ_TRY(where_add_operand(call, &call->args[0], dtype, NO, &c));
  FNZ_TRY(where_add_operand(call, &call->args[1], FNZ_BOOL, MASK, &c));
  FNZ_TRY(fnzi_krn_window_item(call, &call->args[2], dtype, c.numbers[YES], &c.operands[YES]));
  return where_choose(call, &c);
}
