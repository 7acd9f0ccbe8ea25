/* constants.c - operators whose result is one number everywhere: the same number in the same dtype
 * has the same hash, whichever operator wrote it. */
#include "kernels/hash/hash.h"
#include "schema/aten_names.h"

/* --- Numbers ---------------------------------------------------------------------------------- */

static double as_double(const fnz_arg *n) {
  return n->tag == FNZ_ARG_FLOAT ? n->u.f : (double)n->u.i;
}

static uint64_t float_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* The value of a number in a dtype: 0.0 and 0 are the same f32, 2 and 1 the same bool. */
static uint64_t number_bits(const fnz_arg *n, fnz_dtype dtype) {
  if (dtype == FNZ_BOOL)
    return as_double(n) != 0;
  if (!fnzi_is_integer(dtype))
    return float_bits(as_double(n));
  if (n->tag != FNZ_ARG_FLOAT)
    return (uint64_t)n->u.i;
  bool fits = n->u.f > -9.2e18 && n->u.f < 9.2e18;
  return fits ? (uint64_t)(int64_t)n->u.f : float_bits(n->u.f);
}

void fnzi_hash_number(const fnzi_hash_backend *hasher, const fnz_arg *number, fnz_dtype dtype,
                      fnzi_cell *out) {
  const fnz_arg zero = {.tag = FNZ_ARG_FLOAT};
  bool complex = number->tag == FNZ_ARG_COMPLEX;
  const fnz_arg *real = complex ? &number->u.list[0] : number;
  const fnz_arg *imag = complex ? &number->u.list[1] : &zero;
  uint64_t h = fnzi_hash_combine(hasher->seed ^ 0x636f6e73, dtype);
  size_t count = fnzi_hash_unit(hasher, dtype);
  h = fnzi_hash_combine(h, number_bits(real, dtype));
  if (complex || fnzi_is_complex(dtype))
    h = fnzi_hash_combine(h, number_bits(imag, dtype));
  for (size_t j = 0; j < count; j++)
    out[j] = (fnzi_cell){h, j};
}

/* --- Operators -------------------------------------------------------------------------------- */

/* Columns: operator; the parameter that is the number, or NULL for the number beside it; whether
 * the result looks like the first argument when nothing else says how. */
static const struct {
  uint16_t op;
  const char *number;
  int64_t fixed;
  bool like;
} rows[] = {
    {FNZI_ATEN_fill__Scalar, "value", 0, true},
    {FNZI_ATEN_full, "fill_value", 0, false},
    {FNZI_ATEN_full_like, "fill_value", 0, true},
    {FNZI_ATEN_new_full, "fill_value", 0, false},
    {FNZI_ATEN_scalar_tensor, "s", 0, false},
    {FNZI_ATEN_zero, NULL, 0, true},
    {FNZI_ATEN_zeros, NULL, 0, false},
    {FNZI_ATEN_zeros_like, NULL, 0, true},
    {FNZI_ATEN_new_zeros, NULL, 0, false},
    {FNZI_ATEN_ones, NULL, 1, false},
    {FNZI_ATEN_ones_like, NULL, 1, true},
    {FNZI_ATEN_new_ones, NULL, 1, false},
    {FNZI_ATEN_empty__memory_format, NULL, 0, false},
    {FNZI_ATEN_empty_like, NULL, 0, true},
    {FNZI_ATEN_empty_strided, NULL, 0, false},
    {FNZI_ATEN_empty_permuted, NULL, 0, false},
    {FNZI_ATEN_new_empty, NULL, 0, false},
    {FNZI_ATEN_new_empty_strided, NULL, 0, false},
};

fnz_status fnzi_hash_constant(fnzi_hash_call *h, bool *done) {
  const uint16_t place = fnzi_op_place(h->op);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].op != place)
      continue;
    fnz_arg number = {.tag = FNZ_ARG_INT, .u.i = rows[i].fixed};
    int at = rows[i].number == NULL ? -1 : fnzi_op_param(h->op, rows[i].number);
    if (at >= 0)
      number = h->args[at];
    *done = number.tag != FNZ_ARG_VALUE;
    if (!*done)
      return FNZ_OK;
    fnzi_hash_value *self = NULL, *out;
    fnzi_cell cells[16];
    if (rows[i].like)
      FNZ_TRY(fnzi_hash_input(h, 0, &self));
    FNZ_TRY(fnzi_hash_result(h, self == NULL ? NULL : &self->g, &out));
    fnzi_hash_number(h->hasher, &number, out->g.dtype, cells);
    for (size_t k = 0; k < out->ncells; k += out->unit)
      memcpy(out->cells + k, cells, out->unit * sizeof *cells);
    return FNZ_OK;
  }
  *done = false;
  return FNZ_OK;
}
