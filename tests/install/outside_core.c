/* outside_core.c - an outside program that has libfnz_core, which does everything except compute
 * numbers, and reports that. With -DNUMBERS it is a part of another program and has libfnz; with
 * -DTOGETHER it is that program. */
#ifdef NUMBERS
#include <fnz/fnz.h>
#else
#include <fnz/core.h>
#endif

static const char text[] = "fnz 1\n"
                           "program(\n"
                           "  %x: f32[4])\n"
                           "{\n"
                           "  %s: f32[2] offset(1) = slice.Tensor(%x, 0, 1, 3)\n"
                           "  %a: f32[2] offset(1) = add_.Scalar(%s, 1)\n"
                           "  return %x\n"
                           "}\n";

/* Compares a program with its functional form over hashes; comparing numbers must return
 * `wanted`. */
static bool compares(fnz_context *ctx, fnz_status wanted) {
  fnz_program *program = NULL, *functional = NULL;
  fnz_arrays *inputs = NULL;
  fnz_verify_options once = FNZ_VERIFY_OPTIONS_INIT;
  int64_t size = 4;
  void *x;
  once.trials = 1;
  bool does = fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_AUTO, &program) == FNZ_OK &&
              fnz_functionalize(ctx, program, NULL, &functional) == FNZ_OK &&
              fnz_verify(ctx, program, functional, NULL, &once, NULL) == FNZ_OK &&
              fnz_arrays_create(ctx, &inputs) == FNZ_OK &&
              fnz_arrays_add(inputs, "x", FNZ_F32, 1, &size, &x) == FNZ_OK &&
              fnz_verify(ctx, program, functional, inputs, &once, NULL) == wanted;
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(functional);
  fnz_program_destroy(program);
  return does;
}

static int try_all(fnz_status wanted) {
  fnz_context *ctx;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 1;
  bool does = compares(ctx, wanted);
  fnz_context_destroy(ctx);
  return does ? 0 : 1;
}

int with_numbers(void);
#ifdef NUMBERS
int with_numbers(void) {
  return try_all(FNZ_OK);
}
#else
int main(void) {
#ifdef TOGETHER
  if (with_numbers() != 0)
    return 2;
#endif
  return try_all(FNZ_UNSUPPORTED);
}
#endif
