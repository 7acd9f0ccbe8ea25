/* bind.c - the inputs of a program as memory.
 *
 * User inputs come from named arrays, weights from the program's blobs unless an array is given for
 * them (given.c); weights that share a blob share memory. A backend of hashes gets unknowns
 * instead: a memory is a series that the seed and the input's name begin, so that both interpreters
 * see the same ones. */
#include "run/numbers.h"
#include "run/frames.h"

/* --- Unknowns --------------------------------------------------------------------------------- */

static fnzi_cell unknown_start(const fnzi_run_state *run, const char *name) {
  uint64_t h = fnzi_mix(run->options->seed + 0x9e3779b97f4a7c15u);
  for (const char *c = name; *c != '\0'; c++)
    h = fnzi_mix((h ^ (unsigned char)*c) + 0x9e3779b97f4a7c15u);
  return (fnzi_cell){h, 0};
}

static void fill_unknown(fnzi_run_state *run, fnzi_run_memory *memory, const char *name) {
  fnzi_run_memory_become(run, memory, unknown_start(run, name));
}

/* --- Inputs ----------------------------------------------------------------------------------- */

/* Elements of the smallest memory that holds the geometry. */
static fnz_status reach(fnzi_run_state *run, const fnz_geometry *g, int64_t *out) {
  int64_t low;
  if (!fnzi_extent(g, &low, out) || low < 0)
    return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, "", "a tensor begins before its memory");
  return FNZ_OK;
}

/* An input that shares memory: unknowns are filled in with the first one, numbers with each. The
 * input of a whole memory is filled from the others. */
static fnz_status bind_shared_user(fnzi_run_state *run, uint32_t k, const char *name) {
  fnzi_run_binding *b = &run->bindings[k];
  bool is_new, is_made = b->kind == FNZ_INPUT_MEMORY && b->given == NULL;
  FNZ_TRY(fnzi_run_bind_shared(run, k, &is_new));
  if (run->hashes && is_new)
    fill_unknown(run, b->memory, name);
  if (run->hashes || is_made)
    return FNZ_OK;
  return fnzi_run_check_array(run, name, b->geometry, b->given);
}

bool fnzi_run_is_whole_memory(const fnz_program *p, const char *name) {
  for (uint32_t k = fnzi_graph_main(p)->ninputs; k-- > 0 && p->inputs[k].kind == FNZ_INPUT_MEMORY;)
    if (strcmp(p->inputs[k].target, name) == 0)
      return true;
  return false;
}

/* Unknowns begin with the name of the first input that lies in the blob: inputs have one order in
 * all programs that are made of one. */
static fnz_status blob_memory(fnzi_run_state *run, const fnzi_weight *weight,
                              fnzi_run_memory **out) {
  size_t bytes = fnzi_blob_bytes(weight->blob), item = fnzi_dtype(weight->geometry->dtype)->bytes;
  int64_t elements = (int64_t)(bytes / item + (bytes % item != 0));
  bool borrows = run->options->borrows && !run->hashes;
  for (size_t k = 0; k < run->graph->ninputs && borrows; k++) { /* no array is given for it */
    const fnzi_run_binding *b = &run->bindings[k];
    const fnzi_weight *w = b->given && b->target ? fnzi_weight_find(run->program, b->target) : NULL;
    borrows = !w || w->blob != weight->blob;
  }
  if (borrows)
    return fnzi_run_memory_borrow(run, fnzi_blob_data(weight->blob), bytes, out);
  if (run->hashes)
    return fnzi_run_memory_series(run, weight->geometry->dtype, elements,
                                  unknown_start(run, weight->name), out);
  FNZ_TRY(fnzi_run_memory_unfilled(run, weight->geometry->dtype, elements, bytes, out));
  if (bytes > 0)
    memcpy((*out)->cells, fnzi_blob_data(weight->blob), bytes);
  return FNZ_OK;
}

/* Memory of its own for a weight that the file has no data for. */
static fnz_status no_blob(fnzi_run_state *run, fnzi_run_binding *b, const char *target) {
  int64_t elements;
  FNZ_TRY(reach(run, b->geometry, &elements));
  if (run->hashes)
    return fnzi_run_memory_series(run, b->geometry->dtype, elements, unknown_start(run, target),
                                  &b->memory);
  FNZ_TRY(fnzi_run_memory_create(run, b->geometry->dtype, elements, &b->memory));
  if (b->given == NULL)
    fnzi_run_memory_drop(run, b->memory);
  return FNZ_OK;
}

/* The same for weights that share memory by the signature. */
static fnz_status no_shared_blob(fnzi_run_state *run, uint32_t k, const char *target) {
  fnzi_run_binding *b = &run->bindings[k];
  bool is_new;
  FNZ_TRY(fnzi_run_bind_shared(run, k, &is_new));
  if (is_new && run->hashes)
    fill_unknown(run, b->memory, target);
  else if (is_new && !fnzi_run_any_given(run, k))
    fnzi_run_memory_drop(run, b->memory);
  return FNZ_OK;
}

static fnz_status bind_weight(fnzi_run_state *run, fnzi_map *blobs, uint32_t k,
                              const char *target) {
  fnzi_run_binding *b = &run->bindings[k];
  const fnzi_weight *weight = fnzi_weight_find(run->program, target);
  if (weight == NULL || weight->blob == NULL)
    return run->shared[k] ? no_shared_blob(run, k, target) : no_blob(run, b, target);
  int64_t high;
  b->geometry = weight->geometry;
  FNZ_TRY(reach(run, b->geometry, &high));
  if ((size_t)high > fnzi_blob_bytes(weight->blob) / fnzi_dtype(b->geometry->dtype)->bytes)
    return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, target, "the file has %zu bytes for %lld elements",
                     fnzi_blob_bytes(weight->blob), (long long)high);
  uint64_t known;
  if (fnzi_map_get(blobs, &weight->blob, sizeof weight->blob, &known)) {
    b->memory = run->memories.data[known];
    b->memory->shared = true;
    /* One blob under several dtypes is no memory of hashes per element. */
    size_t cell = run->backend->cell_bytes(run->backend->self, b->geometry->dtype);
    if ((size_t)high <= b->memory->bytes / cell)
      return FNZ_OK;
    return fnzi_fail(
        run->ctx, FNZ_CLASS_UNSUPPORTED, target,
        "weights of several dtypes share this one's memory, which needs hashes per byte");
  }
  FNZ_TRY(blob_memory(run, weight, &b->memory));
  return fnzi_map_set(blobs, &weight->blob, sizeof weight->blob, run->memories.count - 1);
}

static fnz_status bind_input(fnzi_run_state *run, fnzi_map *blobs, size_t k) {
  const fnz_arg *arg = &run->graph->inputs[k];
  fnzi_run_binding *b = &run->bindings[k];
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  const fnzi_value *value = &run->graph->values.data[arg->u.value];
  b->geometry = fnzi_run_recorded(run, &run->arena, arg->u.value);
  if (b->geometry == NULL && b->kind == FNZ_INPUT_USER && run->options->inputs != NULL &&
      b->given == NULL)
    return fnzi_run_refuse_missing(run, value->name);
  if (b->geometry == NULL)
    return fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, value->name,
                     "the program does not say how large this input is");
  if (b->geometry->is_conj || b->geometry->is_neg)
    return fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, value->name,
                     "an input with a conjugate or negative bit cannot be run; resolve it before");
  bool by_caller = b->kind == FNZ_INPUT_USER ||
                   (b->kind == FNZ_INPUT_MEMORY && !fnzi_weight_find(run->program, b->target));
  if (by_caller && run->shared[k])
    return bind_shared_user(run, (uint32_t)k, value->name);
  if (by_caller) {
    int64_t elements;
    FNZ_TRY(reach(run, b->geometry, &elements));
    size_t filled = 0; /* fill_given() leaves no gap where there is none */
    if (run->hashes)
      return fnzi_run_memory_series(run, b->geometry->dtype, elements,
                                    unknown_start(run, value->name), &b->memory);
    FNZ_TRY(fnzi_run_check_array(run, value->name, b->geometry, b->given));
    if (fnzi_is_contiguous(b->geometry) && b->geometry->offset == 0)
      filled = b->given->bytes;
    return fnzi_run_memory_unfilled(run, b->geometry->dtype, elements, filled, &b->memory);
  }
  return bind_weight(run, blobs, (uint32_t)k, b->target);
}

static fnz_status bind_inputs(fnzi_run_state *run, fnzi_map *blobs) {
  FNZ_TRY(fnzi_run_find_shared(run));
  for (size_t k = 0; k < run->graph->ninputs; k++)
    FNZ_TRY(bind_input(run, blobs, k));
  for (uint32_t k = 0; k < run->graph->ninputs; k++) {
    /* Runs once all memory is bound. Data of the file is there already. */
    const fnzi_run_binding *b = &run->bindings[k];
    if (b->memory != NULL && b->given != NULL) {
      FNZ_TRY(
          fnzi_run_check_array(run, b->name == NULL ? b->target : b->name, b->geometry, b->given));
      if (b->memory->shared)
        FNZ_TRY(fnzi_run_fill_shared(run, k, b->given->data));
      else
        fnzi_run_scatter(b->geometry, b->given->data, fnzi_dtype(b->given->dtype)->bytes,
                         b->memory->cells);
    }
  }
  for (uint32_t k = 0; k < run->graph->ninputs; k++)
    FNZ_TRY(fnzi_run_check_filled(run, k));
  return FNZ_OK;
}

static fnz_status start(fnzi_run_state *run, fnz_context *ctx, const fnz_program *program,
                        fnz_backend *backend, const fnzi_run_options *options) {
  memset(run, 0, sizeof *run);
  run->ctx = ctx;
  run->program = program;
  run->graph = fnzi_graph_main(program);
  run->backend = backend;
  run->options = options;
  run->hashes = backend->cell_bytes(backend->self, FNZ_U8) != 1;
  fnzi_arena_init(&run->arena, ctx);
  fnzi_arena_init(&run->scratch, ctx);
  return fnzi_run_frames_open(run);
}

fnz_status fnzi_run_open(fnzi_run_state *run, fnz_context *ctx, const fnz_program *program,
                         fnz_backend *backend, const fnzi_run_options *options) {
  fnzi_map blobs;
  FNZ_TRY(start(run, ctx, program, backend, options));
  fnzi_map_init(&blobs, ctx);
  fnz_status status = fnzi_run_find_given(run);
  if (status == FNZ_OK)
    status = fnzi_run_numbers_open(run);
  if (status == FNZ_OK)
    status = bind_inputs(run, &blobs);
  fnzi_map_free(&blobs);
  return status;
}

fnz_status fnzi_run_open_sizes(fnzi_run_state *run, fnz_context *ctx, const fnz_program *program,
                               fnz_backend *backend, const fnzi_run_options *options,
                               const fnz_array *const *given) {
  FNZ_TRY(start(run, ctx, program, backend, options));
  FNZI_NEW(&run->arena, run->graph->ninputs, &run->bindings);
  for (size_t k = 0; k < run->graph->ninputs; k++)
    run->bindings[k] = (fnzi_run_binding){.kind = program->inputs[k].kind, .given = given[k]};
  return fnzi_run_numbers_open(run);
}

void fnzi_run_close(fnzi_run_state *run) {
  for (size_t i = 0; i < run->memories.count; i++)
    fnzi_run_memory_drop(run, run->memories.data[i]);
  FNZI_VEC_FREE(run->ctx, &run->memories);
  fnzi_run_frames_close(run);
  fnzi_run_numbers_close(run);
  fnzi_arena_free(&run->scratch);
  fnzi_arena_free(&run->arena);
}
