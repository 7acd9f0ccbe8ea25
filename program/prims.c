/* prims.c - calls of PyTorch's namespace prims become the calls of ATen operators that its own
 * definitions make: the rows of schema/prims.def.
 *
 * Needs: a node with its arguments and its results, before it is added.
 * Keeps: names, source and metadata of the results.
 * Gives: nodes that every other part knows, so that none of them has to know prims. */
#include "program/prims.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_ITEMS = 8, MOST_WORD = 64 };

/* A call in words, and the position of the reader in it. */
typedef struct phrase {
  const fnzi_prim_call *c;
  const char *at;
  const fnz_op *op; /* that is called */
} phrase;

static fnz_status refuse(const fnzi_prim_call *c, fnz_class kind, const char *what) {
  return fnzi_fail(c->p->ctx, kind, NULL, "%s: %s", c->node->op->name, what);
}

static fnz_arg given(const fnzi_prim_call *c, int i) {
  return fnzi_arg_get(c->node->op, c->node->args, c->node->nargs, (size_t)i);
}

static fnz_arg named(const fnzi_prim_call *c, const char *name) {
  return given(c, fnzi_op_param(c->node->op, name));
}

/* NULL if it is no tensor: the types of arguments are checked with the whole program. */
static const fnz_geometry *prims_geometry_of(const fnzi_prim_call *c, const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE ? fnzi_value_at(c->p, c->graph, arg->u.value)->geometry : NULL;
}

/* --- Nodes ------------------------------------------------------------------------------------ */
static fnz_status put(const fnzi_prim_call *c, const fnz_op *op, const fnz_arg *args, size_t nargs,
                      fnz_arg *results, uint32_t count) {
  fnzi_node node = *c->node;
  uint32_t at;
  FNZI_NEW(c->arena, op->nparams, &node.args);
  memcpy(node.args, args, nargs * sizeof *args);
  node.op = op;
  node.nargs = op->nparams;
  node.outputs = results;
  node.noutputs = count;
  return fnzi_node_add(c->p, c->graph, &node, &at);
}

/* The node that gives the results, which were defined when those in between were not there yet. */
static fnz_status finish(const fnzi_prim_call *c, const fnz_op *op, const fnz_arg *args,
                         size_t nargs) {
  fnzi_graph *g = fnzi_graph_at(c->p, c->graph);
  FNZI_EACH_ARG(each, c->node->outputs, c->node->noutputs)
    if (fnzi_is_reference(each.arg))
      g->values.data[each.arg->u.value].node = (uint32_t)g->nodes.count;
  return put(c, op, args, nargs, c->node->outputs, c->node->noutputs);
}

/* A node in between, with one result. */
static fnz_status prims_make(const fnzi_prim_call *c, const fnz_op *op, const fnz_arg *args,
                             size_t nargs, const fnz_geometry *looks, fnz_arg *out) {
  const fnz_geometry *g;
  const char *name;
  uint32_t value, node = (uint32_t)fnzi_graph_at(c->p, c->graph)->nodes.count;
  FNZ_TRY(c->name(c->user, op->base, &name));
  FNZ_TRY(fnzi_intern_geometry(c->p, looks, &g));
  FNZ_TRY(fnzi_value_add(c->p, c->graph, name, g, node, &value));
  *out = fnzi_arg_value(value);
  return put(c, op, args, nargs, out, 1);
}

/* --- Calls in words --------------------------------------------------------------------------- */
static bool skip(phrase *h, char mark) {
  while (*h->at == ' ')
    h->at++;
  bool found = *h->at == mark;
  h->at += found;
  return found;
}

static void take_word(phrase *h, char out[MOST_WORD]) {
  size_t n = 0;
  while (*h->at == ' ')
    h->at++;
  while (isalnum((unsigned char)*h->at) || (*h->at && strchr("_.", *h->at)))
    out[n++ % MOST_WORD] = *h->at++;
  out[n % MOST_WORD] = 0;
}

static bool find_dtype(const char *word, fnz_arg *out) {
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++)
    if (strcmp(fnz_dtype_get_info((fnz_dtype)d)->name, word) == 0) {
      *out = fnzi_arg_dtype((fnz_dtype)d);
      return true;
    }
  return false;
}

static fnz_status take_item(phrase *h, fnz_arg *out) {
  char *end;
  if (skip(h, '"')) {
    size_t size = strcspn(h->at, "\"");
    *out = (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)size};
    FNZ_TRY(fnzi_intern(h->c->p, h->at, size, &out->u.s));
    h->at += size + 1;
    return FNZ_OK;
  }
  if (!isdigit((unsigned char)*h->at) && *h->at != '-') {
    /* A parameter, an element type, or dtype(a parameter). */
    char word[MOST_WORD];
    take_word(h, word);
    if (skip(h, '(')) {
      take_word(h, word);
      const fnz_arg tensor = named(h->c, word);
      const fnz_geometry *g = prims_geometry_of(h->c, &tensor);
      *out = g ? fnzi_arg_dtype(g->dtype) : (fnz_arg){.tag = FNZ_ARG_NONE};
      skip(h, ')');
    } else if (!find_dtype(word, out)) {
      *out = named(h->c, word);
    }
    return FNZ_OK;
  }
  *out = fnzi_arg_int(strtoll(h->at, &end, 10));
  h->at = end;
  return FNZ_OK;
}

static fnz_status take_arg(phrase *h, fnz_arg *out) {
  fnz_arg *items;
  if (!skip(h, '['))
    return take_item(h, out);
  FNZI_NEW(&h->c->p->arena, MOST_ITEMS, &items);
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .u.list = items};
  while (!skip(h, ']')) {
    FNZ_TRY(take_item(h, &items[out->count++]));
    skip(h, ',');
  }
  return FNZ_OK;
}

/* "sum.dim_IntList(inp, dims)": the operator and op->nparams arguments. */
static fnz_status read_words(const fnzi_prim_call *c, const char *words, const fnz_op **op,
                             fnz_arg **args) {
  char name[MOST_WORD];
  phrase h = {c, words, NULL};
  take_word(&h, name);
  *op = h.op = fnzi_ops_find(name);
  if (!h.op || !skip(&h, '('))
    return refuse(c, FNZ_CLASS_INTERNAL, words);
  FNZI_NEW(c->arena, h.op->nparams, args);
  char word[MOST_WORD];
  for (int place = 0; !skip(&h, ')'); skip(&h, ',')) {
    const char *start = h.at;
    take_word(&h, word);
    bool is_named = *word && skip(&h, '=');
    h.at = is_named ? h.at : start;
    int at = is_named ? fnzi_op_param(h.op, word) : place++;
    if (at < 0 || at >= h.op->nparams)
      return refuse(h.c, FNZ_CLASS_INTERNAL, h.at);
    FNZ_TRY(take_arg(&h, &(*args)[at]));
  }
  return FNZ_OK;
}

static fnz_status become(const fnzi_prim_call *c, const char *words) {
  const fnz_op *op;
  fnz_arg *args;
  FNZ_TRY(read_words(c, words, &op, &args));
  return finish(c, op, args, op->nparams);
}

/* --- Checks ----------------------------------------------------------------------------------- */
static fnz_status check_pair(const fnzi_prim_call *c, const fnz_geometry *a,
                             const fnz_geometry *b) {
  if (a->dtype != b->dtype)
    return fnzi_fail(c->p->ctx, FNZ_CLASS_TYPE, NULL,
                     "%s takes tensors of one element type, but has %s and %s; convert one with "
                     "prims::convert_element_type",
                     c->node->op->name, fnz_dtype_get_info(a->dtype)->name,
                     fnz_dtype_get_info(b->dtype)->name);
  bool is_one_shape =
      !a->rank || !b->rank || a->symbols || b->symbols ||
      (a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0);
  if (!is_one_shape)
    return refuse(c, FNZ_CLASS_BOUNDS,
                  "its tensors have other sizes; expand them first with prims::broadcast_in_dim");
  return FNZ_OK;
}

/* `pred` has a type of its own. */
static fnz_status check_elements(const fnzi_prim_call *c) {
  const fnz_geometry *first = NULL;
  for (int i = 0; i < c->node->op->nparams; i++) {
    const fnz_arg arg = given(c, i);
    const fnz_geometry *g = prims_geometry_of(c, &arg);
    if (!g || strcmp(c->node->op->params[i].name, "pred") == 0)
      continue;
    if (first)
      FNZ_TRY(check_pair(c, first, g));
    first = first && first->rank ? first : g;
  }
  return FNZ_OK;
}

/* --- Rules ------------------------------------------------------------------------------------ */
/* The file does not contain the layout of the results. */
static fnz_status become_loose(const fnzi_prim_call *c, const char *words) {
  const fnz_arg *result = &c->node->outputs[0];
  bool is_tensor = c->node->noutputs && prims_geometry_of(c, result);
  const fnzi_graph *graph = fnzi_graph_at(c->p, c->graph);
  if (is_tensor && !fnzi_value_is_unsaid(graph, (uint32_t)result->u.value))
    FNZ_TRY(fnzi_value_unsaid(c->p, c->graph, (uint32_t)result->u.value));
  if (is_tensor) {
    const char *arrow = strstr(words, "-> ");
    const fnz_geometry *g = prims_geometry_of(c, result);
    fnz_geometry looks;
    fnz_arg dtype;
    if (arrow && g && find_dtype(arrow + strlen("-> "), &dtype)) {
      looks = *g;
      looks.dtype = (fnz_dtype)dtype.u.i;
      FNZ_TRY(fnzi_intern_geometry(c->p, &looks, &g));
      fnzi_value_at(c->p, c->graph, result->u.value)->geometry = g;
    }
  }
  return become(c, words);
}

static fnz_status become_twice(const fnzi_prim_call *c, const char *words) {
  const fnz_op *op;
  fnz_arg *args, unused;
  const fnz_geometry *g = c->node->noutputs ? prims_geometry_of(c, &c->node->outputs[0]) : NULL;
  FNZ_TRY(read_words(c, words, &op, &args));
  if (!g)
    return refuse(c, FNZ_CLASS_TYPE, "its result must be a tensor");
  FNZ_TRY(prims_make(c, op, args, op->nparams, g, &unused));
  return finish(c, op, args, op->nparams);
}

/* Memory of these strides, and a draw into it. */
static fnz_status become_uniform(const fnzi_prim_call *c) {
  const fnz_op *op;
  fnz_arg *args, empty;
  const fnz_geometry *g = c->node->noutputs ? prims_geometry_of(c, &c->node->outputs[0]) : NULL;
  FNZ_TRY(read_words(c, "empty_strided(shape, stride, dtype=dtype, device=device)", &op, &args));
  if (!g)
    return refuse(c, FNZ_CLASS_TYPE, "its result must be a tensor");
  FNZ_TRY(prims_make(c, op, args, op->nparams, g, &empty));
  FNZ_TRY(read_words(c, "uniform(low, low, high, generator=generator)", &op, &args));
  args[0] = empty;
  return finish(c, op, args, op->nparams);
}

static fnz_status become_div(const fnzi_prim_call *c) {
  const fnz_arg self = named(c, "self");
  const fnz_geometry *g = prims_geometry_of(c, &self);
  FNZ_TRY(check_elements(c));
  char category = g ? fnz_dtype_get_info(g->dtype)->category : 'f';
  return become(c, category == 'i' || category == 'u'
                       ? "div.Tensor_mode(self, other, rounding_mode=\"trunc\")"
                       : "div.Tensor(self, other)");
}

static fnz_status become_iota(const fnzi_prim_call *c) {
  const fnz_arg length = named(c, "length"), start = named(c, "start"), step = named(c, "step");
  int64_t end;
  const fnz_op *op;
  fnz_arg *args;
  bool counts = start.tag == FNZ_ARG_INT && step.tag == FNZ_ARG_INT && !start.u.i && step.u.i == 1;
  if (counts)
    return become(c, "arange(length, dtype=dtype, device=device)");
  if (length.tag != FNZ_ARG_INT || start.tag != FNZ_ARG_INT || step.tag != FNZ_ARG_INT)
    return refuse(c, FNZ_CLASS_UNSUPPORTED,
                  "length, start or step is symbolic, and start and step are not 0 and 1; export "
                  "with fixed sizes");
  if (!fnzi_mul_i64(length.u.i, step.u.i, &end) || !fnzi_add_i64(start.u.i, end, &end))
    return refuse(c, FNZ_CLASS_BOUNDS, "start + length * step needs more than 64 bits");
  FNZ_TRY(
      read_words(c, "arange.start_step(start, 0, step, dtype=dtype, device=device)", &op, &args));
  args[1] = fnzi_arg_int(end);
  return finish(c, op, args, op->nparams);
}

/* --- broadcast_in_dim ------------------------------------------------------------------------- */
/* Inserts a dimension of size 1 before dimension `at`, with the stride that eager's unsqueeze gives
 * it. */
static fnz_status put_stride(const fnzi_prim_call *c, const fnz_geometry *g, uint32_t at,
                             int64_t *stride, uint32_t *symbol) {
  const char *words[2], *text;
  *stride = 1;
  if (at < g->rank && !fnzi_mul_i64(g->sizes[at], g->strides[at], stride))
    return refuse(c, FNZ_CLASS_BOUNDS, "a stride needs more than 64 bits");
  if (at == g->rank || !g->symbols || !(g->symbols[at] || g->symbols[g->rank + at]))
    return FNZ_OK;
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t of = g->symbols[(k ? g->rank : 0) + at];
    int64_t number = k ? g->strides[at] : g->sizes[at];
    FNZ_TRY(fnzi_arena_format(c->arena, &words[k], "%lld", (long long)number));
    words[k] = of ? c->p->symbols.data[of].text : words[k];
  }
  FNZ_TRY(fnzi_arena_format(c->arena, &text, "(%s)*(%s)", words[0], words[1]));
  return fnzi_symbol_add(c->p, text, true, *stride, symbol);
}

/* The geometry with a dimension of size 1 at `at`. */
static fnz_status with_one(const fnzi_prim_call *c, const fnz_geometry *g, uint32_t at,
                           fnz_geometry *out) {
  int64_t *sizes, *strides;
  uint32_t *symbols, rank = g->rank + 1;
  FNZI_NEW(c->arena, rank, &sizes);
  FNZI_NEW(c->arena, rank, &strides);
  FNZI_NEW(c->arena, 2 * rank + 1, &symbols);
  for (uint32_t d = 0, from = 0; d < rank; d++) {
    if (d == at)
      continue;
    sizes[d] = g->sizes[from];
    strides[d] = g->strides[from];
    symbols[d] = g->symbols ? g->symbols[from] : 0;
    symbols[rank + d] = g->symbols ? g->symbols[g->rank + from] : 0;
    from++;
  }
  sizes[at] = 1;
  FNZ_TRY(put_stride(c, g, at, &strides[at], &symbols[rank + at]));
  symbols[2 * rank] = g->symbols ? g->symbols[2 * g->rank] : 0;
  *out = *g;
  out->rank = rank;
  out->sizes = sizes;
  out->strides = strides;
  out->symbols = g->symbols ? symbols : NULL;
  return FNZ_OK;
}

/* expand() puts new dimensions in front by itself. */
static fnz_status become_broadcast(const fnzi_prim_call *c) {
  fnz_arg args[] = {named(c, "a"), named(c, "shape")};
  const fnz_arg dims = named(c, "broadcast_dimensions");
  const fnz_geometry *g = prims_geometry_of(c, &args[0]);
  if (!g || args[1].tag != FNZ_ARG_LIST || args[1].count > FNZ_MAX_RANK)
    return refuse(c, FNZ_CLASS_TYPE, "it takes a tensor, a shape and dimensions");
  /* Dimension k of the tensor becomes dimension dims[k] of the result; they must ascend. */
  int64_t last = -1;
  bool fits = dims.tag == FNZ_ARG_LIST && dims.count == g->rank;
  for (uint32_t k = 0; fits && k < g->rank; k++) {
    const fnz_arg *dim = &dims.u.list[k];
    fits = dim->tag == FNZ_ARG_INT && dim->u.i > last && dim->u.i < (int64_t)args[1].count;
    last = dim->u.i;
  }
  if (!fits)
    return refuse(c, FNZ_CLASS_BOUNDS,
                  "broadcast_dimensions must be a dimension of shape for each of the tensor, "
                  "in ascending order");
  uint32_t lead = dims.count ? (uint32_t)dims.u.list[0].u.i : args[1].count, next = 0;
  for (uint32_t d = lead; d < args[1].count; d++) {
    bool is_old = next < dims.count && dims.u.list[next].u.i == (int64_t)d;
    if (!is_old) {
      const fnz_arg unsqueezed[] = {args[0], fnzi_arg_int(d - lead)};
      fnz_geometry looks;
      FNZ_TRY(with_one(c, prims_geometry_of(c, &args[0]), d - lead, &looks));
      FNZ_TRY(prims_make(c, fnzi_ops_find("unsqueeze"), unsqueezed, 2, &looks, &args[0]));
    }
    next += is_old;
  }
  return finish(c, fnzi_ops_find("expand"), args, 2);
}

fnz_status fnzi_prim_read(const fnzi_prim_call *c) {
  const fnzi_prim *prim = fnzi_builtin_prim(c->node->op);
  switch (prim->kind) {
  case FNZI_PRIM_LOOSE:
    return become_loose(c, prim->as);
  case FNZI_PRIM_TWICE:
    return become_twice(c, prim->as);
  case FNZI_PRIM_random: {
    const fnz_arg mode = named(c, "mode");
    const char *word = mode.tag == FNZ_ARG_STRING ? mode.u.s : "";
    if (strcmp(word, "rand") == 0)
      return become_twice(c, "rand(size, dtype=f32)");
    if (strcmp(word, "randn") == 0)
      return become_twice(c, "randn(size, dtype=f32)");
    return refuse(c, FNZ_CLASS_UNSUPPORTED, "mode must be \"rand\" or \"randn\"");
  }
  case FNZI_PRIM_uniform:
    return become_uniform(c);
  case FNZI_PRIM_div:
    return become_div(c);
  case FNZI_PRIM_iota:
    return become_iota(c);
  case FNZI_PRIM_broadcast:
    return become_broadcast(c);
  case FNZI_PRIM_ELEMENTWISE:
    FNZ_TRY(check_elements(c));
    return become(c, prim->as);
  case FNZI_PRIM_SAME:
  case FNZI_PRIM_STEPS:
    break;
  }
  /* PyTorch's own definitions fail on it, but that of a sum, whose ATen operator has it too. */
  static const char name[] = "output_dtype";
  bool has = fnzi_op_param(c->node->op, name) >= 0 && !strstr(prim->as, name);
  const fnz_arg dtype = has ? named(c, name) : fnzi_arg_default();
  if (dtype.tag == FNZ_ARG_DTYPE)
    return refuse(c, FNZ_CLASS_UNSUPPORTED,
                  "output_dtype is given, which no definition takes; convert the argument first");
  return become(c, prim->as);
}
