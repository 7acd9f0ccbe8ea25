/* random_integers.c - random integers and permutations, in any type that holds them. */
#include "kernels/cpu/random.h"

#include <math.h>

typedef struct integers {
  uint64_t range; /* 0: all 64 bits */
  int64_t base;
  bool is_long; /* each takes two words */
} integers;

static void draw_integers(const void *law, fnz_generator *g, int64_t count, void *out) {
  const integers *n = law;
  int64_t *to = out;
  for (int64_t i = 0; i < count; i++) {
    uint64_t v = n->is_long ? fnzi_generator_draw_long(g) : fnzi_generator_draw(g);
    to[i] = (int64_t)((n->range ? v % n->range : v) + (uint64_t)n->base);
  }
}

/* --- What a type holds ------------------------------------------------------------------------ */
static int digits_of(fnz_dtype dtype) {
  switch (dtype) {
  case FNZ_F16:
    return 11;
  case FNZ_BF16:
    return 8;
  case FNZ_F32:
    return 24;
  case FNZ_F64:
    return 53;
  default:
    return 0;
  }
}

static int64_t least_of(fnz_dtype dtype) {
  switch (dtype) {
  case FNZ_I8:
    return INT8_MIN;
  case FNZ_I16:
    return INT16_MIN;
  case FNZ_I32:
    return INT32_MIN;
  case FNZ_I64:
  case FNZ_BF16:
  case FNZ_F32:
  case FNZ_F64:
    return INT64_MIN;
  case FNZ_F16:
    return -65504;
  default:
    return 0;
  }
}

static int64_t most_of(fnz_dtype dtype) {
  switch (dtype) {
  case FNZ_BOOL:
    return 1;
  case FNZ_U8:
    return UINT8_MAX;
  case FNZ_I8:
    return INT8_MAX;
  case FNZ_U16:
    return UINT16_MAX;
  case FNZ_I16:
    return INT16_MAX;
  case FNZ_U32:
    return UINT32_MAX;
  case FNZ_I32:
    return INT32_MAX;
  case FNZ_F16:
    return 65504;
  case FNZ_U64:
  case FNZ_I64:
  case FNZ_BF16:
  case FNZ_F32:
  case FNZ_F64:
    return INT64_MAX;
  default:
    return -1; /* no numbers are drawn in it */
  }
}

static int64_t as_held(fnz_dtype dtype, int64_t v) {
  unsigned char cell[16];
  double d;
  fnzi_krn_convert(dtype, cell, 0, FNZ_I64, &v, 0, 1);
  fnzi_krn_convert(FNZ_F64, &d, 0, dtype, cell, 0, 1);
  return d < -0x1p63 ? INT64_MIN : d >= 0x1p63 ? INT64_MAX : (int64_t)d;
}

static int log2_of(int64_t v) {
  int n = 0;
  for (uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v; left >>= 1;)
    n++;
  return n;
}

/* The distance of neighbours near a number. */
static int64_t gap_at(fnz_dtype dtype, int64_t v) {
  int n = log2_of(v) - digits_of(dtype) + 1;
  return n > 0 ? (int64_t)1 << n : 1;
}

/* Ends that stay within the range when a float rounds what lies between them. */
static void move_ends(fnz_dtype dtype, int64_t *from, int64_t *to) {
  if (*from < INT64_MAX && as_held(dtype, *from + 1) < *from)
    *from = as_held(dtype, *from + 1) + gap_at(dtype, *from + 1);
  if (*to > INT64_MIN && as_held(dtype, *to - 1) >= *to)
    *to = as_held(dtype, *to - 1) - gap_at(dtype, *to - 1);
}

static fnz_status check_ends(const fnzi_krn_call *call, fnz_dtype dtype, int64_t from,
                             int64_t last) {
  if (from <= last && from >= least_of(dtype) && last <= most_of(dtype))
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                              "there are no numbers of %s from %lld to %lld; give an end above the "
                              "start, and both such as the type holds",
                              fnzi_dtype(dtype)->name, (long long)from, (long long)last);
}

static fnz_status draw_from(fnzi_krn_call *call, int64_t from, int64_t last) {
  const fnz_dtype dtype = call->outputs[0]->geometry.dtype;
  FNZ_TRY(check_ends(call, dtype, from, last));
  const uint64_t range = (uint64_t)last - (uint64_t)from + 1;
  const integers law = {range, from, range >= UINT64_C(1) << 28 || range == 0};
  return fnzi_cpu_draw_result(call, 0, FNZ_I64, draw_integers, &law);
}

static fnz_status draw_between(fnzi_krn_call *call, int64_t from, int64_t to) {
  const fnz_dtype dtype = call->outputs[0]->geometry.dtype;
  if (from >= to)
    return check_ends(call, dtype, from, to - (to > INT64_MIN));
  if (digits_of(dtype))
    move_ends(dtype, &from, &to);
  return draw_from(call, from, to - 1);
}

/* A number, or a tensor that holds one. */
static fnz_status read_end(fnzi_krn_call *call, const char *name, int64_t *out) {
  const fnzi_krn_array *a = fnzi_krn_named_array(call, name);
  const void *cells;
  *out = a ? 0 : fnzi_krn_named_int(call, name, 0);
  if (!a)
    return FNZ_OK;
  if (fnzi_krn_array_numel(a) != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s has %lld elements; it must have one",
                                name, (long long)fnzi_krn_array_numel(a));
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, FNZ_I64, &cells));
  memcpy(out, cells, sizeof *out);
  return FNZ_OK;
}

/* randint and randint_like. */
fnz_status fnzi_kernel_randint(fnzi_krn_call *call) {
  int64_t high;
  FNZ_TRY(read_end(call, "high", &high));
  return draw_between(call, fnzi_krn_named_int(call, "low", 0), high);
}

/* Without ends: what the type holds from 0 on. */
static fnz_status draw_all(fnzi_krn_call *call) {
  const fnz_dtype dtype = call->outputs[0]->geometry.dtype;
  const int digits = digits_of(dtype);
  if (most_of(dtype) < 0)
    return check_ends(call, dtype, 0, -1);
  const uint64_t last = digits ? UINT64_C(1) << digits : (uint64_t)most_of(dtype);
  const integers law = {last + 1, 0, dtype == FNZ_I64 || dtype == FNZ_F64};
  return fnzi_cpu_draw_result(call, 0, FNZ_I64, draw_integers, &law);
}

/* From a start on, to what the type holds; from the least integer, all of 64 bits. */
static fnz_status draw_on(fnzi_krn_call *call, int64_t from) {
  const fnz_dtype dtype = call->outputs[0]->geometry.dtype;
  const int digits = digits_of(dtype);
  int64_t last = digits ? (int64_t)1 << digits : most_of(dtype), none = 0;
  if (from == INT64_MIN) {
    const integers law = {0, 0, true};
    FNZ_TRY(check_ends(call, dtype, from, INT64_MAX));
    return fnzi_cpu_draw_result(call, 0, FNZ_I64, draw_integers, &law);
  }
  if (digits)
    move_ends(dtype, &from, &none);
  return draw_from(call, from, last);
}

/* random, random.from, random.to. */
fnz_status fnzi_kernel_random(fnzi_krn_call *call) {
  const fnz_arg *from = fnzi_krn_named(call, "from"), *to = fnzi_krn_named(call, "to");
  const int64_t start = fnzi_krn_named_int(call, "from", 0);
  if (!from && !to)
    return draw_all(call);
  if (to->tag == FNZ_ARG_NONE)
    return draw_on(call, start);
  return draw_between(call, start, fnzi_krn_named_int(call, "to", 0));
}

/* --- Permutations ----------------------------------------------------------------------------- */
/* Fisher and Yates's way: each place changes with one that is not before it. */
static void draw_permutation(const void *law, fnz_generator *g, int64_t count, void *out) {
  int64_t *to = out;
  (void)law;
  for (int64_t i = 0; i < count; i++)
    to[i] = i;
  for (int64_t i = 0; i < count - 1; i++) {
    const uint64_t left = (uint64_t)(count - i);
    const bool is_long = (uint64_t)count >= UINT32_MAX / 20;
    const int64_t with =
        i + (int64_t)((is_long ? fnzi_generator_draw_long(g) : fnzi_generator_draw(g)) % left);
    const int64_t had = to[i];
    to[i] = to[with];
    to[with] = had;
  }
}

fnz_status fnzi_kernel_randperm(fnzi_krn_call *call) {
  return fnzi_cpu_draw_result(call, 0, FNZ_I64, draw_permutation, NULL);
}
