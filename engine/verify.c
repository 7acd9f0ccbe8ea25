/* verify.c - compares an executable with the interpreter, bit by bit: with named arrays twice, on
 * memory with gaps, and with a state for three calls. Given arrays may include weights, which
 * replace the program's, and initial values of the state. */
#include "engine/engine.h"
#include "base/random.h"
#include "run/numbers.h"
#include "run/reals.h"

#include <stdio.h>

typedef struct verifying {
  const fnz_executable *exe;
  fnz_context *ctx;
  fnz_backend *backend;
  const fnz_arrays *inputs;
  fnzi_run_state bound; /* the inputs, to find them by their names */
  fnz_workspace *ws;
  fnz_arrays *expected, *actual, *next;
  fnz_arrays *begin, *rest; /* inputs that are the state's; the others */
  fnz_executable_state *state;
  fnzi_arena arena;
  fnzi_generator_repeat draws;     /* each run begins with the same generator */
  uint64_t shows[FNZ_DTYPE_COUNT]; /* per dtype: those whose bits it may be */
} verifying;

/* --- Comparing -------------------------------------------------------------------------------- */
/* A word of 2, 4 or 8 bytes that is NaN in a type of that width. */
/* `as` shows the bits of `of`, and of what `of` shows. */
static void note_reading(verifying *v, const fnz_geometry *of, const fnz_geometry *as) {
  if (of && as && of->dtype != as->dtype)
    v->shows[as->dtype] |= v->shows[of->dtype] | (uint64_t)1 << of->dtype;
}

/* Inputs that share memory under several types, and nodes that see bits as another type. */
static void find_readings(verifying *v, const fnz_program *p) {
  const fnzi_graph *main = fnzi_graph_main(p);
  for (int twice = 0; twice < 2; twice++) /* the last one shows the first one, too */
    for (uint32_t k = 0; k < main->ninputs; k++) {
      const fnz_geometry *one = fnzi_pln_tensor(main, &main->inputs[k]);
      const fnz_geometry *other = fnzi_pln_tensor(main, &main->inputs[fnzi_memory_of(p, k)]);
      note_reading(v, one, other);
      note_reading(v, other, one);
    }
  for (uint32_t i = 0; i < fnz_graph_count(p); i++) {
    const fnzi_graph *g = fnzi_graph_at(p, i);
    for (size_t n = 0; n < g->nodes.count; n++) {
      const fnzi_node *node = &g->nodes.data[n];
      if (node->op && strcmp(fnz_op_name(node->op), "view_copy.dtype") == 0)
        note_reading(v, fnzi_pln_tensor(g, &node->args[0]), fnzi_pln_tensor(g, &node->outputs[0]));
    }
  }
}

/* A sum of several NaN takes the bits of one operand, which depends on the memory layout; a program
 * may view these bits as another type. Returns how many bytes from `i` on belong to a number that
 * is equal on both sides (all NaN are equal) in a type that these bytes may be viewed from; 0 if
 * there is none. */
static size_t same_shown(const verifying *v, const fnz_array *a, const fnz_array *b, size_t i) {
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++) {
    if (!(v->shows[a->dtype] >> d & 1))
      continue;
    size_t size = fnzi_dtype((fnz_dtype)d)->bytes, at = i - i % size;
    if (at + size <= a->bytes &&
        fnzi_run_same_reals((fnz_dtype)d, (const unsigned char *)a->data + at,
                            (const unsigned char *)b->data + at, size))
      return at + size - i;
  }
  return 0;
}

/* The bits of the element that a byte is of, its last one first. */
static const char *bits_of(const fnz_array *a, size_t byte, char out[40]) {
  size_t cell = fnzi_dtype(a->dtype)->bytes, end = byte - byte % cell + cell;
  char *to = out;
  for (size_t i = 0; i < cell; i++, to += 2)
    snprintf(to, 3, "%02x", ((const unsigned char *)a->data)[end - 1 - i]);
  return out;
}

static fnz_status compare(verifying *v, const char *run, const fnz_array *expected,
                          const char *name, const fnz_array *actual) {
  if (!expected)
    return fnzi_fail(v->ctx, FNZ_CLASS_DIFFERENT, name, "%s: only the engine gives it", run);
  bool same = expected->dtype == actual->dtype && expected->rank == actual->rank &&
              expected->bytes == actual->bytes;
  for (uint32_t d = 0; same && d < expected->rank; d++)
    same = expected->sizes[d] == actual->sizes[d];
  if (!same)
    return fnzi_fail(v->ctx, FNZ_CLASS_DIFFERENT, name, "%s: it has another type or other sizes",
                     run);
  const unsigned char *one = expected->data, *other = actual->data;
  const size_t cell = fnzi_dtype(expected->dtype)->bytes;
  for (size_t i = 0, passed; i < expected->bytes; i += passed) { /* as many bytes are equivalent */
    const size_t at = i - i % cell;
    char a[40], b[40];
    if (one[i] == other[i])
      passed = 1;
    else if (fnzi_run_same_reals(expected->dtype, one + at, other + at, cell))
      passed = at + cell - i;
    else
      passed = same_shown(v, expected, actual, i);
    if (!passed)
      return fnzi_fail(v->ctx, FNZ_CLASS_DIFFERENT, name,
                       "%s: element %zu is 0x%s, and 0x%s by the interpreter", run, i / cell,
                       bits_of(actual, i, a), bits_of(expected, i, b));
  }
  return FNZ_OK;
}

/* Checks that each array of `have` equals the array of that name in `want`. If `all`, both must
 * have the same arrays in the same order. */
static fnz_status compare_all(verifying *v, const char *run, const fnz_arrays *expected,
                              const fnz_arrays *actual, bool all) {
  size_t count = fnz_arrays_count(actual);
  if (all && count != fnz_arrays_count(expected))
    return fnzi_fail(v->ctx, FNZ_CLASS_DIFFERENT, NULL, "%s: %zu results instead of %zu", run,
                     count, fnz_arrays_count(expected));
  for (size_t i = 0; i < count; i++) {
    const fnz_array *b = fnz_arrays_at(actual, i);
    const fnz_array *a = all ? fnz_arrays_at(expected, i) : fnz_arrays_find(expected, b->name);
    if (all && strcmp(a->name, b->name) != 0)
      a = NULL;
    FNZ_TRY(compare(v, run, a, b->name, b));
  }
  return FNZ_OK;
}

static fnz_status fresh(verifying *v, fnz_arrays **arrays) {
  fnz_arrays_destroy(*arrays);
  *arrays = NULL;
  return fnz_arrays_create(v->ctx, arrays);
}

/* --- Runs ------------------------------------------------------------------------------------- */
static fnz_status interpret(verifying *v, const fnz_arrays *inputs, fnz_arrays **out) {
  FNZ_TRY(fresh(v, out));
  const fnzi_run_options options = {.inputs = inputs, .emit = fnzi_run_emit_array, .user = *out};
  fnzi_generator_repeat_begin(&v->draws);
  return fnzi_run_functional(v->ctx, v->exe->program, v->backend, &options);
}

static fnz_status verify_execute(verifying *v) {
  FNZ_TRY(fresh(v, &v->actual));
  fnzi_generator_repeat_begin(&v->draws);
  return fnz_executable_run_arrays(v->ctx, v->exe, v->state ? v->rest : v->inputs, v->state, v->ws,
                                   v->actual);
}

/* Checks that the engine fails with the same class of error as the interpreter. */
static fnz_status compare_refusals(verifying *v, fnz_status refused) {
  const fnz_error error = v->ctx->error;
  fnz_status status = verify_execute(v);
  if (fnzi_is_final(refused) || fnzi_is_final(status))
    return fnzi_no_memory(v->ctx);
  if (status == FNZ_OK)
    return fnzi_fail(v->ctx, FNZ_CLASS_DIFFERENT, error.where,
                     "the engine runs what the interpreter refuses: %.300s", error.message);
  if (v->ctx->error.kind == error.kind)
    return FNZ_OK;
  char message[200];
  memcpy(message, v->ctx->error.message, sizeof message - 1);
  message[sizeof message - 1] = 0;
  return fnzi_fail(v->ctx, FNZ_CLASS_DIFFERENT, error.where,
                   "the engine says %s: %s; the interpreter %s: %.200s",
                   fnz_class_name(v->ctx->error.kind), message, fnz_class_name(error.kind),
                   error.message);
}

/* Reports a failure of the engine that the interpreter does not have. */
static fnz_status alone(verifying *v, const char *run, fnz_status status) {
  char message[400];
  if (status == FNZ_OK || fnzi_is_final(status))
    return status;
  memcpy(message, v->ctx->error.message, sizeof message - 1);
  message[sizeof message - 1] = 0;
  return fnzi_fail(v->ctx, FNZ_CLASS_DIFFERENT, v->ctx->error.where, "%s: only the engine says %s",
                   run, message);
}

/* --- Memory with gaps ------------------------------------------------------------------------- */
enum { GAP = 2 };

/* Makes a window of these sizes with a gap of one element after each element. */
static fnz_status make_gaps(verifying *v, const fnz_geometry *like, fnz_memory *out) {
  fnz_geometry *g;
  int64_t *numbers;
  unsigned char *data;
  size_t cell = fnzi_dtype(like->dtype)->bytes;
  FNZI_NEW(&v->arena, 1, &g);
  FNZI_NEW(&v->arena, 2 * FNZ_MAX_RANK, &numbers);
  *g = (fnz_geometry){.dtype = like->dtype, .rank = like->rank, .sizes = numbers};
  memcpy(numbers, like->sizes, like->rank * sizeof *numbers);
  fnzi_contiguous_strides(like->sizes, like->rank, numbers + FNZ_MAX_RANK);
  for (uint32_t d = 0; d < like->rank; d++)
    numbers[FNZ_MAX_RANK + d] *= GAP;
  g->strides = numbers + FNZ_MAX_RANK;
  void *cells;
  FNZ_TRY(fnzi_arena_alloc(&v->arena, (size_t)fnz_geometry_numel(like) * GAP + 1,
                           cell > 1 ? cell : 2, &cells));
  data = cells;
  *out = (fnz_memory){data, g};
  return FNZ_OK;
}

/* Passes an input as elements with gaps. Memory that inputs share is passed unchanged, because the
 * program determines its windows. */
static fnz_status give_tensor(verifying *v, uint32_t k, fnz_memory *out) {
  const fnzi_run_binding *b = &v->bound.bindings[k];
  const size_t cell = fnzi_dtype(b->geometry->dtype)->bytes;
  if (!v->bound.shared[k]) {
    FNZ_TRY(make_gaps(v, b->geometry, out));
    fnzi_stp_elements_move(b->geometry, b->memory->cells, out->geometry, out->data);
    return FNZ_OK;
  }
  *out = (fnz_memory){b->memory->cells + fnzi_krn_stride_bytes(b->geometry->offset, cell),
                      b->geometry};
  return FNZ_OK;
}

static fnz_status give_number(verifying *v, uint32_t k, fnz_memory *out) {
  fnz_arg number;
  bool known = false;
  int64_t *cells;
  *out = (fnz_memory){NULL, NULL};
  if (v->bound.symbolic)
    FNZ_TRY(fnzi_run_symbol_number(&v->bound, v->bound.graph->inputs[k].u.value, &known, &number));
  if (!known)
    return FNZ_OK;
  FNZI_NEW(&v->arena, 1, &cells);
  *cells = number.u.i;
  out->data = cells;
  return FNZ_OK;
}

static fnz_status compare_memory(verifying *v, size_t i, const fnz_memory *from) {
  const char *name = v->exe->slots[FNZ_SIDE_OUTPUT].data[i].info.name;
  const fnz_array *expected = fnz_arrays_find(v->expected, name);
  fnz_geometry g = *from->geometry;
  void *rows;
  fnz_array actual = {name, g.dtype, g.rank, g.sizes, NULL, 0};
  actual.bytes = (size_t)fnz_geometry_numel(&g) * fnzi_dtype(g.dtype)->bytes;
  FNZ_TRY(fnzi_arena_alloc(&v->arena, actual.bytes + 1, 1, &rows));
  g.offset = 0;
  fnzi_stp_elements_pack(&g, from->data, rows);
  actual.data = rows;
  return compare(v, "on memory", expected, name, &actual);
}

/* Every other output goes into memory with gaps, where its sizes are known; the rest stay. */
static fnz_status verify_check_memory(verifying *v) {
  const fnzi_stp_slots *given = &v->exe->slots[FNZ_SIDE_INPUT];
  const fnzi_stp_slots *slots = &v->exe->slots[FNZ_SIDE_OUTPUT];
  fnz_memory *in, *out;
  FNZI_NEW(&v->arena, given->count, &in);
  FNZI_NEW(&v->arena, slots->count, &out);
  for (size_t i = 0; i < given->count; i++) {
    uint32_t k = given->data[i].input;
    FNZ_TRY(v->exe->inputs[k].is_scalar ? give_number(v, k, &in[i]) : give_tensor(v, k, &in[i]));
  }
  for (size_t i = 0; i < slots->count; i++) {
    const fnz_geometry *g = slots->data[i].info.geometry;
    if (i % 2 == 0 && g && !g->symbols)
      FNZ_TRY(make_gaps(v, g, &out[i]));
  }
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = out, .workspace = v->ws};
  fnzi_generator_repeat_begin(&v->draws);
  FNZ_TRY(alone(v, "on memory", fnzi_eng_run_bound(v->exe, v->ctx, &run, &v->bound)));
  for (size_t i = 0; i < slots->count; i++)
    FNZ_TRY(compare_memory(v, i, &out[i]));
  return FNZ_OK;
}

/* --- State ------------------------------------------------------------------------------------ */
/* Returns whether `a` is the value of an input in the state. */
static bool is_in_state(const verifying *v, const fnz_array *a) {
  for (uint32_t k = 0; k < v->bound.graph->ninputs; k++)
    if (v->bound.bindings[k].given == a)
      return v->exe->inputs[k].in_state;
  return false;
}

static fnz_status copy_as(const fnz_array *a, const char *name, fnz_arrays *to) {
  void *data;
  FNZ_TRY(fnz_arrays_add(to, name, a->dtype, a->rank, a->sizes, &data));
  if (a->bytes)
    memcpy(data, a->data, a->bytes);
  return FNZ_OK;
}

/* Makes the state from the given initial values, by the names that it has there. Runs get the other
 * arrays. */
static fnz_status make_state(verifying *v) {
  FNZ_TRY(fresh(v, &v->begin));
  FNZ_TRY(fresh(v, &v->rest));
  for (size_t i = 0; i < fnz_arrays_count(v->inputs); i++)
    if (!is_in_state(v, fnz_arrays_at(v->inputs, i)))
      FNZ_TRY(copy_as(fnz_arrays_at(v->inputs, i), fnz_arrays_at(v->inputs, i)->name, v->rest));
  for (uint32_t k = 0; k < v->bound.graph->ninputs; k++)
    if (v->exe->inputs[k].in_state && v->bound.bindings[k].given)
      FNZ_TRY(copy_as(v->bound.bindings[k].given, v->exe->inputs[k].name, v->begin));
  FNZ_TRY(fnz_executable_state_create(v->ctx, v->exe, &v->state));
  return fnz_executable_state_read(v->ctx, v->state, v->begin);
}

/* Copies the arrays of `from` whose names are not in `to`. */
static fnz_status copy_all(const fnz_arrays *from, fnz_arrays *to) {
  for (size_t i = 0; i < fnz_arrays_count(from); i++)
    if (!fnz_arrays_find(to, fnz_arrays_at(from, i)->name))
      FNZ_TRY(copy_as(fnz_arrays_at(from, i), fnz_arrays_at(from, i)->name, to));
  return FNZ_OK;
}

static fnz_status check_state(verifying *v) {
  static const char *const runs[] = {"with state", "with state, again", "with state, once more"};
  bool goes_on = v->exe->slots[FNZ_SIDE_STATE].count > 0;
  if (goes_on)
    FNZ_TRY(make_state(v));
  for (size_t i = 0; goes_on && i < sizeof runs / sizeof *runs; i++) {
    FNZ_TRY(alone(v, runs[i], verify_execute(v)));
    FNZ_TRY(compare_all(v, runs[i], v->expected, v->actual, false));
    FNZ_TRY(fresh(v, &v->actual));
    FNZ_TRY(fnz_executable_state_write(v->ctx, v->state, v->actual));
    for (size_t k = 0; k < fnz_arrays_count(v->actual); k++) {
      const fnz_array *b = fnz_arrays_at(v->actual, k), *a = fnz_arrays_find(v->expected, b->name);
      if (a) /* not all of the state is a result */
        FNZ_TRY(compare(v, runs[i], a, b->name, b));
    }
    /* If the interpreter fails on the state as it is now, there is nothing more to compare. */
    FNZ_TRY(fresh(v, &v->next));
    FNZ_TRY(copy_all(v->actual, v->next));
    FNZ_TRY(copy_all(v->rest, v->next));
    fnz_status status = interpret(v, v->next, &v->expected);
    goes_on = status == FNZ_OK;
    if (fnzi_is_final(status))
      FNZ_TRY(status);
  }
  return FNZ_OK;
}

static fnz_status verify_check(verifying *v) {
  FNZ_TRY(fnzi_eng_workspace_take(v->exe, v->ctx, &v->ws)); /* it has a plan already */
  fnz_status status = interpret(v, v->inputs, &v->expected);
  if (status != FNZ_OK)
    return compare_refusals(v, status);
  static const char *const runs[] = {"with arrays", "with arrays, again"};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    FNZ_TRY(alone(v, runs[i], verify_execute(v)));
    FNZ_TRY(compare_all(v, runs[i], v->expected, v->actual, true));
  }
  const fnzi_run_options options = {
      .inputs = v->inputs, .borrows = true, .emit = fnzi_run_emit_nothing};
  status = fnzi_run_open(&v->bound, v->ctx, v->exe->program, v->backend, &options);
  if (status == FNZ_OK)
    status = verify_check_memory(v);
  if (status == FNZ_OK)
    status = check_state(v);
  fnzi_run_close(&v->bound);
  return status;
}

fnz_status fnz_executable_verify(fnz_context *ctx, const fnz_executable *exe,
                                 const fnz_arrays *inputs) {
  verifying v = {.exe = exe, .ctx = ctx, .inputs = inputs};
  find_readings(&v, exe->program);
  fnzi_generator_repeat_open(&v.draws, ctx, exe->threads_drawing);
  fnzi_arena_init(&v.arena, ctx);
  fnz_status status = fnz_cpu_backend_create(ctx, exe->threads, &v.backend);
  if (status == FNZ_OK)
    status = verify_check(&v);
  fnz_arrays_destroy(v.expected);
  fnz_arrays_destroy(v.actual);
  fnz_arrays_destroy(v.next);
  fnz_arrays_destroy(v.begin);
  fnz_arrays_destroy(v.rest);
  fnz_executable_state_destroy(v.state);
  fnzi_eng_workspace_give(exe, v.ws);
  fnz_backend_destroy(v.backend);
  fnzi_arena_free(&v.arena);
  fnzi_generator_repeat_close(&v.draws);
  return status;
}
