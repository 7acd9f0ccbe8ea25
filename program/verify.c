/* verify.c - checks a program once, so that the rest of the library can rely on it.
 *
 * needs:  a program that is built to its end; nothing about its content.
 * checks: every value defined exactly once and before its uses; arguments and results as the
 *         operator's schema has them; regions that refer to later graphs only, so that they end;
 *         symbols, signature and weights that fit each other.
 * keeps:  the program, untouched. */
#include "program/signature.h"
#include "program/state_io.h"
#include "program/region_ops.h"

#include <stdio.h>

typedef struct checker {
  fnz_context *ctx;
  const fnz_program *p;
  uint32_t graph, node; /* node FNZI_NO_NODE: the graph's own inputs or outputs */
  const char *what;     /* of them */
  uint8_t *seen;        /* per value: the tag it was defined with, 0 before that */
} checker;

static fnz_status fail(checker *c, fnz_class kind, const char *format, ...) FNZI_PRINTF(3, 4);

static fnz_status fail(checker *c, fnz_class kind, const char *format, ...) {
  char place[160], message[400];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (c->node != FNZI_NO_NODE)
    fnzi_node_place(c->p, c->graph, c->node, place);
  else
    snprintf(place, sizeof place, "%s of graph %u", c->what, c->graph);
  return fnzi_fail(c->ctx, kind, place, "%s", message);
}

/* --- values ----------------------------------------------------------------------------------- */
static fnz_status check_value_exists(checker *c, const fnz_arg *arg) {
  const fnzi_graph *g = fnzi_graph_at(c->p, c->graph);
  if (arg->u.value >= g->values.count)
    return fail(c, FNZ_CLASS_REF, "refers to value %llu; the graph has %zu",
                (unsigned long long)arg->u.value, g->values.count);
  const fnzi_value *v = &g->values.data[arg->u.value];
  if ((arg->tag == FNZ_ARG_VALUE) != (v->geometry != NULL))
    return fail(c, FNZ_CLASS_TYPE, "value %%%s is %s a tensor, but used as if it were%s", v->name,
                v->geometry ? "" : "not", v->geometry ? " none" : "");
  return FNZ_OK;
}

static fnz_status check_enumerator(checker *c, const fnz_arg *arg) {
  bool is_one = arg->tag == FNZ_ARG_LAYOUT || arg->tag == FNZ_ARG_MEMORY_FORMAT;
  if (!is_one || arg->u.i >= 0)
    return FNZ_OK;
  return fail(c, FNZ_CLASS_TYPE, "%s number %lld; PyTorch's are not negative, correct the file",
              arg->tag == FNZ_ARG_LAYOUT ? "layout" : "memory format", (long long)arg->u.i);
}

static fnz_status define(checker *c, const fnz_arg *arg) {
  FNZ_TRY(check_enumerator(c, arg));
  if (!fnzi_is_reference(arg)) {
    if (c->node == FNZI_NO_NODE && arg->tag == FNZ_ARG_GRAPH)
      return fail(c, FNZ_CLASS_TYPE, "a graph among them; only a node takes one");
    if (c->node == FNZI_NO_NODE || arg->tag == FNZ_ARG_NONE)
      return FNZ_OK;
    return fail(c, FNZ_CLASS_TYPE, "a result that is neither a value nor None");
  }
  FNZ_TRY(check_value_exists(c, arg));
  const fnzi_value *v = fnzi_value_at(c->p, c->graph, arg->u.value);
  if (c->seen[arg->u.value])
    return fail(c, FNZ_CLASS_DUPLICATE, "value %%%s is defined twice", v->name);
  if (v->node != c->node)
    return fail(c, FNZ_CLASS_REF, "defines value %%%s, which belongs to another node", v->name);
  c->seen[arg->u.value] = arg->tag;
  return FNZ_OK;
}

static fnz_status use(checker *c, const fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_GRAPH) {
    if (c->node == FNZI_NO_NODE)
      return fail(c, FNZ_CLASS_TYPE, "a graph among them; only a node takes one");
    if (arg->u.i > c->graph && (uint64_t)arg->u.i < c->p->graphs.count)
      return FNZ_OK;
    return fail(c, FNZ_CLASS_REF,
                "refers to graph %lld; it must come after graph %u, and there are %zu",
                (long long)arg->u.i, c->graph, c->p->graphs.count);
  }
  if (!fnzi_is_reference(arg))
    return check_enumerator(c, arg);
  FNZ_TRY(check_value_exists(c, arg));
  uint8_t tag = c->seen[arg->u.value];
  if (tag == arg->tag)
    return FNZ_OK;
  const char *name = fnzi_value_at(c->p, c->graph, arg->u.value)->name;
  if (tag)
    return fail(c, FNZ_CLASS_TYPE, "value %%%s is used as another kind of value", name);
  return fail(c, FNZ_CLASS_REF, "uses value %%%s before it is defined", name);
}

/* --- arguments by schema --------------------------------------------------------------------- */
#define BIT(tag) (1u << FNZ_ARG_##tag)
enum {
  NUMBERS = BIT(INT) | BIT(FLOAT) | BIT(BOOL) | BIT(SYMBOL),
  SCALARS = NUMBERS | BIT(COMPLEX),
  ANYTHING = -1
};

/* The tags that each type accepts. As generous as PyTorch's own argument parser: a number for a
 * tensor, an integer where a float is expected, one number for a list. */
static const unsigned accepted[FNZI_TYPE_COUNT] = {
    [FNZI_TYPE_TENSOR] = BIT(VALUE) | SCALARS,
    [FNZI_TYPE_INT] = NUMBERS,
    [FNZI_TYPE_SYM_INT] = NUMBERS,
    [FNZI_TYPE_FLOAT] = NUMBERS,
    [FNZI_TYPE_BOOL] = NUMBERS,
    [FNZI_TYPE_SYM_BOOL] = NUMBERS,
    [FNZI_TYPE_SCALAR] = SCALARS | BIT(VALUE),
    [FNZI_TYPE_STRING] = BIT(STRING),
    [FNZI_TYPE_DTYPE] = BIT(DTYPE) | BIT(INT),
    [FNZI_TYPE_LAYOUT] = BIT(LAYOUT) | BIT(INT),
    [FNZI_TYPE_DEVICE] = BIT(DEVICE) | BIT(STRING),
    [FNZI_TYPE_DEVICE_INDEX] = BIT(INT) | BIT(DEVICE),
    [FNZI_TYPE_MEMORY_FORMAT] = BIT(MEMORY_FORMAT) | BIT(INT),
    [FNZI_TYPE_GENERATOR] = ANYTHING,
    [FNZI_TYPE_STORAGE] = ANYTHING,
    [FNZI_TYPE_STREAM] = ANYTHING,
    [FNZI_TYPE_QSCHEME] = ANYTHING,
    [FNZI_TYPE_DIM_VECTOR] = ANYTHING,
    [FNZI_TYPE_DIMNAME] = ANYTHING,
    [FNZI_TYPE_GRAPH_MODULE] = BIT(GRAPH) | BIT(OBJECT),
    [FNZI_TYPE_CLASS] = ANYTHING,
};

static unsigned item_tags(const fnzi_param *param) {
  return accepted[param->type] | (param->item_optional ? BIT(NONE) : 0);
}

static bool fits(const fnzi_param *param, const fnz_arg *arg) {
  unsigned items = item_tags(param);
  if (arg->tag == FNZ_ARG_DEFAULT)
    return param->has_default || param->optional;
  if (arg->tag == FNZ_ARG_NONE && (param->optional || param->item_optional))
    return true;
  if (!param->is_list || arg->tag != FNZ_ARG_LIST)
    return items >> arg->tag & 1;
  for (uint32_t i = 0; i < arg->count; i++)
    if (!(items >> arg->u.list[i].tag & 1))
      return false;
  return true;
}

static fnz_status check_args(checker *c, const fnzi_node *n) {
  if (n->nargs > n->op->nparams)
    return fail(c, FNZ_CLASS_TYPE, "%u arguments; the operator has %u", n->nargs, n->op->nparams);
  for (uint32_t i = 0; i < n->op->nparams; i++) {
    static const fnz_arg missing = {.tag = FNZ_ARG_DEFAULT};
    const fnz_arg *arg = i < n->nargs ? &n->args[i] : &missing;
    const fnzi_param *param = &n->op->params[i];
    if (fits(param, arg))
      continue;
    if (arg->tag == FNZ_ARG_DEFAULT)
      return fail(c, FNZ_CLASS_TYPE, "argument \"%s\" is missing; the schema is %s", param->name,
                  fnz_op_schema(n->op));
    /* The first item of a list that does not fit; the argument itself if it is no list. */
    const fnz_arg *list = param->is_list && arg->tag == FNZ_ARG_LIST ? arg->u.list : NULL;
    const fnz_arg *at = arg;
    for (uint32_t k = 0; list && at == arg && k < arg->count; k++)
      if (!(item_tags(param) >> list[k].tag & 1))
        at = &list[k];
    char wanted[64], given[80];
    return fail(c, FNZ_CLASS_TYPE, "argument \"%s\" wants %s, but %s was given%s; the schema is %s",
                param->name, fnzi_param_words(param, wanted), fnzi_arg_words(at, given),
                at == arg ? "" : " in the list", fnz_op_schema(n->op));
  }
  return FNZ_OK;
}

static fnz_status check_result(checker *c, const fnzi_node *n, uint32_t i) {
  const fnz_arg *output = &n->outputs[i];
  const bool is_list = output->tag == FNZ_ARG_LIST;
  const fnz_arg *items = is_list ? output->u.list : output;
  /* A number is recorded as a symbol. define() judges literals. */
  const fnzi_type type = n->op->returns[i].type;
  const bool is_number = (accepted[type] & ~SCALARS) == 0;
  for (uint32_t k = 0; k < (is_list ? output->count : 1); k++)
    if (fnzi_is_reference(&items[k]) &&
        (type == FNZI_TYPE_TENSOR ? items[k].tag != FNZ_ARG_VALUE
                                  : is_number && items[k].tag != FNZ_ARG_SYMBOL))
      return fail(c, FNZ_CLASS_TYPE,
                  "result %u is recorded as another kind of value; the schema is %s", i,
                  fnz_op_schema(n->op));
  return FNZ_OK;
}

static fnz_status check_node(checker *c, const fnzi_node *n) {
  static const char word[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.";
  const char *target = fnzi_node_target(n);
  size_t most = c->ctx->limits.op_name;
  if (!target || !target[0])
    return fail(c, FNZ_CLASS_REF, "a node without an operator");
  if (strlen(target) > most)
    return fail(c, FNZ_CLASS_LIMIT, "the name of the operator has more than %zu bytes", most);
  /* The name of an operator with a schema is the table's or was read as a schema's. */
  if (!n->op && target[strspn(target, word)])
    return fail(c, FNZ_CLASS_SYNTAX, "the name of the operator may have letters, digits, _ and .");
  const fnzi_limits *limits = &c->ctx->limits;
  if (n->nargs > limits->args || n->noutputs > limits->args)
    return fail(c, FNZ_CLASS_LIMIT, "%u arguments and %u results; at most %zu are allowed",
                n->nargs, n->noutputs, limits->args);
  const char *metadata = fnzi_node_metadata(n);
  if (strlen(n->source) > limits->string || (metadata && strlen(metadata) > limits->string))
    return fail(c, FNZ_CLASS_LIMIT, "source or metadata of more than %zu bytes", limits->string);
  if (n->op) {
    FNZ_TRY(check_args(c, n));
    if (n->noutputs != n->op->nreturns)
      return fail(c, FNZ_CLASS_TYPE, "%u results; the operator has %u", n->noutputs,
                  n->op->nreturns);
    for (uint32_t i = 0; i < n->noutputs; i++) {
      bool is_list = n->outputs[i].tag == FNZ_ARG_LIST;
      if (is_list != n->op->returns[i].is_list && n->outputs[i].tag != FNZ_ARG_NONE)
        return fail(c, FNZ_CLASS_TYPE, "result %u is %s list, the schema is %s", i,
                    is_list ? "a" : "no", fnz_op_schema(n->op));
      FNZ_TRY(check_result(c, n, i));
    }
  }
  FNZI_EACH_ARG(each, n->args, n->nargs)
    FNZ_TRY(use(c, each.arg));
  FNZI_EACH_ARG(each, n->outputs, n->noutputs)
    FNZ_TRY(define(c, each.arg));
  return FNZ_OK;
}

/* --- graphs ---------------------------------------------------------------------------------- */
static fnz_status check_graph(checker *c) {
  const fnzi_graph *g = fnzi_graph_at(c->p, c->graph);
  c->node = FNZI_NO_NODE;
  c->what = "inputs";
  FNZI_EACH_ARG(each, g->inputs, g->ninputs)
    FNZ_TRY(define(c, each.arg));
  for (uint32_t k = 0; k < g->nodes.count; k++) {
    c->node = k;
    FNZ_TRY(check_node(c, &g->nodes.data[k]));
  }
  c->node = FNZI_NO_NODE;
  c->what = "outputs";
  for (size_t i = 0; i < g->values.count; i++) {
    if (!c->seen[i])
      return fail(c, FNZ_CLASS_REF, "value %%%s is never defined", g->values.data[i].name);
    const fnzi_value *v = &g->values.data[i];
    const fnz_geometry *shape = v->geometry;
    if (v->symbol && v->symbol >= c->p->symbols.count)
      return fail(c, FNZ_CLASS_REF, "value %%%s has the unknown symbol %u", v->name, v->symbol);
    for (uint32_t k = 0; shape && shape->symbols && k < 2 * shape->rank + 1; k++) {
      if (shape->symbols[k] && shape->symbols[k] >= c->p->symbols.count)
        return fail(c, FNZ_CLASS_REF, "value %%%s has the unknown symbol %u in its type", v->name,
                    shape->symbols[k]);
      /* A size may have an example of its own; that of its symbol must be one for a size as well.
       */
      const fnzi_symbol *s = shape->symbols[k] ? &c->p->symbols.data[shape->symbols[k]] : NULL;
      if (s && k < shape->rank && s->has_hint && s->hint < 0)
        return fail(c, FNZ_CLASS_BOUNDS, "value %%%s has the size %s, whose example is %lld",
                    v->name, s->text, (long long)s->hint);
    }
  }
  FNZI_EACH_ARG(each, g->outputs, g->noutputs)
    FNZ_TRY(use(c, each.arg));
  return FNZ_OK;
}

static fnz_status check_graphs(fnz_context *ctx, const fnz_program *p) {
  for (uint32_t i = 0; i < p->graphs.count; i++) {
    size_t bytes = p->graphs.data[i].values.count + 1;
    checker c = {ctx, p, i, FNZI_NO_NODE, "", fnzi_resize(ctx, NULL, 0, bytes)};
    if (!c.seen)
      return fnzi_no_memory(ctx);
    memset(c.seen, 0, bytes);
    fnz_status status = check_graph(&c);
    fnzi_free(ctx, c.seen, bytes);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

/* --- signature and weights ------------------------------------------------------------------- */
/* The tags that an input of each kind may have. */
static const unsigned input_tags[FNZ_INPUT_KIND_COUNT] = {
    [FNZ_INPUT_USER] = BIT(VALUE) | BIT(SYMBOL) | BIT(OBJECT) | BIT(TOKEN),
    [FNZ_INPUT_PARAMETER] = BIT(VALUE),
    [FNZ_INPUT_BUFFER] = BIT(VALUE),
    [FNZ_INPUT_CONSTANT] = BIT(VALUE),
    [FNZ_INPUT_OBJECT] = BIT(OBJECT),
    [FNZ_INPUT_LITERAL] = ~(BIT(VALUE) | BIT(DEFAULT)),
    [FNZ_INPUT_TOKEN] = BIT(TOKEN),
    [FNZ_INPUT_MEMORY] = BIT(VALUE),
};

static fnz_status check_weight(fnz_context *ctx, const fnzi_weight *w) {
  int64_t low, high;
  if (w->geometry->symbols)
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, w->name,
                     "a stored tensor has symbolic sizes; it has the sizes of its data");
  if (!w->blob)
    return FNZ_OK;
  uint64_t item = fnz_dtype_get_info(w->geometry->dtype)->bytes;
  if (fnzi_extent(w->geometry, &low, &high) && (uint64_t)high * item <= fnzi_blob_bytes(w->blob))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, w->name,
                   "the tensor needs %llu bytes of storage, the file has %zu",
                   (unsigned long long)high * item, fnzi_blob_bytes(w->blob));
}

static fnz_status verify_input(fnz_context *ctx, const fnz_program *p, uint32_t k) {
  const fnz_input_spec *in = &p->inputs[k];
  if ((unsigned)in->kind >= FNZ_INPUT_KIND_COUNT)
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL, "unknown kind of input %d", (int)in->kind);
  if (!(input_tags[in->kind] >> p->graphs.data[0].inputs[k].tag & 1))
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL, "the kind of input does not fit what it is");
  if (!in->target)
    return fnzi_fail(ctx, FNZ_CLASS_REF, NULL, "the input has no name");
  if (in->kind == FNZ_INPUT_USER) {
    /* Callers and mutations name a user input's tensor as the graph does. */
    const fnz_arg *input = &p->graphs.data[0].inputs[k];
    const char *name =
        input->tag == FNZ_ARG_VALUE ? fnzi_value_at(p, 0, input->u.value)->name : NULL;
    if (!name || strcmp(name, p->inputs[k].target) == 0)
      return FNZ_OK;
    return fnzi_fail(ctx, FNZ_CLASS_REF, name,
                     "the user input %s says that its name is %s; a user input goes by the name of "
                     "its value, leave out the other",
                     name, p->inputs[k].target);
  }
  bool has_weight = fnzi_is_stored(in->kind) || in->kind == FNZ_INPUT_MEMORY;
  const fnzi_weight *w = has_weight ? fnzi_weight_find(p, in->target) : NULL;
  if (!w)
    return FNZ_OK;
  const fnz_geometry *g = fnzi_value_at(p, 0, p->graphs.data[0].inputs[k].u.value)->geometry;
  if (w->geometry->dtype != g->dtype || !fnzi_same_sizes(w->geometry, g))
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, in->target,
                     "input %u has another type than the tensor of that name", k);
  /* A weight may begin anywhere in its storage, but the program was traced with these strides: the
   * run uses the weight's strides, the pass the graph's. */
  if (g->symbols || fnzi_same_strides(w->geometry, g) || fnz_geometry_numel(g) == 0)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_TYPE, in->target,
                   "input %u has other strides than the tensor of that name; export the program "
                   "with the tensor as it is saved",
                   k);
}

/* kinds: target -> bit per kind of input; the bits from 16 on are the outputs that name it. */
static fnz_status check_inputs(fnz_context *ctx, const fnz_program *p, fnzi_map *kinds) {
  for (uint32_t k = 0; k < p->graphs.data[0].ninputs; k++) {
    uint64_t bits = 0;
    const fnz_input_spec *in = &p->inputs[k];
    FNZ_TRY(fnzi_at(ctx, verify_input(ctx, p, k), "input %u", k));
    const size_t size = strlen(in->target);
    const uint32_t hash = fnzi_map_hash(kinds, in->target, size);
    const bool is_known = fnzi_map_find(kinds, hash, in->target, size, &bits);
    if (bits >> in->kind & 1)
      return fnzi_fail(ctx, FNZ_CLASS_DUPLICATE, in->target, "two inputs of this kind and name");
    bits |= 1ull << in->kind;
    FNZ_TRY(is_known ? fnzi_map_set(kinds, in->target, size, bits)
                     : fnzi_map_add(kinds, hash, in->target, size, bits));
  }
  return FNZ_OK;
}

/* Kinds of inputs that have memory of their own, which they may be moved away from. */
enum { MEMORIES = 1 << FNZ_INPUT_USER | 1 << FNZ_INPUT_PARAMETER | 1 << FNZ_INPUT_BUFFER };

static fnz_status verify_output(fnz_context *ctx, fnzi_map *kinds, const fnz_output_spec *out) {
  if ((unsigned)out->kind >= FNZ_OUTPUT_KIND_COUNT)
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL, "unknown kind of output %d", (int)out->kind);
  bool has_target = fnzi_output_kind_of(out)->of != FNZI_NO_INPUT_KIND || fnzi_io_is_new_value(out);
  if (!has_target)
    return FNZ_OK;
  uint64_t bits = 0;
  int kind = fnzi_io_is_new_value(out) ? FNZ_INPUT_USER : fnzi_output_kind_of(out)->of;
  if (!out->target)
    return fnzi_fail(ctx, FNZ_CLASS_REF, NULL, "the output does not say whose value it is");
  fnzi_map_get(kinds, out->target, strlen(out->target), &bits);
  bool is_memory = kind == FNZ_INPUT_MEMORY && (bits & MEMORIES);
  if (!(bits >> kind & 1) && !is_memory)
    return fnzi_fail(ctx, FNZ_CLASS_REF, NULL, "there is no input \"%s\" of that kind",
                     out->target);
  if (bits >> (16 + out->kind) & 1)
    return fnzi_fail(ctx, FNZ_CLASS_DUPLICATE, NULL, "a second final value of \"%s\"", out->target);
  return fnzi_map_set(kinds, out->target, strlen(out->target), bits | 1ull << (16 + out->kind));
}

/* --- nodes and their bodies ------------------------------------------------------------------ */
static fnz_status check_bodies(fnz_context *ctx, const fnz_program *p, uint32_t graph,
                               uint32_t node) {
  const fnzi_node *n = fnzi_node_at(p, graph, node);
  fnzi_hop hop;
  char place[160];
  if (n->op || !fnzi_hop_is_known(n))
    return FNZ_OK;
  fnz_status status = fnzi_hop_read(ctx, p, n, &hop);
  if (status == FNZ_OK)
    status = fnzi_hop_check(ctx, p, graph, &hop);
  if (status == FNZ_OK)
    return FNZ_OK;
  fnzi_node_place(p, graph, node, place);
  return fnzi_at(ctx, status, "%s", place);
}

fnz_status fnz_program_verify(fnz_context *ctx, const fnz_program *p) {
  if (!p->graphs.count)
    return fnzi_fail(ctx, FNZ_CLASS_TRUNCATED, NULL, "the program has no graph");
  /* Symbol 0 means none. */
  for (size_t i = 1; i < p->symbols.count; i++)
    if (!*p->symbols.data[i].text)
      return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, NULL,
                       "symbol %zu has no text; write the expression that it stands for", i);
  for (size_t i = 0; i < p->ranges.count; i++) {
    const fnzi_range *r = &p->ranges.data[i];
    if (!*r->symbol)
      return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, NULL,
                       "range %zu is of a symbol without text; write the expression", i);
    if (r->min > r->max)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, r->symbol,
                       "its range is from %lld to %lld, in which there is nothing",
                       (long long)r->min, (long long)r->max);
  }
  FNZ_TRY(check_graphs(ctx, p));
  /* After all graphs, as nodes refer to later ones. */
  for (uint32_t i = 0; i < p->graphs.count; i++)
    for (uint32_t k = 0; k < p->graphs.data[i].nodes.count; k++)
      FNZ_TRY(check_bodies(ctx, p, i, k));
  for (size_t i = 0; i < p->weights.count; i++)
    FNZ_TRY(check_weight(ctx, &p->weights.data[i]));
  fnzi_map kinds;
  fnzi_map_init(&kinds, ctx);
  fnz_status status = check_inputs(ctx, p, &kinds);
  for (uint32_t k = 0; k < p->graphs.data[0].noutputs && status == FNZ_OK; k++)
    status = fnzi_at(ctx, verify_output(ctx, &kinds, &p->outputs[k]), "output %u", k);
  fnzi_map_free(&kinds);
  FNZ_TRY(status);
  return fnzi_sharing_verify(ctx, p);
}
