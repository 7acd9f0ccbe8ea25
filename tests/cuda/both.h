/* both.h - a program on the stand-in for a GPU and on the CPU. */
#ifndef FNZ_TESTS_CUDA_BOTH_H
#define FNZ_TESTS_CUDA_BOTH_H

#include "soak/programs.h"
#include "tests/cuda/help.h"

/* The bits of element i without its sign, and infinity's; false for a dtype without NaN. */
static inline bool nan_bits(const fnz_array *a, size_t i, uint64_t *bits, uint64_t *infinity) {
  const size_t bytes = fnzi_dtype(a->dtype)->bytes;
  const fnz_dtype dtype = a->dtype;
  *bits = 0;
  memcpy(bits, (const char *)a->data + i * bytes, bytes < sizeof *bits ? bytes : sizeof *bits);
  *bits &= (UINT64_C(1) << (8 * bytes - 1)) - 1;
  *infinity = dtype == FNZ_F16    ? 0x7c00
              : dtype == FNZ_BF16 ? 0x7f80
              : dtype == FNZ_F32  ? 0x7f800000
                                  : UINT64_C(0x7ff0000000000000);
  return dtype == FNZ_F16 || dtype == FNZ_BF16 || dtype == FNZ_F32 || dtype == FNZ_F64;
}

/* The same bits, but for NaN: a GPU computes abs() of halves in floats, which drops the payload
 * that the CPU keeps. */
static inline bool have_same_bits(const fnz_array *a, const fnz_array *b) {
  const size_t bytes = fnzi_dtype(a->dtype)->bytes;
  uint64_t x, y, infinity;
  bool same = true;
  for (size_t i = 0; same && i < a->bytes / bytes; i++)
    same =
        memcmp((const char *)a->data + i * bytes, (const char *)b->data + i * bytes, bytes) == 0 ||
        (nan_bits(a, i, &x, &infinity) && nan_bits(b, i, &y, &infinity) && x > infinity &&
         y > infinity);
  return same;
}

/* Without a state; `p` ends. *equal: both have the same bits. */
static inline fnz_status run_on_both(fnz_context *ctx, fnz_program *p, bool *equal) {
  fnz_arrays *inputs, *want, *got;
  fnz_executable *exe, *cpu;
  OK(ctx, fnzi_random_inputs(ctx, p, 3, &inputs));
  OK(ctx, fnz_arrays_create(ctx, &want));
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, compile(ctx, p, "cpu", &cpu));
  OK(ctx, compile(ctx, p, "cuda", &exe));
  OK(ctx, run_anew(cpu, ctx, inputs, want));
  fnz_status status = run_anew(exe, ctx, inputs, got);
  *equal = status == FNZ_OK;
  for (size_t k = 0; *equal && k < fnz_arrays_count(want); k++)
    *equal = have_same_bits(fnz_arrays_at(want, k), fnz_arrays_at(got, k));
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(got);
  fnz_executable_destroy(exe);
  fnz_executable_destroy(cpu);
  fnz_program_destroy(p);
  return status;
}

#endif
