/* random_integers.c - the numbers from one end to the other, as a type holds them. */
#include "kernels/meta/random.h"

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
  fnzi_krn_convert_one(dtype, cell, FNZ_I64, &v);
  fnzi_krn_convert_one(FNZ_F64, &d, dtype, cell);
  return d < -0x1p63 ? INT64_MIN : d >= 0x1p63 ? INT64_MAX : (int64_t)d;
}

/* The distance of neighbours near a number. */
static int64_t gap_at(fnz_dtype dtype, int64_t v) {
  int log2 = 0;
  for (uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v; left >>= 1;)
    log2++;
  int n = log2 - digits_of(dtype) + 1;
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

static fnz_dtype integers_dtype_of(const fnzi_krn_call *call) {
  return call->outputs[0]->geometry.dtype;
}

static fnz_status from_to(const fnzi_krn_call *call, int64_t from, int64_t last,
                          fnzi_meta_integers *out) {
  FNZ_TRY(check_ends(call, integers_dtype_of(call), from, last));
  const uint64_t range = (uint64_t)last - (uint64_t)from + 1;
  *out = (fnzi_meta_integers){range, from, range >= UINT64_C(1) << 28 || range == 0};
  return FNZ_OK;
}

static fnz_status between(const fnzi_krn_call *call, int64_t from, int64_t to,
                          fnzi_meta_integers *out) {
  if (from >= to)
    return check_ends(call, integers_dtype_of(call), from, to - (to > INT64_MIN));
  if (digits_of(integers_dtype_of(call)))
    move_ends(integers_dtype_of(call), &from, &to);
  return from_to(call, from, to - (to > INT64_MIN), out);
}

fnz_status fnzi_meta_randint(const fnzi_krn_call *call, int64_t high, fnzi_meta_integers *out) {
  return between(call, fnzi_krn_named_int(call, "low", 0), high, out);
}

/* From a start to the largest number of the type; from the least integer, all of 64 bits. */
static fnz_status from_on(const fnzi_krn_call *call, int64_t from, fnzi_meta_integers *out) {
  const fnz_dtype dtype = integers_dtype_of(call);
  const int digits = digits_of(dtype);
  int64_t last = digits ? (int64_t)1 << digits : most_of(dtype), none = 0;
  if (from == INT64_MIN) {
    *out = (fnzi_meta_integers){0, 0, true};
    return check_ends(call, dtype, from, INT64_MAX);
  }
  if (digits)
    move_ends(dtype, &from, &none);
  return from_to(call, from, last, out);
}

fnz_status fnzi_meta_random(const fnzi_krn_call *call, fnzi_meta_integers *out) {
  const fnz_arg *from = fnzi_krn_named(call, "from"), *to = fnzi_krn_named(call, "to");
  const int64_t start = fnzi_krn_named_int(call, "from", 0);
  if (!from && !to) {
    /* Without ends: all numbers of the type from 0 on. */
    const fnz_dtype dtype = integers_dtype_of(call);
    const int digits = digits_of(dtype);
    if (most_of(dtype) < 0)
      return check_ends(call, dtype, 0, -1);
    const uint64_t last = digits ? UINT64_C(1) << digits : (uint64_t)most_of(dtype);
    *out = (fnzi_meta_integers){last + 1, 0, dtype == FNZ_I64 || dtype == FNZ_F64};
    return FNZ_OK;
  }
  if (to->tag == FNZ_ARG_NONE)
    return from_on(call, start, out);
  return between(call, start, fnzi_krn_named_int(call, "to", 0), out);
}
