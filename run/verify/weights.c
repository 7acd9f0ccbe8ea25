/* weights.c - compares the numbers in the weights of two programs, which hashes do not show.
 *
 * needs   two programs that are equal for all values; weights of one name belong together
 * gives   the count of compared weights, and a message that names weights that differ, with counts
 *         of different elements and the greatest difference */
#include "run/run.h"
#include "run/verify/verify.h"

#include <math.h>
#include <stdio.h>

enum { REST = 180 }; /* room of a message without the names of weights */

typedef struct gap {
  size_t elements; /* with different bits */
  double apart;    /* the largest distance; infinite where one is NaN, below 0: not known */
} gap;

typedef struct words {
  fnz_buffer text;
  bool left_out; /* for lack of room */
} words;

/* --- one weight ------------------------------------------------------------------------------- */
/* Narrower floats have several formats, which only kernels know. Columns: dtype, bytes of a real
 * number, bits of its exponent and mantissa. */
static const struct {
  fnz_dtype dtype;
  size_t bytes;
  int exponent, mantissa;
} floats[] = {
    {FNZ_F16, 2, 5, 10}, {FNZ_BF16, 2, 8, 7}, {FNZ_F32, 4, 8, 23},   {FNZ_F64, 8, 11, 52},
    {FNZ_C32, 2, 5, 10}, {FNZ_C64, 4, 8, 23}, {FNZ_C128, 8, 11, 52},
};

static double real_number(uint64_t bits, int exponent_bits, int mantissa) {
  uint64_t fraction = bits & ((UINT64_C(1) << mantissa) - 1);
  int most = (1 << exponent_bits) - 1, exponent = (int)(bits >> mantissa) & most;
  double sign = bits >> (exponent_bits + mantissa) & 1 ? -1 : 1;
  if (exponent == most)
    return fraction ? NAN : sign * INFINITY;
  fraction |= exponent ? UINT64_C(1) << mantissa : 0;
  return sign * ldexp((double)fraction, (exponent ? exponent : 1) - most / 2 - mantissa);
}

static uint64_t bits_of(const unsigned char *bytes, size_t size) {
  uint64_t bits = 0;
  for (size_t i = 0; i < size; i++)
    bits |= (uint64_t)bytes[i] << 8 * i;
  return bits;
}

static double whole_number(const fnz_dtype_info *info, const unsigned char *bytes) {
  uint64_t bits = bits_of(bytes, info->bytes), sign = UINT64_C(1) << (8 * info->bytes - 1);
  return info->category == 'i' ? (double)(int64_t)((bits ^ sign) - sign) : (double)bits;
}

/* Below 0 when it is not known. */
static double distance(fnz_dtype dtype, const unsigned char *a, const unsigned char *b) {
  const fnz_dtype_info *info = fnzi_dtype(dtype);
  double sum = -1;
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    for (size_t at = 0; floats[i].dtype == dtype && at < info->bytes; at += floats[i].bytes) {
      double d =
          real_number(bits_of(a + at, floats[i].bytes), floats[i].exponent, floats[i].mantissa) -
          real_number(bits_of(b + at, floats[i].bytes), floats[i].exponent, floats[i].mantissa);
      sum = hypot(sum < 0 ? 0 : sum, isnan(d) ? INFINITY : d);
    }
  if (strchr("iub", info->category) != NULL && info->bytes <= 8)
    sum = fabs(whole_number(info, a) - whole_number(info, b));
  return sum;
}

static void measure(fnz_dtype dtype, const unsigned char *a, const unsigned char *b, size_t bytes,
                    gap *out) {
  size_t item = fnzi_dtype(dtype)->bytes;
  *out = (gap){0, -1};
  for (size_t at = 0; at < bytes; at += item) {
    if (memcmp(a + at, b + at, item) == 0)
      continue;
    out->elements++;
    out->apart = fmax(out->apart, distance(dtype, a + at, b + at));
  }
}

static const unsigned char *elements_of(const fnzi_weight *w) {
  const unsigned char *data = fnzi_blob_data(w->blob);
  return data + (size_t)w->geometry->offset * fnzi_dtype(w->geometry->dtype)->bytes;
}

static fnz_status find_gap_of_windows(fnz_context *ctx, const fnzi_weight *a, const fnzi_weight *b,
                                      size_t bytes, gap *out) {
  size_t item = fnzi_dtype(a->geometry->dtype)->bytes, both;
  if (!fnzi_mul_size(bytes, 2, &both))
    return fnzi_no_memory(ctx);
  unsigned char *dense = fnzi_resize(ctx, NULL, 0, both);
  if (dense == NULL)
    return fnzi_no_memory(ctx);
  fnzi_run_gather(a->geometry, fnzi_blob_data(a->blob), item, dense);
  fnzi_run_gather(b->geometry, fnzi_blob_data(b->blob), item, dense + bytes);
  measure(a->geometry->dtype, dense, dense + bytes, bytes, out);
  fnzi_free(ctx, dense, both);
  return FNZ_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */
/* "fc.weight: 3 of 12 elements, up to 0.5 apart" */
static fnz_status put_gap(fnz_context *ctx, const fnzi_weight *a, const fnzi_weight *b,
                          const gap *found, bool is_alike, fnz_buffer *out) {
  char one[FNZI_SHAPE_TEXT], other[FNZI_SHAPE_TEXT];
  FNZ_TRY(fnzi_printf(ctx, out, "%s%s: ", out->size ? "; " : "", a->name));
  fnzi_shape_text(a->geometry, one);
  fnzi_shape_text(b->geometry, other);
  if (!is_alike)
    return fnzi_printf(ctx, out, "%s and %s", one, other);
  FNZ_TRY(fnzi_printf(ctx, out, "%zu of %lld elements", found->elements,
                      (long long)fnz_geometry_numel(a->geometry)));
  return found->apart < 0 ? FNZ_OK : fnzi_printf(ctx, out, ", up to %.6g apart", found->apart);
}

static fnz_status weights_compare_one(fnz_context *ctx, const fnzi_weight *a, const fnzi_weight *b,
                                      fnz_verify_report *report, words *said) {
  gap found = {0, -1};
  bool is_alike =
      a->geometry->dtype == b->geometry->dtype && fnzi_same_sizes(a->geometry, b->geometry);
  if (a->blob == NULL || b->blob == NULL)
    return report->weights_without++, FNZ_OK;
  report->weights++;
  if (is_alike) {
    /* `a` and `b` have the same dtype and sizes. */
    size_t item = fnzi_dtype(a->geometry->dtype)->bytes, bytes;
    if (!fnzi_mul_size((size_t)fnz_geometry_numel(a->geometry), item, &bytes))
      return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, a->name, "the bytes of a tensor leave 64 bits");
    if (bytes != 0 && (a->blob != b->blob || !fnzi_geometry_equal(a->geometry, b->geometry))) {
      if (!fnzi_is_contiguous(a->geometry) || !fnzi_is_contiguous(b->geometry))
        FNZ_TRY(find_gap_of_windows(ctx, a, b, bytes, &found));
      else if (memcmp(elements_of(a), elements_of(b), bytes) != 0)
        measure(a->geometry->dtype, elements_of(a), elements_of(b), bytes, &found);
    }
  }
  if (is_alike && found.elements == 0)
    return FNZ_OK;
  report->weights_differing++;
  bool fits = said->text.size + strlen(a->name) + REST <= sizeof(((fnz_error *)0)->message);
  said->left_out = said->left_out || (said->text.size && !fits);
  return said->left_out ? FNZ_OK : put_gap(ctx, a, b, &found, is_alike, &said->text);
}

fnz_status fnzi_ver_weights(fnz_context *ctx, const fnz_program *a, const fnz_program *b,
                            fnz_verify_report *report) {
  words said = {.left_out = false};
  /* A memory of several weights is filled from these. */
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < a->weights.count && status == FNZ_OK; i++) {
    const fnzi_weight *one = &a->weights.data[i], *other = fnzi_weight_find(b, one->name);
    if (other != NULL && !fnzi_run_is_whole_memory(a, one->name))
      status = weights_compare_one(ctx, one, other, report, &said);
  }
  if (status == FNZ_OK && report->weights_differing)
    status =
        fnzi_fail(ctx, FNZ_CLASS_DIFFERENT, "",
                  "%zu of %zu weights differ, the programs do not (see --ignore-weights): %s%s",
                  report->weights_differing, report->weights, said.text.data,
                  said.left_out ? "; and others" : "");
  fnz_buffer_free(ctx, &said.text);
  return status;
}
