/* help.h - what tests on the stand-in for a GPU share. */
#ifndef FNZ_TESTS_CUDA_HELP_H
#define FNZ_TESTS_CUDA_HELP_H

#include "program/program.h"
#include "tests/cuda/counted.h"
#include "tests/help/run_help.h"

#include <dlfcn.h>
#include <fnz/random.h>

/* But for contexts of CUDA, which contexts of fnz hold that are there. */
static inline void nothing_is_left_but(uint64_t contexts) {
  standin_counts c = counts_now();
  ck_assert_msg(!c.wrong, "%s", c.wrong);
  ck_assert_uint_eq(c.blocks_held, 0);
  ck_assert_uint_eq(c.bytes_held, 0);
  ck_assert_uint_eq(c.pinned_held, 0);
  ck_assert_uint_eq(c.modules_held, 0);
  ck_assert_uint_eq(c.streams_held, 0);
  ck_assert_uint_eq(c.graphs_held, 0);
  ck_assert_uint_eq(c.contexts_held, contexts);
}

static inline void nothing_is_left(void) {
  nothing_is_left_but(0);
}

static inline fnz_status compile(fnz_context *ctx, const fnz_program *p, const char *device,
                                 fnz_executable **out) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.threads = 1;
  options.check = true;
  options.staging = true;
  options.device = device;
  return fnz_compile(ctx, p, &options, out);
}

static inline fnz_program *functional_of(fnz_context *ctx, fnz_program *traced) {
  fnz_program *p;
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &p));
  fnz_program_destroy(traced);
  return p;
}

static inline fnz_context *open_context(void) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  return ctx;
}

/* Nodes with one that the CPU computes: %to is %from, both f32[100]. */
#define BY_CPU(to, from)                                                                           \
  "  %p: f32[1,100] = unsqueeze(%" from ", 0)\n  %o: f32[1,1] = slice.Tensor(%p, 1, 0, 1)\n"       \
  "  %q: f32[1,100] = linalg_solve_triangular(%o, %p, upper=True, unitriangular=True)\n"           \
  "  %" to ": f32[100] = squeeze.dim(%q, 0)\n"

static inline fnz_program *small_program(fnz_context *ctx) {
  return functional_of(
      ctx, program_of(ctx, "%x: f32[1000]", "  %y: f32[1000] = add.Tensor(%x, 1)\n  return %y"));
}

/* A run that draws as each other one does, of a GPU or a CPU. */
static inline fnz_status run_anew(const fnz_executable *exe, fnz_context *ctx,
                                  const fnz_arrays *inputs, fnz_arrays *outputs) {
  fnz_generator *g;
  OK(ctx, fnz_philox_generator_create(ctx, 7, 1024, &g));
  fnz_context_set_generator(ctx, g);
  fnz_status status = fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, outputs);
  fnz_context_set_generator(ctx, NULL);
  fnz_generator_destroy(g);
  return status;
}

/* How often the stand-in for NVRTC has compiled; on another driver, how much was loaded. */
static inline size_t compiles(void) {
  static void *library; /* stays loaded, so that it goes on counting */
  size_t (*get)(void);
  if (!is_standin())
    return counts_now().modules;
  if (!library)
    library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, "standin_compiles") : NULL;
  ck_assert_ptr_nonnull(found);
  memcpy(&get, &found, sizeof get);
  return get();
}

#endif
