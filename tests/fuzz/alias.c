/* alias.c - any lines as declarations of aliases among the inputs of one program: taken or refused.
 * With the accepted aliases, the program survives being written and the pass agrees with the run on
 * memory that is shared like this. */
#include "tests/fuzz/checks.h"

enum { MOST_ALIAS = 200 };

/* Inputs of most forms and element types; some are written, all are read afterwards. */
static const char program[] =
    "fnz 1\n"
    "program(%a: f32[6], %b: f32[2,3], %c: f32[3], %d: f32[3,2] stride(1,3), %s: f32[],\n"
    "        %i: i32[6], %z: c64[3], %e: f32[2,2] stride(1,1)) {\n"
    "  %a1: f32[6] = mul_.Tensor(%a, 2)\n"
    "  %c1: f32[3] = sin_(%c)\n"
    "  %row: f32[3] = select.int(%b, 0, 1)\n"
    "  %row1: f32[3] = copy_(%row, %c)\n"
    "  %i1: i32[6] = fill_.Scalar(%i, 3)\n"
    "  %s1: f32[] = fill_.Scalar(%s, 5)\n"
    "  %b2: f32[2,3] = cos(%b)\n"
    "  %d2: f32[3,2] stride(1,3) = cos(%d)\n"
    "  %z2: c64[3] = exp(%z)\n"
    "  %e2: f32[2,2] = clone(%e, memory_format=contiguous_format)\n"
    "  %a2: f32[6] = cos(%a)\n"
    "  return %b2, %d2, %z2, %e2, %a2, %row, %a\n"
    "}\n";

static void declare(fnz_context *ctx, fnz_program *p, const uint8_t *line, size_t size) {
  char text[MOST_ALIAS + 1];
  size = size < MOST_ALIAS ? size : MOST_ALIAS;
  memcpy(text, line, size);
  text[size] = '\0';
  fnz_status status = fnz_program_alias(ctx, p, text);
  const fnz_error *e = fnz_last_error(ctx);
  if (status != FNZ_OK)
    PROMISE(status != FNZ_INTERNAL && e->status == status && e->message[0], "%s: %s", text,
            e->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_program *p;
  fnz_status status = fnz_program_read(ctx, program, sizeof program - 1, FNZ_FORMAT_TEXT, &p);
  PROMISE(status == FNZ_OK, "%s", fnz_last_error(ctx)->message);
  for (size_t from = 0, to = 0; from < size; from = ++to) {
    while (to < size && data[to] != '\n')
      to++;
    declare(ctx, p, data + from, to - from);
  }
  const uint32_t hash = fuzz_hash(data, size);
  check_round_trips(ctx, p, hash);
  check_dialects(ctx, p, hash);
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
