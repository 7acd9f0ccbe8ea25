/* checks: 3
 * as_strided_copy and as_strided_scatter of values that do not lie in rows: they count the places
 * of eager's memory, over hashes and over numbers. */
#include "tests/help/run_help.h"

static fnz_context *ctx;

typedef struct body {
  const char *inputs, *aliasing, *functional;
} body;

/* The aliasing body says by a view what the functional one says in one operator. */
static const body bodies[] = {
    {"%x: f32[3,4] stride(1,3)",
     "%v: f32[2,3] stride(4,1) offset(1) = as_strided(%x, [2, 3], [4, 1], 1)\nreturn %v",
     "%v: f32[2,3] = as_strided_copy(%x, [2, 3], [4, 1], 1)\nreturn %v"},
    {"%x: f32[3,4] offset(5)",
     "%v: f32[2,3] stride(4,1) offset(6) = as_strided(%x, [2, 3], [4, 1], 6)\nreturn %v",
     "%v: f32[2,3] = as_strided_copy(%x, [2, 3], [4, 1], 6)\nreturn %v"},
    {"%x: f32[2,3,4]",
     "%t: f32[4,2,3] stride(1,12,4) = permute(%x, [2, 0, 1])\n"
     "%y: f32[4,2,3] stride(1,12,4) = add.Scalar(%t, 1)\n"
     "%v: f32[3,5] stride(6,1) offset(2) = as_strided(%y, [3, 5], [6, 1], 2)\nreturn %v",
     "%t: f32[4,2,3] stride(1,12,4) = permute_copy(%x, [2, 0, 1])\n"
     "%y: f32[4,2,3] stride(1,12,4) = add.Scalar(%t, 1)\n"
     "%v: f32[3,5] = as_strided_copy(%y, [3, 5], [6, 1], 2)\nreturn %v"},
    {"%x: f32[3,4] stride(1,3), %s: f32[2,3]",
     "%y: f32[3,4] stride(1,3) = clone(%x)\n"
     "%v: f32[2,3] stride(5,1) offset(1) = as_strided(%y, [2, 3], [5, 1], 1)\n"
     "%c: f32[2,3] stride(5,1) offset(1) = copy_(%v, %s)\nreturn %y",
     "%y: f32[3,4] stride(1,3) = as_strided_scatter(%x, %s, [2, 3], [5, 1], 1)\nreturn %y"},
};

static fnz_arrays *inputs_of(const fnz_program *p) {
  fnz_arrays *arrays;
  const fnzi_graph *g = fnzi_graph_main(p);
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnzi_value *v = fnzi_value_at(p, 0, g->inputs[k].u.value);
    void *data;
    OK(ctx, fnz_arrays_add(arrays, v->name, FNZ_F32, v->geometry->rank, v->geometry->sizes, &data));
    for (int64_t i = 0; i < fnz_geometry_numel(v->geometry); i++)
      ((float *)data)[i] = (float)(100 * (int)k + (int)i);
  }
  return arrays;
}

typedef enum way { ORIGINAL, INTERPRETER, ENGINE } way;

static fnz_status run(const fnz_program *p, way by, fnz_arrays **out) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_arrays *inputs = inputs_of(p);
  fnz_executable *exe = NULL;
  fnz_backend *cpu;
  options.threads = 1;
  options.check = true;
  OK(ctx, fnz_arrays_create(ctx, out));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = by == ENGINE ? fnz_compile(ctx, p, &options, &exe) : FNZ_OK;
  if (by == ENGINE && status == FNZ_OK)
    status = fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, *out);
  else if (by != ENGINE)
    status = fnz_run(ctx, p, cpu, inputs, by == ORIGINAL ? AS_ORIGINAL : NULL, *out);
  fnz_executable_destroy(exe);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(inputs);
  return status;
}

/* Functionalized, the body counts the places of eager's memory; as it is, it is refused. */
START_TEST(over_numbers) {
  OK(NULL, fnz_context_create(NULL, &ctx));
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    fnz_program *p[] = {program_of(ctx, bodies[i].inputs, bodies[i].aliasing),
                        program_of(ctx, bodies[i].inputs, bodies[i].functional), NULL};
    fnz_arrays *want, *have;
    OK(ctx, fnz_functionalize(ctx, p[1], NULL, &p[2]));
    OK(ctx, run(p[0], ORIGINAL, &want));
    const fnz_array *x = fnz_arrays_find(want, "output.0");
    for (way by = ORIGINAL; by <= ENGINE; by++) {
      OK(ctx, run(p[by == ORIGINAL ? 1 : 2], by, &have));
      const fnz_array *y = fnz_arrays_find(have, "output.0");
      ck_assert_uint_eq(x->bytes, y->bytes);
      if (memcmp(x->data, y->data, x->bytes) != 0)
        ck_abort_msg("body %zu, way %d", i, (int)by);
      fnz_arrays_destroy(have);
    }
    ck_assert_int_eq(run(p[1], INTERPRETER, &have), FNZ_UNSUPPORTED);
    fnz_arrays_destroy(have);
    fnz_arrays_destroy(want);
    for (int k = 0; k < 3; k++)
      fnz_program_destroy(p[k]);
  }
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(over_hashes) {
  OK(NULL, fnz_context_create(NULL, &ctx));
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    fnz_program *p = program_of(ctx, bodies[i].inputs, bodies[i].functional);
    OK(ctx, fnz_verify(ctx, p, NULL, NULL, NULL, NULL));
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* A value does not have what lies between the elements of an input. */
START_TEST(gaps_are_refused) {
  fnz_program *functional;
  OK(NULL, fnz_context_create(NULL, &ctx));
  fnz_program *p = program_of(ctx, "%x: f32[6] stride(2)",
                              "%v: f32[3] = as_strided_copy(%x, [3], [1], 0)\nreturn %v");
  ck_assert_int_eq(fnz_functionalize(ctx, p, NULL, &functional), FNZ_UNSUPPORTED);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("by_memory", over_numbers, over_hashes, gaps_are_refused)
