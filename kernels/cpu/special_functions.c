/* special_functions.c - the functions that special_functions.def names: incomplete
 * gamma functions, Bessel functions, scaled error functions and the normal distribution's. */
#define _XOPEN_SOURCE 700 /* j0 and its kin */
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/recording.h"

#include <math.h>

#define VALUE static
#include "kernels/cpu/special_functions_values.h"
#undef VALUE

/* --- Kernels ----------------------------------------------------------------------------- */
static const struct function {
  const char *op;
  double (*of_one)(double x);
  double (*of_two)(double a, double x);
} functions[] = {
#define OF_ONE(op, function) {#op, function, NULL},
#define OF_TWO(op, function) {#op, NULL, function},
#include "kernels/special_functions.def"
};

static const struct function *special_function_of(const fnz_op *op) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (strcmp(functions[i].op, fnzi_op_canonical(op)->base) == 0)
      return &functions[i];
  return NULL;
}

/* The formula of the function, recorded. */
static fnz_status special_record(fnzi_krn_call *call, const char *name, const fnzi_cpu_reals *a,
                                 const fnzi_cpu_reals *x, const fnzi_cpu_reals_out *y) {
  int64_t count = fnzi_krn_array_numel(call->outputs[0]);
  fnzi_cpu_recording t = {.f = {.nwindows = 0}};
  fnzi_cpu_record_reals(&t, a, count);
  fnzi_cpu_record_reals(&t, fnzi_cpu_reals_present(x) ? x : a, count);
  fnzi_cpu_record_reals_out(&t, y, count);
  return fnzi_cpu_record(call, &t, name, count);
}

fnz_status fnzi_kernel_special_function(fnzi_krn_call *call) {
  const struct function *f = special_function_of(call->op);
  const fnz_geometry *out = &call->outputs[0]->geometry;
  fnz_dtype dtype = fnzi_cpu_real_dtype(out->dtype);
  fnzi_cpu_reals a, x = {NULL, NULL};
  fnzi_cpu_reals_out y;
  FNZ_TRY(fnzi_cpu_reals_expand(call, fnzi_krn_call_input(call, 0), dtype, out, &a));
  if (f->of_two)
    FNZ_TRY(fnzi_cpu_reals_expand(call, fnzi_krn_call_input(call, 1), dtype, out, &x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  if (call->record)
    return special_record(call, f->op, &a, &x, &y);
  const int64_t count = fnz_geometry_numel(out);
  for (int64_t i = 0; i < count; i++)
    fnzi_cpu_real_put(&y, i,
                      f->of_two ? f->of_two(fnzi_cpu_real_at(&a, i), fnzi_cpu_real_at(&x, i))
                                : f->of_one(fnzi_cpu_real_at(&a, i)));
  return FNZ_OK;
}
