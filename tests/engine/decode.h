/* decode.h - a small language model that writes one token after the other, for tests. */
#ifndef FNZ_TESTS_ENGINE_DECODE_H
#define FNZ_TESTS_ENGINE_DECODE_H

#include "tests/help/test.h"

#include <fnz/fnz.h>

static inline fnz_program *load_decode(fnz_context *ctx) {
  fnz_program *p;
  OK(ctx, fnz_program_load(ctx, FNZ_SOURCE_DIR "/fixtures/decode/llama.pt2", FNZ_FORMAT_AUTO, &p));
  fnz_program *functional;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &functional));
  fnz_program_destroy(p);
  return functional;
}

/* The token that follows takes the place of the one given. */
static inline fnz_status run_decode(fnz_context *ctx, const fnz_executable *exe,
                                    fnz_executable_state *state, fnz_workspace *ws,
                                    int64_t *token) {
  static const int64_t sizes[] = {1, 1}, strides[] = {1, 1};
  static const fnz_geometry one = {.dtype = FNZ_I64, .rank = 2, .sizes = sizes, .strides = strides};
  int64_t next = -1;
  const fnz_memory in = {token, &one};
  fnz_memory out[16] = {{NULL, NULL}};
  for (size_t k = 0; k < fnz_executable_count(exe, FNZ_SIDE_OUTPUT); k++)
    if (!fnz_executable_slot(exe, FNZ_SIDE_OUTPUT, k).in_state)
      out[k].data = &next;
  const fnz_execution run = {
      .size = sizeof run, .inputs = &in, .outputs = out, .state = state, .workspace = ws};
  fnz_status status = fnz_executable_run(ctx, exe, &run);
  *token = next;
  return status;
}

#endif
