/* programs.c - random programs. Each step is called on a wrapper over shapes only, which
 * gives the types of the results or refuses the call, and becomes a node of the program. */
#include "soak/draws.h"

#include "run/eager/eager.h"
#include "schema/aten_names.h"
#include "views/views.h"

/* --- the operators --------------------------------------------------------------------------- */
const char *fnzi_random_op(size_t k) {
  if (k < fnzi_call_draw_count)
    return fnzi_call_draws[k].op;
  k -= fnzi_call_draw_count;
  return k < fnzi_view_draw_count ? fnzi_view_draws[k].op : NULL;
}

static step_kind kind_of(size_t row) {
  return row < fnzi_call_draw_count ? fnzi_call_draws[row].kind : VIEW;
}

/* --- calling --------------------------------------------------------------------------------- */
/* One argument with what `value` counts turned into a tensor, or into a value of the program. */
static fnz_arg bind_one(const gen *g, const fnz_arg *arg, bool to_tensor) {
  fnz_arg out = *arg;
  if (arg->tag != FNZ_ARG_VALUE)
    return out;
  if (to_tensor)
    out.u.tensor = g->values[arg->u.value].tensor;
  else
    out.u.value = g->values[arg->u.value].value;
  return out;
}

static void bind(const gen *g, const fnzi_drawn_call *call, bool to_tensor, fnzi_drawn_call *out) {
  out->op = call->op;
  out->nargs = call->nargs;
  out->nlists = 0;
  for (size_t i = 0; i < call->nargs; i++) {
    out->args[i] = bind_one(g, &call->args[i], to_tensor);
    if (call->args[i].tag != FNZ_ARG_LIST)
      continue;
    fnz_arg *items = out->items[out->nlists++];
    for (uint32_t k = 0; k < call->args[i].count; k++)
      items[k] = bind_one(g, &call->args[i].u.list[k], to_tensor);
    out->args[i].u.list = items;
  }
}

/* A node with results that look like these. */
static fnz_status write_down(gen *g, const fnz_op *op, const fnzi_drawn_call *call,
                             const fnz_geometry *const *results, size_t count, uint64_t *values) {
  fnz_arg outputs[MOST_RESULTS], list, args[FNZI_CALL_ARGS + 10] = {{0}};
  fnzi_drawn_call bound;
  char source[32] = "model.py:";
  uint32_t index = (uint32_t)g->p->graphs.data[0].nodes.count;
  fnzi_node node = {.op = op, .nargs = op->nparams, .args = args};
  bind(g, call, false, &bound);
  memcpy(args, bound.args, bound.nargs * sizeof *args);
  for (size_t i = 0; i < count; i++) {
    const fnz_geometry *kept;
    uint32_t value;
    FNZ_TRY(fnzi_intern_geometry(g->p, results[i], &kept));
    FNZ_TRY(fnzi_value_add_fresh(g->p, 0, "v", kept, index, &value));
    outputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = value};
    values[i] = outputs[i].u.value;
  }
  fnzi_int_text(index + 1, source + strlen(source));
  FNZ_TRY(fnzi_intern(g->p, source, strlen(source), &node.source));
  list = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = outputs};
  bool is_list = op->nreturns == 1 && op->returns[0].is_list;
  node.outputs = is_list ? &list : outputs;
  node.noutputs = is_list ? 1 : (uint32_t)count;
  return fnzi_node_add(g->p, 0, &node, &index);
}

#define NONE SIZE_MAX

/* The written tensor, or else the first; NONE when there are none. */
static size_t first_tensor(const fnzi_drawn_call *call) {
  for (size_t i = call->nargs; i-- > 0;)
    if (call->args[i].tag == FNZ_ARG_VALUE && strstr(call->op, ".out"))
      return call->args[i].u.value;
  const fnz_arg *a = &call->args[0];
  if (a->tag == FNZ_ARG_LIST && a->count > 0)
    a = &a->u.list[0];
  return a->tag == FNZ_ARG_VALUE ? a->u.value : NONE;
}

/* Counts as a view of `self` where it shares memory with it. */
static void place_in_memory(gen *g, size_t self, fnz_tensor *tensor, uint32_t value) {
  const drawn *from = self == NONE ? NULL : &g->values[self];
  uint32_t k = (uint32_t)g->count++;
  drawn *d = &g->values[k];
  *d = (drawn){.tensor = tensor, .value = value, .root = k};
  if (from && fnz_tensor_shares(tensor, from->tensor)) {
    d->root = from->root;
    d->depth = from->depth + (tensor != from->tensor);
  }
  g->values[d->root].aliases++;
  g->deepest = d->depth > g->deepest ? d->depth : g->deepest;
}

/* A step that eager refuses stays in the program now and then, as the last one: its result is then
 * the target itself. */
static fnz_status keep_refusal(gen *g, const fnz_op *op, const fnzi_drawn_call *call, size_t row) {
  uint64_t value;
  g->counts->refused[row]++;
  if (fnz_last_error(g->ctx)->status == FNZ_NO_MEMORY)
    return FNZ_NO_MEMORY;
  if (fnz_last_error(g->ctx)->status != FNZ_BAD_INPUT || op->nreturns != 1 ||
      op->returns[0].is_list || kind_of(row) == PURE || !perhaps(g->c, 6))
    return FNZ_OK;
  const fnz_geometry *like = looks(g, first_tensor(call));
  g->ended = true;
  return write_down(g, op, call, &like, 1, &value);
}

/* Values have their own strides in the wrapper. For a copy that keeps the order of dimensions,
 * eager's strides follow from the strides of the tensor, which takes its place here. */
static fnz_status lie_as_in_eager(gen *g, const fnz_op *op, const fnzi_drawn_call *call,
                                  fnz_tensor **result) {
  static const uint16_t keeping[] = {FNZI_ATEN_to__dtype, FNZI_ATEN_type_as,
                                     FNZI_ATEN_resolve_conj};
  fnz_handle value;
  fnzi_eag_window w;
  size_t self = first_tensor(call);
  if (self == NONE || !fnzi_op_is_among(op, keeping, 3) ||
      fnz_tensor_shares(*result, g->values[self].tensor))
    return FNZ_OK;
  fnzi_eag_window_of(looks(g, self), &w);
  fnzi_eag_window_preserve(&w);
  w.dtype = fnz_tensor_geometry(*result)->dtype;
  w.is_conj = w.is_neg = false;
  const fnz_geometry like = fnzi_eag_window_geometry(&w);
  FNZ_TRY(g->meta->upload(g->meta->self, g->ctx, &like, NULL, &value));
  fnz_tensor_release(*result);
  return fnz_tensor_wrap(g->wrapper, &like, value, result);
}

static fnz_status call_step(gen *g, const fnzi_drawn_call *call, size_t row);

static bool make_value(gen *g, const fnzi_drawn_call *call, size_t *out) {
  const size_t before = g->count;
  size_t row = 0;
  while (strcmp(fnzi_call_draws[row].op, call->op) != 0)
    row++;
  g->failed = call_step(g, call, row);
  *out = before;
  return g->failed == FNZ_OK && g->count == before + 1;
}

static fnz_status call_step(gen *g, const fnzi_drawn_call *call, size_t row) {
  fnzi_drawn_call bound;
  fnz_tensor *results[MOST_RESULTS];
  const fnz_op *op = fnz_op_find(NULL, call->op);
  size_t count;
  bind(g, call, true, &bound);
  if (fnz_tensor_call(g->wrapper, bound.op, bound.args, bound.nargs, results, MOST_RESULTS, &count))
    return keep_refusal(g, op, call, row);
  bool is_small = true;
  for (size_t i = 0; is_small && i < count; i++)
    is_small = fnz_geometry_numel(fnz_tensor_geometry(results[i])) <= MOST_ELEMENTS &&
               fnz_tensor_geometry(results[i])->rank <= MOST_DIMS;
  if (kind_of(row) != WRITE && !is_small) /* a write has happened */
    return FNZ_OK;
  if (count == 1)
    FNZ_TRY(lie_as_in_eager(g, op, call, &results[0]));
  g->counts->used[row]++;
  g->counts->steps++;
  if (kind_of(row) == WRITE)
    g->focus = first_tensor(call);
  const fnz_geometry *geometries[MOST_RESULTS] = {NULL};
  uint64_t values[MOST_RESULTS];
  for (size_t i = 0; i < count; i++)
    geometries[i] = fnz_tensor_geometry(results[i]);
  FNZ_TRY(write_down(g, op, call, geometries, count, values));
  for (size_t i = 0; i < count; i++)
    place_in_memory(g, first_tensor(call), results[i], (uint32_t)values[i]);
  return FNZ_OK;
}

/* --- steps ----------------------------------------------------------------------------------- */
/* Kernels, not the aliasing, refuse the operator for this dtype. */
static bool makes_no_sense(const char *op, const fnz_geometry *self) {
  return (!strcmp(op, "_neg_view") && (self->dtype == FNZ_BOOL || self->dtype == FNZ_C32)) ||
         (!strcmp(op, "_conj") && !fnzi_is_complex(self->dtype)) ||
         (!strcmp(op, "view_as_complex") && !fnzi_is_float(self->dtype));
}

/* A row of random numbers, where one is found soon: `row` is where the search begins. */
static size_t random_row(const gen *g, size_t row) {
  for (size_t n = 0; n < fnzi_call_draw_count; n++, row = (row + 1) % fnzi_call_draw_count)
    if (!g->off[row] && (fnz_op_find(NULL, fnzi_random_op(row))->tags & FNZI_TAG_RANDOM))
      return row;
  return row;
}

static fnz_status step(gen *g) {
  fnzi_drawn_call call;
  uint32_t percent = choose(g->c, 100);
  if (percent == 0 || g->count + 2 * MOST_RESULTS > MOST_VALUES)
    return FNZ_OK; /* the simplest step is none */
  /* Writes 30 in 100, views 50, the rest pure. */
  const step_kind kind = percent < 50 ? VIEW : percent < 80 ? WRITE : PURE;
  /* Any of the kind that is not switched off; the one drawn where all of them are. */
  const size_t first = g->first_row[kind], count = g->row_count[kind];
  size_t at = choose(g->c, (uint32_t)count);
  for (size_t n = 0; n < count; n++, at = (at + 1) % count)
    if (!g->off[first + at])
      break;
  size_t row = first + at;
  if (g->in_draws && perhaps(g->c, 50))
    row = random_row(g, row % fnzi_call_draw_count);
  /* A written tensor shows an element in several places now and then. */
  size_t self =
      kind_of(row) == WRITE && perhaps(g->c, 8) ? fnzi_pick_repeating(g) : fnzi_pick_value(g);
  fnzi_call_start(&call, fnzi_random_op(row));
  if (kind_of(row) != VIEW) {
    bool fits = fnzi_call_draws[row].draw(g, self, &call);
    FNZ_TRY(g->failed);
    if (!fits)
      return FNZ_OK;
    return call_step(g, &call, row);
  }
  if (makes_no_sense(call.op, looks(g, self)))
    return FNZ_OK;
  fnzi_call_add(&call, tensor_arg(self));
  fnzi_view_draws[row - fnzi_call_draw_count].draw(g->c, looks(g, self), &call);
  return call_step(g, &call, row);
}

/* --- the program ----------------------------------------------------------------------------- */

static fnz_status add_input(gen *g) {
  int64_t work[2 * FNZ_MAX_RANK];
  fnz_geometry like;
  const fnz_geometry *kept;
  fnz_handle handle;
  char name[32] = "x";
  uint32_t value;
  static const fnz_dtype dtypes[] = {FNZ_I32,  FNZ_I32, FNZ_I32, FNZ_F32, FNZ_F32, FNZ_F32,
                                     FNZ_I32,  FNZ_I32, FNZ_I64, FNZ_I64, FNZ_F32, FNZ_U8,
                                     FNZ_I32,  FNZ_F32, FNZ_F64, FNZ_C64, FNZ_I32, FNZ_F16,
                                     FNZ_BOOL, FNZ_I8,  FNZ_I16, FNZ_I64};
  fnz_dtype dtype = dtypes[choose(g->c, sizeof dtypes / sizeof *dtypes)];
  if (dtype == FNZ_F16 && choose(g->c, 2))
    dtype = FNZ_BF16;
  fnzi_draw_geometry(g->c, dtype, perhaps(g->c, 25), work, &like);
  if (perhaps(g->c, 7))
    fnzi_draw_overlap(g->c, &like, work + FNZ_MAX_RANK);
  g->counts->repeating += !fnzi_is_dense(&like) &&
                          fnzi_oracle_relate_self(NULL, &like, FNZI_LITTLE_WORK) == FNZI_OVERLAPS;
  fnzi_int_text(g->ninputs++, name + 1);
  FNZ_TRY(fnzi_intern_geometry(g->p, &like, &kept));
  FNZ_TRY(fnzi_value_add(g->p, 0, name, kept, FNZI_NO_NODE, &value));
  FNZ_TRY(g->meta->upload(g->meta->self, g->ctx, kept, NULL, &handle));
  drawn *d = &g->values[g->count];
  *d = (drawn){.value = value, .root = (uint32_t)g->count++, .aliases = 1};
  g->counts->inputs++;
  g->counts->dtypes[dtype]++;
  return fnz_tensor_wrap(g->wrapper, kept, handle, &d->tensor);
}

/* Inputs behind the first one lie in its memory, or in that of one before: near its beginning, so
 * that most of them overlap. */
static fnz_status draw_aliases(gen *g) {
  for (uint32_t k = 1; k < g->ninputs; k++) {
    const uint32_t first = choose(g->c, k);
    const fnzi_value *base = fnzi_value_at(g->p, 0, first);
    const fnzi_value *v = fnzi_value_at(g->p, 0, k);
    fnz_geometry window = *v->geometry;
    int64_t low, high;
    if (perhaps(g->c, 30) || !fnzi_extent(base->geometry, &low, &high) ||
        g->p->inputs[first].kind != FNZ_INPUT_USER || g->p->inputs[k].kind != FNZ_INPUT_USER)
      continue;
    window.offset =
        perhaps(g->c, 40) ? 0 : (int64_t)choose(g->c, (uint32_t)(high < 6 ? high + 1 : 6));
    FNZ_TRY(fnz_program_declare_alias(g->ctx, g->p, v->name, base->name, &window));
    g->counts->shared++;
  }
  return FNZ_OK;
}

/* The tensor is one that the program carries: when it is written it becomes a buffer. */
static fnz_status make_constant(gen *g, uint32_t k) {
  const fnz_geometry *like = fnzi_value_at(g->p, 0, g->values[k].value)->geometry;
  int64_t low, high;
  uint64_t seed = k;
  char name[32] = "c";
  fnzi_blob *blob;
  if (!fnzi_is_dense(like) || !fnzi_extent(like, &low, &high))
    return FNZ_OK;
  const fnz_geometry all = {.dtype = like->dtype, .rank = 1, .sizes = &high};
  fnzi_int_text(k, name + 1);
  FNZ_TRY(fnzi_blob_create(g->ctx, (size_t)high * fnzi_dtype(like->dtype)->bytes, &blob));
  fnzi_random_fill(&all, fnzi_blob_data(blob), &seed);
  fnz_status status = fnzi_weight_add(g->p, name, blob, like);
  fnzi_blob_release(blob);
  FNZ_TRY(status);
  g->p->inputs[k].kind = FNZ_INPUT_CONSTANT;
  g->counts->constants++;
  return fnzi_intern(g->p, name, strlen(name), &g->p->inputs[k].target);
}

static fnz_status finish(gen *g) {
  size_t noutputs = choose(g->c, 5);
  fnzi_graph *graph = fnzi_graph_main(g->p);
  FNZ_TRY(fnzi_graph_set_inputs(g->p, 0, g->ninputs));
  FNZ_TRY(fnzi_graph_set_outputs(g->p, 0, noutputs));
  for (uint32_t i = 0; i < g->ninputs; i++) {
    graph->inputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = g->values[i].value};
    g->p->inputs[i] =
        (fnz_input_spec){.kind = FNZ_INPUT_USER, .target = graph->values.data[i].name};
    if (perhaps(g->c, 8))
      FNZ_TRY(make_constant(g, i));
  }
  for (size_t i = 0; i < noutputs; i++) {
    size_t k = fnzi_pick_value(g);
    graph->outputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = g->values[k].value};
  }
  FNZ_TRY(fnz_program_verify(g->ctx, g->p));
  return perhaps(g->c, 30) ? draw_aliases(g) : FNZ_OK;
}

static void count(const gen *g) {
  fnzi_random_counts *n = g->counts;
  uint32_t most = 0;
  for (size_t k = 0; k < g->count; k++) {
    most = g->values[k].aliases > most ? g->values[k].aliases : most;
    n->empty += fnz_geometry_numel(looks(g, k)) == 0;
    n->zero_dim += looks(g, k)->rank == 0;
  }
  n->programs++;
  n->values += g->count;
  n->lengths[fnzi_random_bucket(fnz_node_count(g->p, 0))]++;
  n->depths[fnzi_random_bucket(g->deepest)]++;
  n->aliases[fnzi_random_bucket(most)]++;
}

static fnz_status fill_in(gen *g) {
  uint32_t graph;
  /* The rows of a kind lie together. */
  for (size_t row = fnzi_call_draw_count + fnzi_view_draw_count; row-- > 0;) {
    g->first_row[kind_of(row)] = (uint32_t)row;
    g->row_count[kind_of(row)]++;
  }
  FNZ_TRY(fnzi_graph_add(g->p, "", &graph));
  for (uint32_t n = 1 + choose(g->c, 3); n > 0; n--)
    FNZ_TRY(add_input(g));
  /* Most programs are small; one in a thousand is long. */
  uint32_t size = choose(g->c, 1000);
  uint32_t steps = size < 400   ? 1 + choose(g->c, 8)
                   : size < 900 ? choose(g->c, 30)
                   : size < 990 ? choose(g->c, 90)
                   : size < 999 ? 90 + choose(g->c, 160)
                                : 250 + choose(g->c, 750),
           swarm = choose(g->c, 4);
  for (size_t row = 0; fnzi_random_op(row) && swarm; row++)
    g->off[row] = perhaps(g->c, 33);
  g->in_chains = perhaps(g->c, 4);
  g->in_draws = perhaps(g->c, 6);
  while (steps-- > 0 && !g->ended) {
    choices_part(g->c);
    FNZ_TRY(step(g));
  }
  choices_part(g->c);
  FNZ_TRY(finish(g));
  count(g);
  return FNZ_OK;
}

static fnz_status programs_draw(gen *g) {
  if (!g->meta)
    FNZ_TRY(fnz_meta_backend_create(g->ctx, &g->meta));
  FNZ_TRY(fnz_wrapper_create(g->ctx, g->meta, &g->wrapper));
  FNZ_TRY(fnzi_program_create(g->ctx, &g->p));
  return fill_in(g);
}

fnz_status fnzi_random_program(fnz_context *ctx, fnz_backend *meta, choices *c,
                               fnzi_random_counts *counts, fnz_program **out) {
  gen *g = fnzi_resize(ctx, NULL, 0, sizeof *g);
  *out = NULL;
  if (!g)
    return fnzi_no_memory(ctx);
  memset(g, 0, offsetof(gen, values));
  g->ctx = ctx;
  g->c = c;
  g->counts = counts;
  g->meta = meta;
  g->make_value = make_value;
  fnz_status status = programs_draw(g);
  fnz_wrapper_destroy(g->wrapper);
  if (!meta)
    fnz_backend_destroy(g->meta);
  if (status != FNZ_OK)
    fnz_program_destroy(g->p);
  else
    *out = g->p;
  fnzi_free(ctx, g, sizeof *g);
  return status;
}
