/* both.h - a program on the stand-in for a GPU and on the CPU. */
#ifndef FNZ_TESTS_CUDA_BOTH_H
#define FNZ_TESTS_CUDA_BOTH_H

#include "soak/programs.h"
#include "tests/cuda/help.h"

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
    *equal = memcmp(fnz_arrays_at(got, k)->data, fnz_arrays_at(want, k)->data,
                    fnz_arrays_at(want, k)->bytes) == 0;
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(got);
  fnz_executable_destroy(exe);
  fnz_executable_destroy(cpu);
  fnz_program_destroy(p);
  return status;
}

#endif
