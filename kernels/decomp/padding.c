/* padding.c - pad by its mode: a constant, the elements mirrored at the edge (reflect), the edge
 * element (replicate), or the elements of the other end (circular). Operators of their own compute
 * the first three. */
#include "kernels/decomp/decomp.h"

typedef struct padding {
  const int64_t *pads; /* before and after, the last dimension first */
  size_t dims;         /* padded dimensions */
} padding;

static padding given_padding(fnzi_dec_steps *s, fnzi_krn_array *a) {
  padding p = {NULL, 0};
  size_t count = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "pad", &p.pads, &count));
  if (count % 2 || count / 2 > fnzi_dec_array_rank(a))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "%zu pads for a tensor of %u dimensions; give two for each dimension to pad",
                    count, fnzi_dec_array_rank(a));
  p.dims = s->status == FNZ_OK ? count / 2 : 0;
  return p;
}

static void give_constant(fnzi_dec_steps *s, fnzi_krn_array *a, padding p) {
  double value = fnzi_krn_named_float(s->call, "value", 0);
  fnzi_dec_result_give(s,
                       STEP(constant_pad_nd, V(a), fnzi_dec_ints(s, p.pads, 2 * p.dims), F(value)));
}

/* --- Images: the last 1 to 3 dimensions are padded, not channels and batch ---------------- */
static bool is_image(fnzi_dec_steps *s, const fnzi_krn_array *a, padding p, const char *mode) {
  bool fits =
      p.dims > 0 && (fnzi_dec_array_rank(a) == p.dims + 1 || fnzi_dec_array_rank(a) == p.dims + 2);
  if (!fits)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "mode %s pads %zu of %u dimensions; it must be all except the first one or two",
                    mode, p.dims, fnzi_dec_array_rank(a));
  return s->status == FNZ_OK;
}

static void give_image(fnzi_dec_steps *s, fnzi_krn_array *a, padding p, const size_t *ops,
                       const char *mode) {
  if (!is_image(s, a, p, mode))
    return;
  if (p.dims > 3) {
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "mode %s pads %zu dimensions; it takes 1, 2 or 3", mode,
                    p.dims);
    return;
  }
  const fnz_arg args[] = {V(a), fnzi_dec_ints(s, p.pads, 2 * p.dims)};
  fnzi_dec_result_give(s, fnzi_dec_step(s, ops[p.dims - 1], args, 2));
}

/* --- Circular ---------------------------------------------------------------------------- */
/* Negative pads cut off elements first. Positive pads then repeat elements of the other end, each
 * at most once. */
static fnzi_krn_array *padding_cut(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim,
                                   const int64_t *pads) {
  int64_t size = fnzi_dec_array_size(a, dim), before = pads[0] < 0 ? 0 : pads[0];
  int64_t after = pads[1] < 0 ? 0 : pads[1], left;
  bool fits = fnzi_add_i64(size, before ? 0 : pads[0], &left) &&
              fnzi_add_i64(left, after ? 0 : pads[1], &left);
  if (!fits || left < 0 || before > left || after > left)
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "padding (%lld, %lld) of dimension %lld, whose size is %lld, goes round more than once",
        (long long)pads[0], (long long)pads[1], (long long)dim, (long long)size);
  if (s->status != FNZ_OK || left == size)
    return a;
  return fnzi_part(s, a, dim, before ? 0 : -pads[0], left);
}

/* `count` places from `to` on are those from `from` on. */
static fnzi_krn_array *padding_repeated(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim,
                                        int64_t to, int64_t from, int64_t count) {
  return STEP(slice_scatter, V(a), V(fnzi_part(s, a, dim, from, count)), I(dim), I(to),
              I(to + count));
}

/* Zeros are padded first and written over where they lie, so that elements are copied once. */
static void give_wrapped(fnzi_dec_steps *s, fnzi_krn_array *a, padding p) {
  int64_t pads[2 * FNZ_MAX_RANK], last = (int64_t)fnzi_dec_array_rank(a) - 1;
  if (!is_image(s, a, p, "circular"))
    return;
  for (size_t i = 0; i < p.dims; i++)
    a = padding_cut(s, a, last - (int64_t)i, p.pads + 2 * i);
  for (size_t i = 0; i < 2 * p.dims; i++)
    pads[i] = p.pads[i] < 0 ? 0 : p.pads[i];
  a = STEP(constant_pad_nd, V(a), fnzi_dec_ints(s, pads, 2 * p.dims));
  for (size_t i = 0; i < p.dims; i++) {
    int64_t dim = last - (int64_t)i, before = pads[2 * i], after = pads[2 * i + 1];
    int64_t left = fnzi_dec_array_size(a, dim) - before - after;
    if (before)
      a = padding_repeated(s, a, dim, 0, left, before);
    if (after)
      a = padding_repeated(s, a, dim, before + left, before, after);
  }
  fnzi_dec_result_give(s, a);
}

/* --- The operators ----------------------------------------------------------------------- */
static const size_t reflection[] = {FNZI_ATEN_reflection_pad1d, FNZI_ATEN_reflection_pad2d,
                                    FNZI_ATEN_reflection_pad3d},
                    replication[] = {FNZI_ATEN_replication_pad1d, FNZI_ATEN_replication_pad2d,
                                     FNZI_ATEN_replication_pad3d};

DECOMP(pad_by_mode) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  const char *mode = fnzi_krn_named_string(s->call, "mode");
  padding p = given_padding(s, a);
  if (!*mode || strcmp(mode, "constant") == 0)
    give_constant(s, a, p);
  else if (strcmp(mode, "reflect") == 0)
    give_image(s, a, p, reflection, mode);
  else if (strcmp(mode, "replicate") == 0)
    give_image(s, a, p, replication, mode);
  else if (strcmp(mode, "circular") == 0)
    give_wrapped(s, a, p);
  else
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                    "mode is %s; it must be constant, reflect, replicate or circular", mode);
}

/* The same with the mode as a number. */
DECOMP(pad_by_number) {
  enum { REFLECT, REPLICATE, CIRCULAR, CONSTANT };
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  int64_t mode = fnzi_krn_named_int(s->call, "mode", CONSTANT);
  padding p = given_padding(s, a);
  if (mode == CONSTANT)
    give_constant(s, a, p);
  else if (mode == REFLECT)
    give_image(s, a, p, reflection, "reflect");
  else if (mode == REPLICATE)
    give_image(s, a, p, replication, "replicate");
  else if (mode == CIRCULAR)
    give_wrapped(s, a, p);
  else
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT, "mode is %lld; it must be 0 to 3", (long long)mode);
}

DECOMP(pad_circular) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  give_wrapped(s, a, given_padding(s, a));
}
