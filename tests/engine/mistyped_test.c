/* checks: 2
 * mistyped_test.c - programs that record wrong types: each operator that the CPU computes, with a
 * result or an operand of another dtype, rank or size than the call has that PyTorch took
 * (fixtures/reference, fixtures/variants). The program is refused, or it can be functionalized,
 * planned, verified and run; nothing in it is INTERNAL, and no two forms of it differ. */
#include "tests/help/variant_program.h"

#include <stdio.h>

enum { WRONG_SHOWN = 20, CALLS_OF_EACH = 3 };

/* Changes of one tensor's type. */
#define CHANGE_ROWS(ROW)                                                                           \
  ROW(BOOL)                                                                                        \
  ROW(I64) ROW(F16) ROW(C64) ROW(LONGER) ROW(SHORTER) ROW(EMPTY) ROW(DEEPER) ROW(FLATTER) ROW(WIDER)
typedef enum change {
#define CHANGE_ENUM(id) CHANGE_##id,
  CHANGE_ROWS(CHANGE_ENUM)
#undef CHANGE_ENUM
      CHANGE_COUNT
} change;

static const char *const change_names[] = {
#define CHANGE_NAME(id) #id,
    CHANGE_ROWS(CHANGE_NAME)
#undef CHANGE_NAME
};

typedef struct trial {
  variants v;
  scene s;
  variant_program one;
  change how;
  size_t value; /* whose type was changed */
  size_t programs, refused, run, late, wrong;
} trial;

/* False when there is no such type, or the tensor has it already. */
static bool change_type(change how, const fnz_geometry *g, int64_t *sizes, fnz_geometry *out) {
  static const fnz_dtype dtypes[] = {FNZ_BOOL, FNZ_I64, FNZ_F16, FNZ_C64};
  *out = *g;
  out->sizes = memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  if (how <= CHANGE_C64) {
    out->dtype = dtypes[how];
    return out->dtype != g->dtype;
  }
  if (how == CHANGE_DEEPER) {
    sizes[out->rank++] = 2;
    return true;
  }
  if (g->rank == 0 || (how == CHANGE_WIDER && g->rank < 2) || (how != CHANGE_LONGER && !sizes[0]))
    return false;
  if (how == CHANGE_FLATTER)
    out->rank--;
  else if (how == CHANGE_WIDER)
    sizes[g->rank - 1] += 2;
  else
    sizes[0] = how == CHANGE_LONGER ? sizes[0] + 1 : how == CHANGE_SHORTER ? sizes[0] - 1 : 0;
  return true;
}

/* --- All that is done with a program ---------------------------------------------------------- */
/* Zeros of the types that are recorded now. */
static fnz_status run(trial *t) {
  fnz_context *ctx = t->v.ctx;
  fnz_arrays *zeros, *results;
  FNZ_TRY(fnz_arrays_create(ctx, &zeros));
  fnz_status status = fnz_arrays_create(ctx, &results);
  for (size_t k = 0; status == FNZ_OK && k < t->one.nhandles; k++) {
    const fnzi_value *v = &t->one.p->graphs.data[0].values.data[k];
    const fnz_geometry *g = v->geometry;
    void *data;
    status = fnz_arrays_add(zeros, v->name, g->dtype, g->rank, g->sizes, &data);
  }
  if (status == FNZ_OK)
    status = fnz_run(ctx, t->one.p, t->s.backend, zeros, NULL, results);
  fnz_arrays_destroy(results);
  fnz_arrays_destroy(zeros);
  return status;
}

static fnz_status plan(trial *t, const fnz_program *functional) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  fnz_buffer told = {0};
  options.threads = 1;
  options.check = true;
  fnz_status status = fnz_plan_write(t->v.ctx, functional, NULL, &told);
  fnz_buffer_free(t->v.ctx, &told);
  FNZ_TRY(status);
  FNZ_TRY(fnz_compile(t->v.ctx, functional, &options, &exe));
  fnz_executable_destroy(exe);
  return FNZ_OK;
}

static fnz_status use(trial *t, const fnz_program *functional) {
  FNZ_TRY(plan(t, functional));
  FNZ_TRY(fnz_verify(t->v.ctx, t->one.p, functional, NULL, NULL, NULL));
  return run(t);
}

/* --- Is it right? ----------------------------------------------------------------------------- */
/* These write a source into a part of a tensor, or read one: types alone decide whether it fits.
 * Not so of an index into a dimension without elements, nor of as_strided_scatter, whose storage
 * may be larger than its tensor. */
static bool is_decided_by_types(const trial *t, const fnz_op *op) {
  static const char *const bases[] = {"select_scatter",
                                      "slice_scatter",
                                      "diagonal_scatter",
                                      "scatter",
                                      "scatter_add",
                                      "scatter_reduce",
                                      "index_put",
                                      "index_copy",
                                      "index_add",
                                      "index_fill",
                                      "index_select",
                                      "masked_fill",
                                      "gather",
                                      "put",
                                      "copy",
                                      "cat",
                                      "narrow_copy",
                                      "constant_pad_nd"};
  bool found = false;
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
    found = found || strcmp(op->base, bases[i]) == 0;
  return found && !fnz_op_is_mutating(op) && t->how != CHANGE_EMPTY && t->how != CHANGE_SHORTER;
}

/* Data count the places of an index. */
static bool has_mask(const trial *t) {
  bool found = false;
  for (size_t k = 1; k < t->one.nhandles; k++)
    found = found || t->one.p->graphs.data[0].values.data[k].geometry->dtype == FNZ_BOOL;
  return found;
}

static void show(trial *t, const fnz_op *op, size_t call) {
  const fnz_error *e = fnz_last_error(t->v.ctx);
  if (t->wrong + t->late <= WRONG_SHOWN)
    printf("%s #%zu, value %zu %s: %s: %s: %s\n", op->name, call, t->value, change_names[t->how],
           fnz_class_name(e->kind), e->where, e->message);
}

static void judge(trial *t, const fnz_op *op, size_t call) {
  fnz_program *functional;
  fnz_status status = fnz_program_verify(t->v.ctx, t->one.p);
  bool late = false;
  if (status == FNZ_OK)
    status = fnz_functionalize(t->v.ctx, t->one.p, NULL, &functional);
  t->refused += status != FNZ_OK;
  if (status == FNZ_OK) {
    status = use(t, functional);
    late = status == FNZ_BAD_INPUT && is_decided_by_types(t, op) && !has_mask(t);
    fnz_program_destroy(functional);
  }
  t->programs++;
  t->run += status == FNZ_OK;
  t->late += late;
  t->wrong += status == FNZ_INTERNAL || status == FNZ_DIFFERENT;
  if (late || status == FNZ_INTERNAL || status == FNZ_DIFFERENT)
    show(t, op, call);
}

static void try_value(trial *t, const fnz_op *op, size_t call) {
  _Atomic bool unchecked; /* as if it had been read */
  fnzi_value *v = &t->one.p->graphs.data[0].values.data[t->value];
  const fnz_geometry *was = v->geometry;
  int64_t sizes[FNZ_MAX_RANK + 1], strides[FNZ_MAX_RANK + 1];
  fnz_geometry changed;
  t->one.p->unchecked = &unchecked;
  for (t->how = 0; was && was->rank < FNZ_MAX_RANK && t->how < CHANGE_COUNT; t->how++) {
    if (!change_type(t->how, was, sizes, &changed))
      continue;
    if (t->how > CHANGE_C64) {
      fnzi_contiguous_strides(changed.sizes, changed.rank, strides);
      changed.strides = strides;
      changed.offset = 0;
    }
    unchecked = true;
    ck_assert_int_eq(fnzi_intern_geometry(t->one.p, &changed, &v->geometry), FNZ_OK);
    judge(t, op, call);
  }
  v->geometry = was;
  t->one.p->unchecked = NULL;
}

static void try_call(trial *t, const fnz_op *op, size_t number, const fnzi_json *call) {
  if (variant_program_open(&t->one, &t->s, op, call) == FNZ_OK)
    for (t->value = 0; t->value < t->one.p->graphs.data[0].values.count; t->value++)
      try_value(t, op, number);
  variant_program_close(&t->one);
}

static void try_all(const char *folder, size_t programs) {
  trial t = {.programs = 0};
  scene_begin(&t.s, &t.v, folder, create_cpu);
  const fnzi_json *calls = fnzi_json_find(t.v.calls.root, "calls");
  for (const fnzi_json *one = calls->u.first; one; one = one->next) {
    const fnz_op *op = fnz_op_find(NULL, one->key);
    size_t number = 0;
    for (const fnzi_json *call = one->u.first; call && number < CALLS_OF_EACH; call = call->next)
      try_call(&t, op, number++, call);
  }
  printf("%s: %zu programs, %zu refused, %zu run, %zu late, %zu wrong\n", folder, t.programs,
         t.refused, t.run, t.late, t.wrong);
  ck_assert_uint_gt(t.programs, programs);
  ck_assert_uint_eq(t.wrong, 0);
  ck_assert_uint_eq(t.late, 0);
  scene_end(&t.s);
}

START_TEST(mistyped_functional_operators_are_refused_or_run) {
  try_all("reference", 49000);
}
END_TEST

START_TEST(mistyped_variants_are_refused_or_run) {
  try_all("variants", 127000);
}
END_TEST

RUN_SUITE("mistyped", mistyped_functional_operators_are_refused_or_run,
          mistyped_variants_are_refused_or_run)
