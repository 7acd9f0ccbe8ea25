/* grouped_mm.c - a matrix product for each group. An operand of three dimensions has a matrix for
 * each group. In an operand of two dimensions, group g is the part from offs[g - 1] to offs[g]. */
#include "kernels/decomp/decomp.h"

typedef struct groups {
  fnzi_krn_array *a, *b;
  int64_t count;       /* groups */
  int64_t size;        /* of the dimension that offs divides */
  const int64_t *ends; /* offs as i64; NULL without data */
} groups;

/* Returns whether the operand has a matrix for each group. */
static bool is_many(const fnzi_krn_array *a) {
  return fnzi_dec_array_rank(a) == 3;
}

/* Reads and checks offs; NULL without data. */
static const int64_t *ends_of(fnzi_dec_steps *s, const groups *g, fnzi_krn_array *offs) {
  const void *data = NULL;
  if (s->status == FNZ_OK && fnzi_dec_array_dtype(offs) != FNZ_I32 &&
      fnzi_dec_array_dtype(offs) != FNZ_I64)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "offs is %s; it must be i32",
                    fnzi_dtype(fnzi_dec_array_dtype(offs))->name);
  offs = fnzi_dec_cast(s, offs, FNZ_I64);
  if (fnzi_dec_can_look(s))
    s->status = fnzi_krn_dense_get(s->call, offs, &data);
  const int64_t *ends = s->status == FNZ_OK ? data : NULL;
  for (int64_t i = 0; ends && i < g->count; i++)
    if (ends[i] < (i ? ends[i - 1] : 0) || ends[i] > g->size)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      "offs[%lld] is %lld; offsets must neither decrease nor exceed %lld",
                      (long long)i, (long long)ends[i], (long long)g->size);
  return ends;
}

static void check_dtype(fnzi_dec_steps *s, const char *name) {
  fnz_dtype dtype = fnzi_dec_array_dtype(fnzi_dec_given_array(s, name));
  if (dtype != FNZ_F32 && dtype != FNZ_BF16 && dtype != FNZ_F16)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is %s; it must be f32, bf16 or f16", name,
                    fnzi_dtype(dtype)->name);
}

static groups check_operands(fnzi_dec_steps *s) {
  fnzi_krn_array *offs = fnzi_dec_given_array(s, "offs");
  groups g = {.a = fnzi_dec_given_array(s, "self"), .b = fnzi_dec_given_array(s, "mat2")};
  check_dtype(s, "self");
  check_dtype(s, "mat2");
  if ((fnzi_dec_array_rank(g.a) != 2 && !is_many(g.a)) ||
      (fnzi_dec_array_rank(g.b) != 2 && !is_many(g.b)))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "the operands have %u and %u dimensions; each must have 2 or 3",
                    fnzi_dec_array_rank(g.a), fnzi_dec_array_rank(g.b));
  if (fnzi_dec_given_array(s, "bias"))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "no bias can be added; add it to the product");
  if ((offs != NULL) == (is_many(g.a) && is_many(g.b)))
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                    "offs is needed if an operand has 2 dimensions, and refused if both have 3");
  g.count = is_many(g.a)   ? fnzi_dec_array_size(g.a, 0)
            : is_many(g.b) ? fnzi_dec_array_size(g.b, 0)
                           : fnzi_dec_array_numel(offs);
  g.size =
      is_many(g.a) ? fnzi_dec_array_size(g.b, 1) : fnzi_dec_array_size(g.a, is_many(g.b) ? 0 : 1);
  if (offs && (fnzi_dec_array_rank(offs) != 1 || fnzi_dec_array_numel(offs) != g.count))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "offs has %lld elements for %lld groups",
                    (long long)fnzi_dec_array_numel(offs), (long long)g.count);
  g.ends = offs ? ends_of(s, &g, offs) : NULL;
  return g;
}

static fnzi_krn_array *empty_like_product(fnzi_dec_steps *s, const groups *g) {
  const int64_t rows = fnzi_dec_array_size(g->a, -2), columns = fnzi_dec_array_size(g->b, -1);
  bool each = !is_many(g->a) && !is_many(g->b);
  return STEP(zeros, each ? INTS(g->count, rows, columns) : INTS(rows, columns),
              DTYPE(fnzi_dec_array_dtype(g->a)));
}

DECOMP(grouped_mm) {
  const groups g = check_operands(s);
  bool both = is_many(g.a) && is_many(g.b), neither = !is_many(g.a) && !is_many(g.b);
  fnzi_krn_array **products =
      s->status == FNZ_OK && g.ends ? fnzi_dec_arrays_room(s, (size_t)g.count + 1) : NULL;
  for (int64_t i = 0; products && i < g.count; i++) {
    const int64_t start = i ? g.ends[i - 1] : 0, count = g.ends[i] - start;
    fnzi_krn_array *a = is_many(g.a) ? STEP(select__int, V(g.a), I(0), I(i))
                                     : fnzi_part(s, g.a, !is_many(g.b), start, count);
    fnzi_krn_array *b = is_many(g.b) ? STEP(select__int, V(g.b), I(0), I(i))
                                     : fnzi_part(s, g.b, is_many(g.a), start, count);
    products[i] = STEP(mm, V(a), V(b));
  }
  if (products && !neither) {
    /* Rows after the last group are zero: eager leaves them uninitialised. */
    const int64_t rest = g.size - (g.count ? g.ends[g.count - 1] : 0);
    fnz_arg sizes = is_many(g.b) ? INTS(rest, fnzi_dec_array_size(g.b, 2))
                                 : INTS(fnzi_dec_array_size(g.a, 1), rest);
    products[g.count] = STEP(zeros, sizes, DTYPE(fnzi_dec_array_dtype(g.a)));
  }
  if (both)
    fnzi_dec_result_give(s, STEP(bmm, V(g.a), V(g.b)));
  else if (!products || (neither && !g.count))
    fnzi_dec_result_give(s, empty_like_product(s, &g));
  else if (neither)
    fnzi_dec_result_give(s, STEP(stack, fnzi_dec_values(s, products, (size_t)g.count)));
  else
    fnzi_dec_result_give(s, fnzi_dec_cat(s, products, (size_t)g.count + 1, is_many(g.a)));
}
