/* check_types.c - does a program record the types that its operators give? Node by node, from the
 * types that are recorded for the arguments: by the shape rule of the operator's row, or, for what
 * depends on memory (views, writes, composites), by a call on memory without elements.
 *
 * needs   a verified program
 * gives   dtype, rank and sizes of each result are the rule's; a view lies where its window does,
 * in the recorded memory of its base; elements of a new result do not share memory. Symbolic sizes
 * by their examples; of a node where one has none, dtype, rank and that elements of a new result
 * do not share memory (check_fresh.c). Inside an enabled autocast sizes only */
#include "kernels/check_types.h"
#include "program/region_ops.h"
#include "schema/aten_names.h"

/* --- What is recorded ------------------------------------------------------------------------- */
static bool has_open(const fnzi_krn_checker *c, const fnz_geometry *g) {
  for (uint32_t d = 0; g->symbols && d < g->rank; d++)
    if (g->symbols[d] && !c->p->symbols.data[g->symbols[d]].has_hint)
      return true;
  return false;
}

static fnz_status read_record(fnzi_krn_checker *c, const fnzi_node *n, fnzi_krn_recorded *r) {
  *r = (fnzi_krn_recorded){.count = 0};
  FNZI_EACH_ARG(each, n->outputs, n->noutputs) {
    r->count++;
    r->tensors += each.arg->tag == FNZ_ARG_VALUE;
  }
  if (r->tensors == 0)
    return FNZ_OK;
  FNZI_NEW(&c->scratch, r->count, &r->wanted);
  FNZI_NEW(&c->scratch, r->count, &r->values);
  size_t k = 0;
  FNZI_EACH_ARG(each, n->outputs, n->noutputs) {
    if (each.arg->tag == FNZ_ARG_VALUE) {
      r->values[k] = each.arg->u.value;
      r->wanted[k] = c->graph->values.data[each.arg->u.value].geometry;
      c->open = c->open || has_open(c, r->wanted[k]);
    }
    k++;
  }
  return FNZ_OK;
}

/* --- Arguments -------------------------------------------------------------------------------- */
typedef struct lent {
  fnzi_krn_array array;
  fnzi_krn_storage storage; /* when it has to be memory */
} lent;

/* An array stands for the geometry of a tensor. For a symbol only the number is known, not whether
 * it is an integer. */
static fnz_status lower_one(fnzi_krn_checker *c, const fnzi_param *param, fnz_arg *arg) {
  const fnzi_value *v = fnzi_is_reference(arg) ? &c->graph->values.data[arg->u.value] : NULL;
  lent *made;
  if (arg->tag == FNZ_ARG_VALUE) {
    c->vague = c->vague || has_open(c, v->geometry);
    c->open = c->open || c->vague;
    FNZI_NEW(&c->scratch, 1, &made);
    fnzi_krn_array *array = &made->array;
    array->geometry = *fnzi_krn_look_of(c, arg->u.value);
    array->geometry.symbols = NULL;
    array->window = array->geometry;
    array->cell = fnzi_dtype(array->geometry.dtype)->bytes;
    array->refs = 1;
    arg->flags = 0;
    arg->u.value = fnzi_krn_array_handle(array);
  } else if (arg->tag == FNZ_ARG_SYMBOL) {
    const fnzi_symbol *s = v->symbol ? &c->p->symbols.data[v->symbol] : NULL;
    c->vague = c->vague || !s || !s->has_hint;
    c->open = c->open || c->vague;
    c->real = c->real || (param->type != FNZI_TYPE_INT && param->type != FNZI_TYPE_SYM_INT);
    *arg = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = s && s->has_hint ? s->hint : 0};
  }
  return FNZ_OK;
}

static fnz_status lower_args(fnzi_krn_checker *c, const fnzi_node *n, fnz_arg **out) {
  FNZI_NEW(&c->scratch, n->op->nparams, out);
  for (uint32_t i = 0; i < n->op->nparams; i++) {
    fnz_arg *arg = &(*out)[i], *items;
    *arg = i < n->nargs ? n->args[i] : (fnz_arg){.tag = FNZ_ARG_DEFAULT};
    if (arg->tag != FNZ_ARG_LIST) {
      FNZ_TRY(lower_one(c, &n->op->params[i], arg));
      continue;
    }
    FNZI_NEW(&c->scratch, arg->count, &items);
    for (uint32_t k = 0; k < arg->count; k++) {
      items[k] = arg->u.list[k];
      FNZ_TRY(lower_one(c, &n->op->params[i], &items[k]));
    }
    arg->u.list = items;
  }
  return FNZ_OK;
}

/* --- What the rule says ----------------------------------------------------------------------- */
/* A storage of its own, without an end, for each tensor that a call is made on: memory beyond a
 * window does not affect its type. */
static void lend_storages(const fnzi_krn_checker *c, const fnz_request *request) {
  FNZI_EACH_ARG(each, request->args, request->nargs) {
    fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (!a)
      continue;
    a->storage = &((lent *)a)->storage;
    *a->storage = (fnzi_krn_storage){.refs = 2, .bytes = SIZE_MAX / 2, .stock = &c->m->stock};
    a->stock = &c->m->stock;
    a->dims = a->few_dims;
    a->capacity = FNZI_FEW_DIMS;
    a->eager = true;
  }
}

/* An operator may have given a tensor more dimensions, or other memory. */
static void unsettle(fnzi_krn_checker *c, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count) {
    fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (!a || !a->storage)
      continue;
    if (a->dims != a->few_dims)
      fnzi_free(c->ctx, a->dims, 3 * (size_t)a->capacity * sizeof *a->dims);
    if (a->storage != &((lent *)a)->storage)
      fnzi_krn_storage_release(c->ctx, a->storage);
  }
}

static void drop(fnzi_krn_checker *c, fnzi_krn_made *r) {
  for (size_t k = 0; k < r->count; k++)
    fnzi_krn_array_release(c->ctx, fnzi_krn_array_of(r->handles[k]));
  r->count = 0;
}

/* By the row alone, which is faster. */
static fnz_status by_row(fnzi_krn_checker *c, const fnzi_kernel *row, const fnz_request *request,
                         fnzi_krn_made *out) {
  fnzi_krn_call call = {
      .ctx = c->ctx, .stock = &c->m->stock, .op = request->op, .kernels = c->m->kernels};
  call.expected = request->expected;
  call.nexpected = request->expected ? out->capacity : 0;
  call.capacity = out->capacity;
  call.target = FNZ_DTYPE_COUNT;
  call.scratch = c->scratch;
  FNZI_NEW(&call.scratch, out->capacity, &call.outputs);
  fnz_status status = fnzi_meta_evaluate_request(&call, row, request);
  c->scratch = call.scratch;
  if (status != FNZ_OK)
    fnzi_meta_outputs_release(&call);
  for (out->count = 0; out->count < call.noutputs; out->count++)
    out->handles[out->count] = fnzi_krn_array_handle(call.outputs[out->count]);
  return status;
}

static fnz_status ask(fnzi_krn_checker *c, const fnz_request *request, fnzi_krn_made *out) {
  const fnzi_mem_route *route;
  c->is_ruled = false;
  if (fnzi_op_is_custom(request->op))
    return fnzi_machine_apply(c->m, c->ctx, request, out->handles, out->capacity, &out->count);
  FNZ_TRY(fnzi_mem_route_find(c->m, request->op, &route));
  bool is_row = route->serve == fnzi_serve_compute;
  bool has_rule = fnzi_meta_row_find(c->m, request->op) || fnzi_foreach_element(request->op);
  c->is_ruled = is_row || (has_rule && !request->op->is_view && !route->may_write);
  if (is_row)
    return by_row(c, route->row, request, out);
  /* As in eager, only a call on memory shows which results are views, and their windows. */
  char warning[FNZ_WARNING_BYTES];
  lend_storages(c, request);
  fnz_status status =
      fnzi_mem_dispatch(c->m, c->ctx, request, out->handles, out->capacity, &out->count, warning);
  if (status != FNZ_OK)
    out->count = 0;
  return status;
}

/* Limits lists of windows to the recorded number of items, as a few bytes of a file can claim many.
 * At sizes that were drawn some may be left over. */
static fnz_status ask_for_recorded(fnzi_krn_checker *c, const fnz_request *request, size_t recorded,
                                   fnzi_krn_made *out) {
  const size_t usual = c->ctx->limits.results;
  bool is_list = request->op->nreturns == 1 && request->op->returns[0].is_list;
  if (is_list && !c->p->instantiated && recorded < usual)
    c->ctx->limits.results = recorded;
  fnz_status status = ask(c, request, out);
  bool is_more =
      status != FNZ_OK && c->ctx->error.kind == FNZ_CLASS_LIMIT && c->ctx->limits.results != usual;
  c->ctx->limits.results = usual;
  if (!is_more)
    return status;
  c->is_ruled = true;
  return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, NULL,
                   "%s gives more results than the %zu that are recorded; correct the file, or "
                   "export it again",
                   request->op->name, recorded);
}

/* --- Nodes ------------------------------------------------------------------------------------ */
static bool is_limit(fnz_status status) {
  return status == FNZ_NO_MEMORY || status == FNZ_INTERNAL;
}

/* The same with the recorded types at hand: if data decide them, a row takes them for granted. */
static fnz_status ask_knowing(fnzi_krn_checker *c, fnz_request *request, const fnzi_krn_recorded *r,
                              bool *agrees) {
  const fnzi_mem_route *route;
  fnzi_krn_made made = {.capacity = r->count};
  *agrees = false;
  if (c->vague || c->cast || c->real || fnzi_op_is_custom(request->op))
    return FNZ_OK;
  FNZ_TRY(fnzi_mem_route_find(c->m, request->op, &route));
  if (!c->is_ruled || !route->row)
    return FNZ_OK;
  for (size_t k = 0; k < r->count; k++) /* no new tensor does, whatever data decide */
    if (r->wanted[k] && fnzi_krn_overlaps_itself(c->samples, r->wanted[k]))
      return FNZ_OK;
  FNZI_NEW(&c->scratch, made.capacity, &made.handles);
  request->expected = r->wanted;
  fnz_status status = by_row(c, route->row, request, &made);
  *agrees = status == FNZ_OK;
  for (size_t k = 0; *agrees && k < r->count; k++) /* an output_mask may leave one out */
    *agrees = !r->wanted[k] || (k < made.count && made.handles[k]);
  drop(c, &made);
  return is_limit(status) ? status : FNZ_OK;
}

static fnz_status compare_ruled(fnzi_krn_checker *c, fnz_request *request,
                                const fnzi_krn_recorded *r, fnzi_krn_made *made) {
  bool agrees;
  fnz_status asked = ask_for_recorded(c, request, r->count, made), status = asked;
  if (status == FNZ_OK)
    status = fnzi_krn_compare_recorded(c, request, r, made);
  if (status == FNZ_OK || is_limit(status))
    return status;
  const fnz_error first = c->ctx->error;
  bool by_data = first.kind == FNZ_CLASS_UNSUPPORTED;
  FNZ_TRY(ask_knowing(c, request, r, &agrees));
  if (agrees)
    return FNZ_OK;
  if (asked != FNZ_OK && by_data && c->ctx->error.kind == FNZ_CLASS_TYPE)
    return FNZ_BAD_INPUT; /* but it is not all that data decide */
  c->ctx->error = first;
  /* The operator does not take these arguments, and all that counts of them is known. At sizes that
   * were drawn it need not. Views and writes the pass and both interpreters refuse. */
  bool known = !c->vague && !c->cast && !c->real && !c->p->instantiated;
  if (asked == FNZ_OK || (c->is_ruled && known && !by_data))
    return status;
  /* No rule, or none for such arguments. */
  if (c->unruled)
    c->unruled(c->user, request->op->name);
  return FNZ_OK;
}

/* Notes the new types of tensors that the operator writes. */
static fnz_status note_changes(fnzi_krn_checker *c, const fnzi_node *n, const fnz_arg *args) {
  for (uint32_t i = 0; i < n->op->nparams && i < n->nargs; i++) {
    const fnzi_krn_array *a = n->op->params[i].is_write ? fnzi_krn_arg_array(&args[i]) : NULL;
    if (!a)
      continue;
    const fnz_geometry *was = fnzi_krn_look_of(c, n->args[i].u.value), *is = &a->geometry;
    if (!fnzi_same_sizes(was, is) || !fnzi_same_strides(was, is) || was->offset != is->offset)
      FNZ_TRY(fnzi_krn_note_change(c, n->args[i].u.value, is));
  }
  return FNZ_OK;
}

static fnz_status check_record(fnzi_krn_checker *c, const fnzi_node *n,
                               const fnzi_krn_recorded *r) {
  fnz_arg *args;
  fnzi_krn_made made = {.count = 0};
  size_t longest = 1;
  for (uint32_t i = 0; i < n->nargs; i++)
    if (n->args[i].tag == FNZ_ARG_LIST && n->args[i].count > longest)
      longest = n->args[i].count;
  /* Capacity for more results than are recorded, so that an error can count them: a list may be as
   * long as the given ones. */
  made.capacity = r->count + n->op->nreturns * longest;
  FNZ_TRY(lower_args(c, n, &args));
  FNZI_NEW(&c->scratch, made.capacity, &made.handles);
  fnz_request request = {.op = n->op, .args = args, .nargs = n->op->nparams, .source = n->source};
  fnz_status status = compare_ruled(c, &request, r, &made);
  drop(c, &made);
  if (status == FNZ_OK && n->op->kind != FNZI_KIND_FUNCTIONAL)
    status = note_changes(c, n, args);
  unsettle(c, args, n->op->nparams);
  return status;
}

/* A number is read off a tensor of one element: all of its sizes that are known are 1. */
static fnz_status check_item(const fnzi_krn_checker *c, const fnzi_node *n) {
  const fnz_geometry *g =
      n->args[0].tag == FNZ_ARG_VALUE ? fnzi_krn_look_of(c, n->args[0].u.value) : NULL;
  for (uint32_t d = 0; fnzi_op_is_item(n->op) && g && d < g->rank; d++) {
    uint32_t symbol = g->symbols ? g->symbols[d] : 0;
    if (g->sizes[d] != 1 && (!symbol || c->p->symbols.data[symbol].has_hint))
      return fnzi_fail(c->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s reads the number of a tensor of one element, this one has size %lld in "
                       "dimension %u; select the element before",
                       n->op->name, (long long)g->sizes[d], d);
  }
  return FNZ_OK;
}

/* A program that asserts another dtype than is recorded fails in PyTorch. */
static fnz_status check_metadata(const fnzi_krn_checker *c, const fnzi_node *n) {
  if (c->cast || fnzi_op_place(n->op) != FNZI_ATEN__assert_tensor_metadata ||
      n->args[0].tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  const fnz_arg dtype = fnzi_arg_get(n->op, n->args, n->nargs, fnzi_op_param(n->op, "dtype"));
  fnz_dtype has = fnzi_krn_look_of(c, n->args[0].u.value)->dtype;
  if (dtype.tag != FNZ_ARG_DTYPE || (fnz_dtype)dtype.u.i == has)
    return FNZ_OK;
  return fnzi_fail(
      c->ctx, FNZ_CLASS_TYPE, NULL,
      "%s says that %s is %s, but %s is recorded; correct the file, or export it again",
      n->op->name, c->graph->values.data[n->args[0].u.value].name,
      fnzi_dtype((fnz_dtype)dtype.u.i)->name, fnzi_dtype(has)->name);
}

static fnz_status check_node(fnzi_krn_checker *c, const fnzi_node *n) {
  fnzi_krn_recorded r;
  c->open = c->vague = c->real = false;
  if (!n->op)
    return FNZ_OK;
  FNZ_TRY(read_record(c, n, &r));
  if (n->nargs)
    FNZ_TRY(check_item(c, n));
  if (n->nargs)
    FNZ_TRY(check_metadata(c, n));
  bool is_list = n->noutputs == 1 && n->outputs[0].tag == FNZ_ARG_LIST;
  return r.tensors || (is_list && r.count == 0) ? check_record(c, n, &r) : FNZ_OK;
}

/* --- Graphs ----------------------------------------------------------------------------------- */
static fnz_status check_graph(fnzi_krn_checker *c, uint32_t graph) {
  char place[160];
  c->graph = fnzi_graph_at(c->p, graph);
  c->cast = c->casts[graph];
  c->now = NULL;
  fnzi_arena_reset(&c->lasting);
  for (size_t i = 0; i < c->graph->nodes.count; i++) { /* bodies come after graphs that call them */
    const fnzi_node *n = &c->graph->nodes.data[i];
    fnzi_hop hop;
    if (n->op || !fnzi_hop_is_known(n))
      continue;
    FNZ_TRY(fnzi_hop_read(c->ctx, c->p, n, &hop));
    for (uint32_t k = 0; k < hop.nbodies; k++)
      c->casts[hop.bodies[k]] |= hop.autocast.device ? hop.autocast.enabled : c->casts[graph];
  }
  for (uint32_t k = 0; k < c->graph->nodes.count; k++) {
    fnz_status status = check_node(c, &c->graph->nodes.data[k]);
    fnzi_arena_reset(&c->scratch);
    if (status == FNZ_OK)
      continue;
    fnzi_node_place(c->p, graph, k, place);
    return fnzi_at(c->ctx, status, "%s", place);
  }
  return FNZ_OK;
}

static fnz_status check_graphs(fnzi_krn_checker *c) {
  FNZI_NEW(&c->whole, c->p->graphs.count, &c->casts);
  FNZ_TRY(fnzi_krn_samples_choose(c->ctx, c->p, &c->whole, &c->samples));
  for (uint32_t i = 0; i < c->p->graphs.count; i++)
    FNZ_TRY(check_graph(c, i));
  return FNZ_OK;
}

static fnz_status check(fnzi_krn_checker *c) {
  fnz_backend *backend;
  FNZ_TRY(fnz_meta_backend_create(c->ctx, &backend));
  c->m = backend->self;
  fnzi_arena_init(&c->scratch, c->ctx);
  fnzi_arena_init(&c->lasting, c->ctx);
  fnzi_arena_init(&c->whole, c->ctx);
  fnz_status status = check_graphs(c);
  fnzi_arena_free(&c->scratch);
  fnzi_arena_free(&c->lasting);
  fnzi_arena_free(&c->whole);
  fnz_backend_destroy(backend);
  return status;
}

fnz_status fnz_program_check_types(fnz_context *ctx, const fnz_program *program,
                                   fnz_unruled_fn *unruled, void *user) {
  fnzi_krn_checker c = {.ctx = ctx, .p = program, .unruled = unruled, .user = user};
  FNZ_TRY(check(&c));
  if (program->unchecked)
    *program->unchecked = false;
  return FNZ_OK;
}

fnz_status fnz_program_place_views(fnz_context *ctx, fnz_program *program) {
  fnzi_krn_checker c = {.ctx = ctx, .p = program, .mends = program};
  bool any = false;
  for (size_t i = 0; i < program->graphs.count; i++)
    any = any || program->graphs.data[i].unsaid.count;
  if (!any)
    return FNZ_OK;
  FNZ_TRY(check(&c));
  for (size_t i = 0; i < program->graphs.count; i++)
    program->graphs.data[i].unsaid.count = 0;
  return FNZ_OK;
}
