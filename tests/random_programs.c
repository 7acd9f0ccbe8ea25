/* random_programs.c - random programs. Each step is called on a wrapper over shapes only, which
 * tells what the results look like and what is refused, and is written down as a node beside it. */
#include "tests/random_programs.h"

#include <fnz/tensor.h>

#include <stdio.h>

enum { MOST_VALUES = 400, MOST_RESULTS = 64, MOST_ELEMENTS = 1024, MOST_TRIES = 8 };

typedef struct drawn {
  fnz_tensor *tensor;
  uint32_t value;
} drawn;

typedef struct gen {
  fnz_context *ctx;
  choices *c;
  random_counts *counts;
  fnz_backend *meta;
  fnz_world *world;
  fnz_program *p;
  drawn values[MOST_VALUES];
  size_t count, focus; /* focus: last written */
  uint32_t ninputs;
  uint8_t off[RANDOM_MOST_OPS]; /* switched off in this program */
  bool ended;                   /* a refused step was written down */
} gen;

/* Fills in a call on values[self]; false when there is nothing to call it on. */
typedef bool draw_call_fn(gen *g, size_t self, drawn_call *call);

/* --- operands -------------------------------------------------------------------------------------- */
static const fnz_geometry *looks(const gen *g, size_t k) {
  return fnz_tensor_geometry(g->values[k].tensor);
}

static size_t uniform(gen *g) {
  return g->count - 1 - choose(g->c, (uint32_t)g->count);
}

/* Some tensor that shares memory with the last one written, if there is one soon. */
static size_t of_same_memory(gen *g) {
  size_t k = uniform(g);
  for (size_t n = 0; n < g->count; n++, k = (k + 1) % g->count)
    if (k != g->focus && fnz_tensor_shares(g->values[k].tensor, g->values[g->focus].tensor))
      return k;
  return g->focus;
}

static size_t pick(gen *g) {
  uint32_t how = choose(g->c, 8);
  if (how >= 6)
    return of_same_memory(g);
  if (how >= 3)
    return uniform(g);
  size_t back = 0;
  while (back + 1 < g->count && perhaps(g->c, 50))
    back++;
  return g->count - 1 - back;
}

static bool broadcasts(const fnz_geometry *from, const fnz_geometry *to) {
  if (from->rank > to->rank)
    return false;
  for (uint32_t d = 0; d < from->rank; d++) {
    int64_t size = from->sizes[from->rank - 1 - d];
    if (size != 1 && size != to->sizes[to->rank - 1 - d])
      return false;
  }
  return true;
}

static fnz_arg tensor_arg(size_t k) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = k};
}

static fnz_arg draw_number(gen *g, fnz_dtype dtype) {
  int64_t i = choose_in(g->c, 0, 5) - 2;
  if (dtype == FNZ_BOOL)
    return (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = i > 0};
  if (fnzi_is_integer(dtype) || perhaps(g->c, 60))
    return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = (double)i * 0.75};
}

/* A tensor that fits `self` as operand, or now and then any; values[*out]. */
static bool pick_operand(gen *g, size_t self, bool any_dtype, size_t *out) {
  const fnz_geometry *to = looks(g, self);
  for (int n = 0; n < MOST_TRIES; n++) {
    *out = n == 0 ? pick(g) : (*out + 1) % g->count;
    const fnz_geometry *from = looks(g, *out);
    if (broadcasts(from, to) && (any_dtype || fnzi_can_cast(from->dtype, to->dtype)))
      return true;
  }
  return perhaps(g->c, 3);
}

static void add_operand(gen *g, size_t self, bool any_dtype, drawn_call *call) {
  size_t other;
  if (!perhaps(g->c, 20) && pick_operand(g, self, any_dtype, &other))
    call_add(call, tensor_arg(other));
  else
    call_add(call, draw_number(g, looks(g, self)->dtype));
}

/* A value that satisfies `is`, searched from a random one on. */
static bool search(gen *g, bool (*is)(const fnz_geometry *have, const fnz_geometry *like),
                   const fnz_geometry *like, size_t *out) {
  *out = pick(g);
  for (size_t n = 0; n < g->count; n++, *out = (*out + 1) % g->count)
    if (is(looks(g, *out), like))
      return true;
  return false;
}

static bool is_mask(const fnz_geometry *have, const fnz_geometry *like) {
  return have->dtype == FNZ_BOOL && broadcasts(have, like);
}

static bool is_alike(const fnz_geometry *have, const fnz_geometry *like) {
  return have->dtype == like->dtype && fnzi_same_sizes(have, like);
}

static bool is_same_size(const fnz_geometry *have, const fnz_geometry *like) {
  return fnzi_same_sizes(have, like);
}

static bool is_number(const fnz_geometry *have, const fnz_geometry *like) {
  return have->rank == 0 && fnzi_can_cast(have->dtype, like->dtype);
}

/* --- writes ---------------------------------------------------------------------------------------- */
static bool draw_self(gen *g, size_t self, drawn_call *call) {
  (void)g;
  call_add(call, tensor_arg(self));
  return true;
}

static bool draw_binary(gen *g, size_t self, drawn_call *call) {
  draw_self(g, self, call);
  add_operand(g, self, false, call);
  return true;
}

/* Subtraction and negation have no meaning for truth values. */
static bool draw_difference(gen *g, size_t self, drawn_call *call) {
  draw_binary(g, self, call);
  const fnz_arg *b = &call->args[1];
  return looks(g, self)->dtype != FNZ_BOOL &&
         (b->tag != FNZ_ARG_VALUE || looks(g, b->u.value)->dtype != FNZ_BOOL);
}

static bool draw_negation(gen *g, size_t self, drawn_call *call) {
  draw_self(g, self, call);
  return looks(g, self)->dtype != FNZ_BOOL;
}

static bool draw_copy(gen *g, size_t self, drawn_call *call) {
  size_t other;
  draw_self(g, self, call);
  if (!pick_operand(g, self, true, &other))
    return false;
  call_add(call, tensor_arg(other));
  return true;
}

static bool draw_with_number(gen *g, size_t self, drawn_call *call) {
  draw_self(g, self, call);
  call_add(call, draw_number(g, looks(g, self)->dtype));
  return true;
}

static bool draw_fill_tensor(gen *g, size_t self, drawn_call *call) {
  size_t other;
  draw_self(g, self, call);
  if (!search(g, is_number, looks(g, self), &other))
    return false;
  call_add(call, tensor_arg(other));
  return true;
}

static bool draw_clamp(gen *g, size_t self, drawn_call *call) {
  draw_self(g, self, call);
  call_int(call, choose_in(g->c, 0, 2) - 2);
  call_int(call, choose_in(g->c, 0, 2));
  return !fnzi_is_complex(looks(g, self)->dtype) && looks(g, self)->dtype != FNZ_BOOL;
}

static bool draw_masked(gen *g, size_t self, drawn_call *call) {
  size_t mask;
  draw_self(g, self, call);
  if (!search(g, is_mask, looks(g, self), &mask))
    return false;
  call_add(call, tensor_arg(mask));
  call_add(call, draw_number(g, looks(g, self)->dtype));
  return true;
}

static bool draw_index_put(gen *g, size_t self, drawn_call *call) {
  size_t mask, other;
  draw_self(g, self, call);
  if (!search(g, is_mask, looks(g, self), &mask) ||
      looks(g, mask)->rank != looks(g, self)->rank ||
      !fnzi_same_sizes(looks(g, mask), looks(g, self)) ||
      !search(g, is_number, looks(g, self), &other) ||
      looks(g, other)->dtype != looks(g, self)->dtype)
    return false;
  fnz_arg *items = call->items[call->nlists++];
  items[0] = tensor_arg(mask);
  call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = 1, .u.list = items});
  call_add(call, tensor_arg(other));
  return true;
}

static bool draw_cumsum(gen *g, size_t self, drawn_call *call) {
  draw_self(g, self, call);
  call_int(call, choose(g->c, looks(g, self)->rank));
  return true;
}

static bool draw_addcmul(gen *g, size_t self, drawn_call *call) {
  size_t a, b;
  draw_self(g, self, call);
  if (!pick_operand(g, self, false, &a) || !pick_operand(g, self, false, &b))
    return false;
  call_add(call, tensor_arg(a));
  call_add(call, tensor_arg(b));
  return true;
}

/* add.out(a, b, out=self) */
static bool draw_out(gen *g, size_t self, drawn_call *call) {
  size_t a, b;
  if (!search(g, is_same_size, looks(g, self), &a) || !pick_operand(g, a, false, &b))
    return false;
  call_add(call, tensor_arg(a));
  call_add(call, tensor_arg(b));
  if (strcmp(call->op, "add.out") == 0)
    call_add(call, (fnz_arg){.tag = FNZ_ARG_DEFAULT});
  call_add(call, tensor_arg(self));
  return true;
}

static bool draw_unary_out(gen *g, size_t self, drawn_call *call) {
  size_t a;
  if (looks(g, self)->dtype == FNZ_BOOL || !search(g, is_alike, looks(g, self), &a))
    return false;
  call_add(call, tensor_arg(a));
  call_add(call, tensor_arg(self));
  return true;
}

/* Tensors for a foreach, repeated ones included. */
static void add_tensors(gen *g, size_t first, uint32_t count, drawn_call *call) {
  fnz_arg *items = call->items[call->nlists++];
  items[0] = tensor_arg(first);
  for (uint32_t i = 1; i < count; i++)
    items[i] = tensor_arg(perhaps(g->c, 25) ? first : pick(g));
  call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = items});
}

static bool draw_foreach(gen *g, size_t self, drawn_call *call) {
  add_tensors(g, self, 1 + choose(g->c, 3), call);
  call_int(call, choose_in(g->c, 1, 3));
  return true;
}

static bool draw_foreach_list(gen *g, size_t self, drawn_call *call) {
  add_tensors(g, self, 1 + choose(g->c, 2), call);
  const fnz_arg *targets = call->args[0].u.list;
  fnz_arg *items = call->items[call->nlists++];
  for (uint32_t i = 0; i < call->args[0].count; i++) {
    size_t other;
    if (!search(g, is_alike, looks(g, targets[i].u.value), &other))
      return false;
    items[i] = tensor_arg(other);
  }
  call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = call->args[0].count, .u.list = items});
  return true;
}

/* --- in-place views -------------------------------------------------------------------------------- */
static bool draw_dim_arg(gen *g, size_t self, drawn_call *call) {
  bool more = strcmp(call->op, "unsqueeze_") == 0;
  draw_self(g, self, call);
  call_int(call, choose(g->c, looks(g, self)->rank + more));
  return true;
}

static bool draw_two_dim_args(gen *g, size_t self, drawn_call *call) {
  draw_dim_arg(g, self, call);
  call_int(call, choose(g->c, looks(g, self)->rank));
  return true;
}

/* --- pure operators -------------------------------------------------------------------------------- */
static bool draw_where(gen *g, size_t self, drawn_call *call) {
  size_t mask, other;
  if (!search(g, is_mask, looks(g, self), &mask) || !search(g, is_alike, looks(g, self), &other))
    return false;
  call_add(call, tensor_arg(mask));
  call_add(call, tensor_arg(self));
  call_add(call, tensor_arg(other));
  return true;
}

static bool draw_cat(gen *g, size_t self, drawn_call *call) {
  size_t other;
  if (!search(g, is_alike, looks(g, self), &other))
    return false;
  fnz_arg *items = call->items[call->nlists++];
  items[0] = tensor_arg(self);
  items[1] = tensor_arg(other);
  call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = 2, .u.list = items});
  call_int(call, choose(g->c, looks(g, self)->rank));
  return true;
}

static bool draw_like(gen *g, size_t self, drawn_call *call) {
  draw_self(g, self, call);
  call_add(call, tensor_arg(pick(g)));
  return true;
}

static bool draw_tensors(gen *g, size_t self, drawn_call *call) {
  add_tensors(g, self, 1 + choose(g->c, 2), call);
  return true;
}

/* full, with the sizes of some tensor */
static bool draw_full(gen *g, size_t self, drawn_call *call) {
  const fnz_geometry *like = looks(g, self);
  call_ints(call, like->sizes, like->rank);
  call_int(call, choose_in(g->c, 0, 3));
  call_add(call, (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = like->dtype});
  return true;
}

/* --- the table ------------------------------------------------------------------------------------- */
typedef enum step_kind { WRITE, PURE, VIEW } step_kind;

static const struct {
  const char *op;
  draw_call_fn *draw;
  step_kind kind;
} call_draws[] = {
    {"add_.Tensor", draw_binary, WRITE},
    {"mul_.Tensor", draw_binary, WRITE},
    {"sub_.Tensor", draw_difference, WRITE},
    {"copy_", draw_copy, WRITE},
    {"fill_.Scalar", draw_with_number, WRITE},
    {"fill_.Tensor", draw_fill_tensor, WRITE},
    {"zero_", draw_self, WRITE},
    {"relu_", draw_self, WRITE},
    {"neg_", draw_negation, WRITE},
    {"clamp_", draw_clamp, WRITE},
    {"logical_not_", draw_self, WRITE},
    {"ge_.Scalar", draw_with_number, WRITE},
    {"masked_fill_.Scalar", draw_masked, WRITE},
    {"index_put_", draw_index_put, WRITE},
    {"cumsum_", draw_cumsum, WRITE},
    {"addcmul_", draw_addcmul, WRITE},
    {"add.out", draw_out, WRITE},
    {"mul.out", draw_out, WRITE},
    {"neg.out", draw_unary_out, WRITE},
    {"_foreach_add_.Scalar", draw_foreach, WRITE},
    {"_foreach_mul_.Scalar", draw_foreach, WRITE},
    {"_foreach_add_.List", draw_foreach_list, WRITE},
    {"_foreach_copy_", draw_foreach_list, WRITE},
    {"t_", draw_self, WRITE},
    {"transpose_", draw_two_dim_args, WRITE},
    {"unsqueeze_", draw_dim_arg, WRITE},
    {"squeeze_.dim", draw_dim_arg, WRITE},
    {"swapaxes_", draw_two_dim_args, WRITE},
    {"add.Tensor", draw_binary, PURE},
    {"mul.Tensor", draw_binary, PURE},
    {"gt.Scalar", draw_with_number, PURE},
    {"clone", draw_self, PURE},
    {"where.self", draw_where, PURE},
    {"cat", draw_cat, PURE},
    {"stack", draw_cat, PURE},
    {"full", draw_full, PURE},
    {"relu", draw_self, PURE},
    {"expand_as", draw_like, PURE},
    {"view_as", draw_like, PURE},
    {"reshape_as", draw_like, PURE},
    {"type_as", draw_like, PURE},
    {"broadcast_tensors", draw_tensors, PURE},
};
enum { CALL_DRAWS = sizeof call_draws / sizeof *call_draws };

const char *random_op(size_t k) {
  if (k < CALL_DRAWS)
    return call_draws[k].op;
  k -= CALL_DRAWS;
  return k < view_draw_count ? view_draws[k].op : NULL;
}

static step_kind kind_of(size_t row) {
  return row < CALL_DRAWS ? call_draws[row].kind : VIEW;
}

/* --- calling --------------------------------------------------------------------------------------- */
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

static void bind(const gen *g, const drawn_call *call, bool to_tensor, drawn_call *out) {
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

static fnz_status add_value(gen *g, const fnz_geometry *like, uint32_t node, fnz_arg *out) {
  const fnz_geometry *kept;
  uint32_t value;
  FNZ_TRY(fnzi_intern_geometry(g->p, like, &kept));
  FNZ_TRY(fnzi_value_add_fresh(g->p, 0, "v", kept, node, &value));
  *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = value};
  return FNZ_OK;
}

/* A node with results that look like these. */
static fnz_status write_down(gen *g, const drawn_call *call, const fnz_geometry *const *results,
                             size_t count, uint64_t *values) {
  const fnz_op *op = fnz_op_find(call->op);
  fnz_arg outputs[MOST_RESULTS], list, args[CALL_ARGS + 10] = {{0}};
  drawn_call bound;
  char source[32];
  uint32_t index = (uint32_t)g->p->graphs.data[0].nodes.count;
  fnzi_node node = {.op = op, .target = fnz_op_name(op), .nargs = op->nparams, .args = args};
  bind(g, call, false, &bound);
  memcpy(args, bound.args, bound.nargs * sizeof *args);
  for (size_t i = 0; i < count; i++) {
    FNZ_TRY(add_value(g, results[i], index, &outputs[i]));
    values[i] = outputs[i].u.value;
  }
  snprintf(source, sizeof source, "model.py:%u", index + 1);
  FNZ_TRY(fnzi_intern(g->p, source, strlen(source), &node.source));
  list = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = outputs};
  bool is_list = op->nreturns == 1 && op->returns[0].is_list;
  node.outputs = is_list ? &list : outputs;
  node.noutputs = is_list ? 1 : (uint32_t)count;
  return fnzi_node_add(g->p, 0, &node, &index);
}

static bool is_small(fnz_tensor *const *results, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (fnz_geometry_numel(fnz_tensor_geometry(results[i])) > MOST_ELEMENTS ||
        fnz_tensor_geometry(results[i])->rank > 6)
      return false;
  return true;
}

static size_t first_tensor(const drawn_call *call) {
  for (size_t i = call->nargs; i-- > 0;)
    if (call->args[i].tag == FNZ_ARG_VALUE && strstr(call->op, ".out"))
      return call->args[i].u.value;
  const fnz_arg *a = &call->args[0];
  return a->tag == FNZ_ARG_LIST ? a->u.list[0].u.value : a->u.value;
}

static fnz_status keep_results(gen *g, const drawn_call *call, fnz_tensor *const *results,
                               size_t count) {
  const fnz_geometry *geometries[MOST_RESULTS] = {NULL};
  uint64_t values[MOST_RESULTS];
  for (size_t i = 0; i < count; i++)
    geometries[i] = fnz_tensor_geometry(results[i]);
  FNZ_TRY(write_down(g, call, geometries, count, values));
  for (size_t i = 0; i < count; i++)
    g->values[g->count++] = (drawn){results[i], (uint32_t)values[i]};
  return FNZ_OK;
}

/* A step that eager refuses stays in the program now and then, as the last one: what it would have
 * given is the target itself. */
static fnz_status keep_refusal(gen *g, const drawn_call *call, size_t row) {
  uint64_t value;
  g->counts->refused[row]++;
  const fnz_op *op = fnz_op_find(call->op);
  if (fnz_last_error(g->ctx)->status == FNZ_NO_MEMORY)
    return FNZ_NO_MEMORY;
  if (fnz_last_error(g->ctx)->status != FNZ_BAD_INPUT || op->nreturns != 1 ||
      op->returns[0].is_list || !perhaps(g->c, 6))
    return FNZ_OK;
  const fnz_geometry *like = looks(g, first_tensor(call));
  g->ended = true;
  return write_down(g, call, &like, 1, &value);
}

static fnz_status call_step(gen *g, const drawn_call *call, size_t row) {
  drawn_call bound;
  fnz_tensor *results[MOST_RESULTS];
  size_t count;
  bind(g, call, true, &bound);
  if (fnz_tensor_call(g->world, bound.op, bound.args, bound.nargs, results, MOST_RESULTS, &count))
    return keep_refusal(g, call, row);
  if (!is_small(results, count) || g->count + count > MOST_VALUES)
    return FNZ_OK;
  g->counts->used[row]++;
  g->counts->steps++;
  if (kind_of(row) == WRITE)
    g->focus = first_tensor(call);
  return keep_results(g, call, results, count);
}

/* --- steps ----------------------------------------------------------------------------------------- */
/* Writes 30 in 100, views 50, the rest pure. */
static step_kind kind_from(uint32_t percent) {
  return percent < 50 ? VIEW : percent < 80 ? WRITE : PURE;
}

static size_t draw_row(gen *g, step_kind kind) {
  size_t rows = CALL_DRAWS + view_draw_count, row = choose(g->c, (uint32_t)rows);
  for (size_t n = 0; n < rows; n++, row = (row + 1) % rows)
    if (kind_of(row) == kind && !g->off[row])
      return row;
  return row;
}

/* What kernels, not the aliasing, have something against. */
static bool makes_no_sense(const char *op, const fnz_geometry *self) {
  return (!strcmp(op, "_neg_view") && self->dtype == FNZ_BOOL) ||
         (!strcmp(op, "view_as_complex") && !fnzi_is_float(self->dtype));
}

static fnz_status step(gen *g) {
  drawn_call call;
  uint32_t percent = choose(g->c, 100);
  if (percent == 0)
    return FNZ_OK; /* the simplest step is none */
  size_t row = draw_row(g, kind_from(percent)), self = pick(g);
  call_start(&call, random_op(row));
  if (kind_of(row) != VIEW) {
    if (!call_draws[row].draw(g, self, &call))
      return FNZ_OK;
    return call_step(g, &call, row);
  }
  if (makes_no_sense(call.op, looks(g, self)))
    return FNZ_OK;
  call_add(&call, tensor_arg(self));
  view_draws[row - CALL_DRAWS].draw(g->c, looks(g, self), &call);
  return call_step(g, &call, row);
}

/* --- the program ----------------------------------------------------------------------------------- */
static fnz_dtype draw_input_dtype(gen *g) {
  static const fnz_dtype dtypes[] = {FNZ_I32, FNZ_F32, FNZ_F32, FNZ_I64, FNZ_BOOL,
                                     FNZ_F64, FNZ_C64, FNZ_I32, FNZ_U8,  FNZ_F32};
  return dtypes[choose(g->c, sizeof dtypes / sizeof *dtypes)];
}

static fnz_status add_input(gen *g) {
  int64_t work[2 * FNZ_MAX_RANK];
  fnz_geometry like;
  const fnz_geometry *kept;
  fnz_handle handle;
  char name[16];
  uint32_t value;
  fnz_dtype dtype = draw_input_dtype(g);
  draw_geometry(g->c, dtype, perhaps(g->c, 25), work, &like);
  snprintf(name, sizeof name, "x%u", g->ninputs++);
  FNZ_TRY(fnzi_intern_geometry(g->p, &like, &kept));
  FNZ_TRY(fnzi_value_add(g->p, 0, name, kept, FNZI_NO_NODE, &value));
  FNZ_TRY(g->meta->upload(g->meta->self, g->ctx, kept, NULL, &handle));
  drawn *d = &g->values[g->count++];
  d->value = value;
  return fnz_tensor_wrap(g->world, kept, handle, &d->tensor);
}

static fnz_status finish(gen *g) {
  size_t noutputs = choose(g->c, 5);
  fnzi_graph *graph = fnzi_graph_at(g->p, 0);
  FNZ_TRY(fnzi_graph_set_inputs(g->p, 0, g->ninputs));
  FNZ_TRY(fnzi_graph_set_outputs(g->p, 0, noutputs));
  for (uint32_t i = 0; i < g->ninputs; i++) {
    graph->inputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = g->values[i].value};
    g->p->inputs[i] = (fnz_input_spec){FNZ_INPUT_USER, graph->values.data[i].name, false};
  }
  for (size_t i = 0; i < noutputs; i++) {
    size_t k = pick(g);
    graph->outputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = g->values[k].value};
  }
  return fnz_program_verify(g->ctx, g->p);
}

static fnz_status fill_in(gen *g) {
  uint32_t graph;
  FNZ_TRY(fnzi_graph_add(g->p, "", &graph));
  for (uint32_t n = 1 + choose(g->c, 3); n > 0; n--)
    FNZ_TRY(add_input(g));
  uint32_t size = choose(g->c, 100);
  uint32_t steps = size < 40 ? 1 + choose(g->c, 8) : size < 90 ? choose(g->c, 30) : choose(g->c, 90);
  uint32_t swarm = choose(g->c, 3);
  for (size_t row = 0; random_op(row) && swarm; row++)
    g->off[row] = perhaps(g->c, 33);
  while (steps-- > 0 && !g->ended)
    FNZ_TRY(step(g));
  return finish(g);
}

fnz_status random_program(fnz_context *ctx, choices *c, random_counts *counts, fnz_program **out) {
  gen g = {.ctx = ctx, .c = c, .counts = counts};
  *out = NULL;
  fnz_status status = fnz_meta_backend_create(ctx, &g.meta);
  if (status == FNZ_OK)
    status = fnz_world_create(ctx, g.meta, &g.world);
  if (status == FNZ_OK)
    status = fnzi_program_create(ctx, &g.p);
  if (status == FNZ_OK)
    status = fill_in(&g);
  fnz_world_destroy(g.world);
  fnz_backend_destroy(g.meta);
  if (status != FNZ_OK)
    fnz_program_destroy(g.p);
  else
    *out = g.p;
  counts->programs += status == FNZ_OK;
  return status;
}

/* --- numbers --------------------------------------------------------------------------------------- */
/* Small ones, so that nothing saturates; zeros and equal ones among them. */
static void put_number(fnz_dtype dtype, unsigned char *at, uint64_t random) {
  int64_t i = (int64_t)(random % 9) - 4;
  double d = random >> 32 & 1 ? (double)i * 0.5 : (double)i;
  float f[2] = {(float)d, (float)(random >> 40 & 3)};
  if (dtype == FNZ_BOOL)
    *at = random & 1;
  else if (dtype == FNZ_F32 || dtype == FNZ_C64)
    memcpy(at, f, fnzi_dtype(dtype)->bytes);
  else if (dtype == FNZ_F64)
    memcpy(at, &d, sizeof d);
  else
    memcpy(at, &i, fnzi_dtype(dtype)->bytes); /* the low bytes */
}

fnz_status random_inputs(fnz_context *ctx, const fnz_program *p, uint64_t seed, fnz_arrays **out) {
  const fnzi_graph *graph = fnzi_graph_at(p, 0);
  FNZ_TRY(fnz_arrays_create(ctx, out));
  for (uint32_t i = 0; i < graph->ninputs; i++) {
    const fnzi_value *v = &graph->values.data[graph->inputs[i].u.value];
    const fnz_geometry *g = v->geometry;
    void *data;
    FNZ_TRY(fnz_arrays_add(*out, v->name, g->dtype, g->rank, g->sizes, &data));
    size_t bytes = fnzi_dtype(g->dtype)->bytes;
    for (size_t k = 0, n = (size_t)fnz_geometry_numel(g); k < n; k++)
      put_number(g->dtype, (unsigned char *)data + k * bytes, splitmix64(&seed));
  }
  return FNZ_OK;
}
