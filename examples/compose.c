/* compose.c - a program of one's own, composed as text: an input of a symbolic size, a weight in
 * memory of the caller, and two bodies. It is functionalized and run. */
#include "example.h"

#include <inttypes.h>
#include <string.h>

enum { COLUMNS = 3, TEXT_BYTES = 4096 };

/* Both bodies write the row that they are called with. */
static const struct {
  const char *name, *op;
} bodies[] = {{"add", "add_.Tensor"}, {"multiply", "mul_.Tensor"}};

static void compose(char *out) {
  int size = snprintf(out, TEXT_BYTES,
                      "fnz 1\n"
                      "symbol rows = 2\n"
                      "range rows 1..8\n"
                      "weight \"scale\": f32[%d]\n"
                      "program(%%choice: bool[], %%x: f32[{rows},%d],\n"
                      "        %%scale: f32[%d] parameter \"scale\")\n"
                      "{\n"
                      "  %%row: f32[%d] = select.int(%%x, 0, 0)\n"
                      "  [%%sum: f32[]] = higher_order.cond(%%choice, @%s, @%s, [%%row, %%scale])\n"
                      "  return %%sum\n"
                      "}\n",
                      COLUMNS, COLUMNS, COLUMNS, COLUMNS, bodies[0].name, bodies[1].name);
  for (size_t k = 0; k < 2; k++)
    size += snprintf(out + size, TEXT_BYTES - (size_t)size,
                     "graph %s(%%a: f32[%d], %%b: f32[%d])\n"
                     "{\n"
                     "  %%c: f32[%d] = %s(%%a, %%b)\n"
                     "  %%sum: f32[] = sum(%%c)\n"
                     "  return %%sum\n"
                     "}\n",
                     bodies[k].name, COLUMNS, COLUMNS, COLUMNS, bodies[k].op);
}

static void lend(fnz_context *ctx, fnz_program *program, const char *name, const float *data) {
  const fnz_weight weight = fnz_program_weight(program, name); /* its geometry, and no data yet */
  const fnz_weight_loan loan = {name,
                                weight.geometry,
                                data,
                                COLUMNS * sizeof *data,
                                /*release*/ NULL,
                                /*owner*/ NULL};
  check(ctx, fnz_program_lend_weights(ctx, program, &loan, 1));
}

/* The rows of the input `x` are zeros. */
static void run(fnz_context *ctx, const fnz_program *program, bool choice, int64_t rows) {
  fnz_backend *cpu;
  fnz_arrays *inputs, *outputs;
  const int64_t sizes[] = {rows, COLUMNS};
  void *data;
  check(ctx, fnz_cpu_backend_create(ctx, 0, &cpu));
  check(ctx, fnz_arrays_create(ctx, &inputs));
  check(ctx, fnz_arrays_create(ctx, &outputs));
  check(ctx, fnz_arrays_add(inputs, "x", FNZ_F32, 2, sizes, &data));
  check(ctx, fnz_arrays_add(inputs, "choice", FNZ_BOOL, 0, NULL, &data));
  *(bool *)data = choice;
  check(ctx, fnz_run(ctx, program, cpu, inputs, NULL, outputs));
  const float *final = fnz_arrays_find(outputs, "input.x")->data;
  const float *sum = fnz_arrays_find(outputs, "output.0")->data;
  printf("%" PRId64 " rows: the first one is %g %g %g, its sum %g\n", rows, final[0], final[1],
         final[2], *sum);
  fnz_arrays_destroy(outputs);
  fnz_arrays_destroy(inputs);
  fnz_backend_destroy(cpu);
}

int main(void) {
  static const float scale[COLUMNS] = {1, 10, 100};
  char text[TEXT_BYTES];
  fnz_context *ctx;
  fnz_program *traced, *functional;
  fnz_buffer printed = {NULL, 0, 0};
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return 1;
  compose(text);
  check(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  lend(ctx, traced, "scale", scale);
  check(ctx, fnz_functionalize(ctx, traced, NULL, &functional));
  check(ctx, fnz_program_write(ctx, functional, FNZ_FORMAT_TEXT, &printed));
  fputs(printed.data, stdout);
  run(ctx, functional, true, 2);
  run(ctx, functional, false, 5);
  fnz_buffer_free(ctx, &printed);
  fnz_program_destroy(functional);
  fnz_program_destroy(traced);
  fnz_context_destroy(ctx);
  return 0;
}
