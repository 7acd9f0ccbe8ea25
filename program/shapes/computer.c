/* computer.c - makes the nodes that compute a symbolic number, where a graph has none yet.
 *
 * needs   expressions of one set; sizes of values in the order in which these are defined
 * keeps   names that the source has for a number
 * gives   arguments: literals, or values of nodes appended at the end of the graph
 *
 * An expression is computed after its parts; pending expressions wait on a stack. */
#include "program/shapes/computer.h"

#include "schema/aten_names.h"

void fnzi_computer_start(fnzi_computer *c, fnz_context *ctx) {
  *c = (fnzi_computer){.ctx = ctx, .where = ""};
  fnzi_map_init(&c->values, ctx);
  fnzi_map_init(&c->reals, ctx);
  fnzi_map_init(&c->origins, ctx);
  fnzi_map_init(&c->names, ctx);
}

void fnzi_computer_end(fnzi_computer *c) {
  fnzi_map_free(&c->values);
  fnzi_map_free(&c->reals);
  fnzi_map_free(&c->origins);
  fnzi_map_free(&c->names);
  FNZI_VEC_FREE(c->ctx, &c->sights);
}

/* --- where numbers come from ------------------------------------------------------------------ */
/* The only symbol of a sum of symbols whose origin is not known; NULL when there is none, or
 * several. */
static const fnzi_expr *new_symbol(const fnzi_computer *c, const fnzi_expr *size) {
  const fnzi_expr *found = NULL;
  uint64_t place;
  if (size->kind == FNZI_EXPR_SYMBOL)
    return size;
  for (uint32_t i = 0; size->kind == FNZI_EXPR_SUM && i < size->count; i++) {
    const fnzi_expr *e = size->parts[i].expr;
    if (e->kind != FNZI_EXPR_SYMBOL || size->parts[i].den != 1 || size->den != 1)
      return NULL;
    if (fnzi_map_get(&c->origins, &e->id, sizeof e->id, &place))
      continue;
    if (found)
      return NULL;
    found = e;
  }
  return found;
}

fnz_status fnzi_computer_see(fnzi_computer *c, uint64_t value, uint32_t dim,
                             const fnzi_expr *size) {
  const fnzi_expr *symbol = new_symbol(c, size);
  uint64_t place;
  if (!symbol)
    return FNZ_OK;
  bool known = fnzi_map_get(&c->origins, &symbol->id, sizeof symbol->id, &place);
  if (known && c->sights.data[place].size == symbol)
    return FNZ_OK; /* the first, but the symbol itself rather than twice as much */
  FNZ_TRY(fnzi_map_set(&c->origins, &symbol->id, sizeof symbol->id, c->sights.count));
  fnzi_sight_size s = {value, dim, size};
  FNZI_PUSH(c->ctx, &c->sights, s);
  return FNZ_OK;
}

/* --- values ----------------------------------------------------------------------------------- */
static const fnzi_value *source_value(const fnzi_computer *c, const fnzi_expr *e) {
  for (size_t i = 0; i < c->source->values.count; i++) {
    const fnzi_value *v = &c->source->values.data[i];
    if (v->symbol && c->sizes->symbols[v->symbol] == e)
      return v;
  }
  return NULL;
}

static fnz_status name_symbol(fnzi_computer *c, const fnzi_expr *e, uint32_t *out) {
  bool known;
  int64_t hint;
  const char *text;
  FNZ_TRY(fnzi_point_int(c->recorded, e, &known, &hint));
  FNZ_TRY(fnzi_expr_text(&c->sizes->set, e, &text));
  return fnzi_symbol_add(c->to, text, known, known ? hint : 0, out);
}

fnz_status fnzi_symbol_of(fnzi_computer *c, const fnzi_expr *e, uint32_t *out) {
  *out = 0;
  return e->kind == FNZI_EXPR_NUMBER ? FNZ_OK : name_symbol(c, e, out);
}

/* Expressions that are integers, and the same as floating point numbers. */
typedef enum sort { WHOLE, REAL } sort;

static fnz_status computer_define(fnzi_computer *c, const fnzi_expr *e, sort as, uint32_t node,
                                  uint32_t *value) {
  const fnzi_value *like = source_value(c, e);
  uint64_t there;
  uint32_t symbol;
  FNZ_TRY(name_symbol(c, e, &symbol)); /* of a number too: a node that reads it needs its name */
  if (like && !fnzi_value_find(c->to, c->into, like->name, strlen(like->name), &there) &&
      !fnzi_map_get(&c->names, like->name, strlen(like->name), &there))
    FNZ_TRY(fnzi_value_add(c->to, c->into, like->name, NULL, node, value));
  else
    FNZ_TRY(fnzi_value_add_fresh(c->to, c->into, "sym", NULL, node, value));
  fnzi_value_at(c->to, c->into, *value)->symbol = symbol;
  return fnzi_map_set(as == REAL ? &c->reals : &c->values, &e->id, sizeof e->id, *value);
}

fnz_status fnzi_computer_define(fnzi_computer *c, const fnzi_expr *e, uint32_t node,
                                uint32_t *value) {
  return computer_define(c, e, WHOLE, node, value);
}

/* The expression that a node computes. */
typedef struct task {
  const fnzi_expr *e;
  sort as;
} task;

/* A node of `target` with the result `t` only. Source and metadata are copied from the source's
 * node for it. */
static fnz_status append(fnzi_computer *c, const fnz_op *op, const char *target,
                         const fnz_arg *args, uint32_t nargs, task t) {
  uint32_t at = (uint32_t)fnzi_graph_at(c->to, c->into)->nodes.count, value;
  const fnzi_value *like = source_value(c, t.e);
  const fnzi_node *model = like && like->node != FNZI_NO_NODE && c->source->nodes.count > like->node
                               ? &c->source->nodes.data[like->node]
                               : NULL;
  fnz_arg *copied, *result;
  fnzi_node_other other = {0};
  fnzi_node node = {.op = op, .nargs = op ? op->nparams : nargs, .noutputs = 1};
  FNZI_NEW(&c->to->arena, node.nargs, &copied);
  FNZI_NEW(&c->to->arena, 1, &result);
  memcpy(copied, args, nargs * sizeof *args);
  FNZ_TRY(computer_define(c, t.e, t.as, at, &value));
  *result = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = value};
  node.args = copied;
  node.outputs = result;
  const char *source = model && model->source ? model->source : c->where;
  FNZ_TRY(fnzi_intern(c->to, source, strlen(source), &node.source));
  FNZ_TRY(fnzi_intern(c->to, target, strlen(target), &other.target));
  if (model && fnzi_node_metadata(model) && model->op == op)
    FNZ_TRY(fnzi_intern(c->to, fnzi_node_metadata(model), strlen(fnzi_node_metadata(model)),
                        &other.metadata));
  FNZ_TRY(fnzi_node_keep(c->to, &node, &other));
  return fnzi_node_append(c->to, c->into, &node, &at);
}

/* --- one step --------------------------------------------------------------------------------- */
static bool argument_as(const fnzi_computer *c, const fnzi_expr *e, sort as, fnz_arg *out) {
  uint64_t value;
  *out = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = e->num};
  if (e->kind == FNZI_EXPR_REAL)
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = e->real};
  else if (e->kind == FNZI_EXPR_NUMBER && (as == REAL || e->den != 1))
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = (double)e->num / (double)e->den};
  if (e->kind == FNZI_EXPR_NUMBER || e->kind == FNZI_EXPR_REAL)
    return true;
  *out = (fnz_arg){.tag = FNZ_ARG_SYMBOL};
  if (!fnzi_map_get(as == REAL ? &c->reals : &c->values, &e->id, sizeof e->id, &value))
    return false;
  out->u.value = value;
  return true;
}

static fnz_status computer_refuse(fnzi_computer *c, const fnzi_expr *e, const char *why) {
  const char *text;
  FNZ_TRY(fnzi_expr_text(&c->sizes->set, e, &text));
  return fnzi_fail(c->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "the functional program needs the number %s, %s", text, why);
}

/* The expressions that `e` is computed from by one node; *count 0: a symbol. Missing expressions
 * are computed from simpler ones. */
typedef struct recipe {
  const char *target;
  const fnzi_expr *from[FNZI_NUMBER_MOST_ARGS]; /* NULL: the literal */
  size_t count;
  fnz_arg literals[FNZI_NUMBER_MOST_ARGS];
  bool reals;    /* operands that are no integers are doubles */
  bool branches; /* of doubles: all operands but the first are doubles */
} recipe;

/* The kind of number that an operand must be. An integer will do next to a double operand. */
static sort operand_sort(const recipe *r, size_t i) {
  bool any = r->branches && i > 0;
  return r->reals && !r->from[i]->is_real && (any || !r->from[i]->is_whole) ? REAL : WHOLE;
}

static fnz_status sum_without_last(fnzi_computer *c, const fnzi_expr *e, recipe *out) {
  fnzi_exprs *set = &c->sizes->set;
  const fnzi_shapes_part *last = &e->parts[e->count - 1];
  out->target = "_operator.add";
  out->count = 2;
  if (e->num != 0) { /* (sum) + constant */
    FNZ_TRY(fnzi_expr_number(set, e->num, 1, &out->from[1]));
    FNZ_TRY(fnzi_expr_number(set, -e->num, 1, &out->from[0]));
    return fnzi_expr_add(set, e, out->from[0], &out->from[0]);
  }
  if (e->count == 1) { /* factor * term */
    out->target = "_operator.mul";
    out->from[0] = last->expr;
    return fnzi_expr_number(set, last->num, 1, &out->from[1]);
  }
  /* The first term with a positive factor begins, so that a - b is no -1 * b. */
  bool minus = last->num < 0;
  FNZ_TRY(fnzi_expr_scale(set, last->expr, minus ? -last->num : last->num, 1, &out->from[1]));
  const fnzi_expr *negated;
  FNZ_TRY(fnzi_expr_scale(set, out->from[1], minus ? 1 : -1, 1, &negated));
  FNZ_TRY(fnzi_expr_add(set, e, negated, &out->from[0]));
  out->target = minus ? "_operator.sub" : "_operator.add";
  return FNZ_OK;
}

/* A number that doubles make is computed by the node that the source has for it, with that node's
 * operands in their order: its bits depend on them. *out without a target: there is none. */
static fnz_status copy_recipe(fnzi_computer *c, const fnzi_expr *e, sort as, recipe *out) {
  const fnzi_graph *graph;
  const fnzi_node *node;
  *out = (recipe){.reals = true};
  FNZ_TRY(fnzi_computer_find(c, e, as == REAL, &graph, &node));
  for (uint32_t i = 0; node && i < node->nargs; i++) {
    const fnz_arg *arg = &node->args[i];
    uint32_t symbol = arg->tag == FNZ_ARG_SYMBOL ? graph->values.data[arg->u.value].symbol : 0;
    out->from[i] = symbol ? c->sizes->symbols[symbol] : NULL;
    out->literals[i] = *arg;
    bool itself = out->from[i] == e && (as != REAL || !e->is_whole);
    if ((arg->tag == FNZ_ARG_SYMBOL && !out->from[i]) || itself)
      return FNZ_OK;
  }
  out->target = node ? fnzi_node_target(node) : NULL;
  out->count = node ? node->nargs : 0;
  out->branches = node && (as == REAL || e->is_real) && strcmp(out->target, "torch.sym_ite") == 0;
  return FNZ_OK;
}

static fnz_status call_recipe(fnzi_computer *c, const fnzi_expr *e, recipe *out) {
  bool reals = e->is_real || fnzi_expr_takes_real(e);
  if (reals)
    FNZ_TRY(copy_recipe(c, e, WHOLE, out));
  if (out->target)
    return FNZ_OK;
  if (!fnzi_number_target(e->function))
    return computer_refuse(c, e, "for which there is no node");
  *out = (recipe){.target = fnzi_number_target(e->function),
                  .from = {e->parts[0].expr},
                  .count = 1,
                  .reals = reals};
  if (e->count == 1)
    return FNZ_OK;
  if (e->function == FNZI_FUNCTION_ITE) {
    out->branches = e->is_real;
    out->count = 3;
    out->from[0] = e->parts[1].expr;
    out->from[1] = e->parts[0].expr;
    out->from[2] = e->parts[2].expr;
    return FNZ_OK;
  }
  out->count = 2;
  out->from[1] = e->parts[e->count - 1].expr;
  if (e->count == 2)
    return FNZ_OK;
  const fnzi_expr **rest; /* Max(a, b, c) is Max(Max(a, b), c) */
  FNZI_NEW(&c->sizes->set.arena, e->count, &rest);
  for (uint32_t i = 0; i + 1 < e->count; i++)
    rest[i] = e->parts[i].expr;
  return fnzi_expr_call(&c->sizes->set, e->function, rest, e->count - 1, &out->from[0]);
}

/* size = factor * symbol + rest */
static fnz_status rest_of(fnzi_computer *c, const fnzi_expr *size, const fnzi_expr *symbol,
                          int64_t *factor, const fnzi_expr **rest) {
  const fnzi_expr *minus;
  *factor = 1;
  for (uint32_t i = 0; size != symbol && i < size->count; i++)
    if (size->parts[i].expr == symbol)
      *factor = size->parts[i].num;
  FNZ_TRY(fnzi_expr_scale(&c->sizes->set, symbol, -*factor, 1, &minus));
  return fnzi_expr_add(&c->sizes->set, size, minus, rest);
}

static fnz_status find_recipe(fnzi_computer *c, const fnzi_expr *e, recipe *out) {
  fnzi_exprs *set = &c->sizes->set;
  *out = (recipe){.target = NULL};
  switch (e->kind) {
  case FNZI_EXPR_SUM: {
    int64_t den = fnzi_common_denominator(e);
    if (den == 1)
      return sum_without_last(c, e, out);
    if (den == 0)
      return computer_refuse(c, e, "whose fractions leave 64 bits");
    *out = (recipe){.target = "_operator.floordiv", .count = 2}; /* it is an integer */
    FNZ_TRY(fnzi_expr_number(set, den, 1, &out->from[1]));
    return fnzi_expr_scale(set, e, den, 1, &out->from[0]);
  }
  case FNZI_EXPR_PRODUCT: {
    const fnzi_shapes_part *last = &e->parts[e->count - 1];
    const fnzi_expr *inverse;
    if (last->num < 0)
      return computer_refuse(c, e, "which divides by a size");
    *out = (recipe){.target = "_operator.mul", .from = {NULL, last->expr}, .count = 2};
    FNZ_TRY(fnzi_expr_pow(set, last->expr, -1, &inverse));
    return fnzi_expr_mul(set, e, inverse, &out->from[0]);
  }
  case FNZI_EXPR_CALL:
    return call_recipe(c, e, out);
  case FNZI_EXPR_NUMBER:
  case FNZI_EXPR_REAL:
    return computer_refuse(c, e, "which is no integer");
  case FNZI_EXPR_SYMBOL:
    break;
  }
  /* The expression to compute before the symbol: the rest of the size that contains the symbol. */
  uint64_t place;
  int64_t factor;
  if (!fnzi_map_get(&c->origins, &e->id, sizeof e->id, &place))
    return computer_refuse(c, e, "which no size of an earlier value has");
  out->count = 1;
  return rest_of(c, c->sights.data[place].size, e, &factor, &out->from[0]);
}

/* A symbol by a size that has it: the size itself, or arithmetic on it. */
static fnz_status computer_read_symbol(fnzi_computer *c, const fnzi_expr *symbol) {
  const fnz_op *op = &fnzi_ops[FNZI_ATEN_sym_size__int];
  const fnzi_expr *rest, *part;
  uint64_t place = 0;
  int64_t factor;
  fnz_arg args[2], size;
  fnzi_map_get(&c->origins, &symbol->id, sizeof symbol->id, &place);
  fnzi_sight_size s = c->sights.data[place];
  if (!argument_as(c, s.size, WHOLE, &size)) {
    args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = s.value};
    args[1] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = s.dim};
    FNZ_TRY(append(c, op, fnz_op_name(op), args, 2, (task){s.size, WHOLE}));
    argument_as(c, s.size, WHOLE, &size);
  }
  FNZ_TRY(rest_of(c, s.size, symbol, &factor, &rest));
  FNZ_TRY(fnzi_expr_scale(&c->sizes->set, symbol, factor, 1, &part));
  if (part != s.size && !argument_as(c, part, WHOLE, &args[0])) {
    args[0] = size;
    argument_as(c, rest, WHOLE, &args[1]);
    FNZ_TRY(append(c, NULL, "_operator.sub", args, 2, (task){part, WHOLE}));
  }
  if (part == symbol)
    return FNZ_OK;
  argument_as(c, part, WHOLE, &args[0]);
  args[1] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = factor};
  return append(c, NULL, "_operator.floordiv", args, 2, (task){symbol, WHOLE});
}

/* --- floating point numbers ------------------------------------------------------------------- */
/* A quotient of two integers. */
static fnz_status split_quotient(fnzi_computer *c, const fnzi_expr *e, const fnzi_expr **above,
                                 const fnzi_expr **below) {
  fnzi_exprs *set = &c->sizes->set;
  const fnzi_shapes_part whole = {e, 1, 1}, *term = &whole;
  if (e->kind == FNZI_EXPR_SUM && e->count == 1 && e->num == 0)
    term = &e->parts[0];
  FNZ_TRY(fnzi_expr_number(set, term->num, 1, above));
  FNZ_TRY(fnzi_expr_number(set, term->den, 1, below));
  if (term->expr->kind == FNZI_EXPR_PRODUCT) {
    /* The numerator of a product has its positive powers, the denominator its negative ones. */
    for (uint32_t i = 0; i < term->expr->count; i++) {
      const fnzi_shapes_part *p = &term->expr->parts[i];
      const fnzi_expr *power, **side = p->num < 0 ? below : above;
      FNZ_TRY(fnzi_expr_pow(set, p->expr, p->num < 0 ? -p->num : p->num, &power));
      FNZ_TRY(fnzi_expr_mul(set, *side, power, side));
    }
    return FNZ_OK;
  }
  int64_t den =
      e->kind == FNZI_EXPR_SUM || e->kind == FNZI_EXPR_NUMBER ? fnzi_common_denominator(e) : 1;
  if (den == 0)
    return computer_refuse(c, e, "whose fractions leave 64 bits");
  FNZ_TRY(fnzi_expr_number(set, den, 1, below));
  return fnzi_expr_scale(set, e, den, 1, above);
}

/* --- all steps -------------------------------------------------------------------------------- */

typedef struct stack {
  task *data;
  size_t count, capacity;
} stack;

static bool operand_of(const fnzi_computer *c, const recipe *r, size_t i, fnz_arg *out) {
  *out = r->literals[i];
  return !r->from[i] || argument_as(c, r->from[i], operand_sort(r, i), out);
}

/* If all arguments are integers but a double is required, converts the first one. */
static fnz_status make_real(fnzi_computer *c, const recipe *r, fnz_arg *args) {
  const fnzi_expr *first = r->from[0];
  bool any = false;
  for (size_t i = 0; i < r->count; i++)
    any = any || args[i].tag == FNZ_ARG_FLOAT ||
          (r->from[i] && (r->from[i]->is_real || operand_sort(r, i) == REAL));
  if (any || fnzi_makes_double(r->target) || args[0].tag == FNZ_ARG_BOOL)
    return FNZ_OK;
  if (args[0].tag == FNZ_ARG_INT) {
    args[0] = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = (double)args[0].u.i};
    return FNZ_OK;
  }
  fnz_arg found;
  if (!argument_as(c, first, REAL, &found)) {
    FNZ_TRY(append(c, NULL, "torch.sym_float", args, 1, (task){first, REAL}));
    argument_as(c, first, REAL, &found);
  }
  args[0] = found;
  return FNZ_OK;
}

/* Finds an argument that must be computed first; false if all are there. */
static bool find_missing(const fnzi_computer *c, const recipe *r, task *out) {
  fnz_arg arg;
  for (size_t i = 0; i < r->count; i++) {
    if (!r->from[i])
      continue;
    *out = (task){r->from[i], operand_sort(r, i)};
    if (!operand_of(c, r, i, &arg))
      return true;
  }
  return false;
}

static fnz_status work_off(fnzi_computer *c, stack *todo) {
  while (todo->count) {
    const task t = todo->data[todo->count - 1];
    task next;
    recipe r;
    fnz_arg args[FNZI_NUMBER_MOST_ARGS];
    if (argument_as(c, t.e, t.as, &args[0])) {
      todo->count--;
      continue;
    }
    if (t.as == REAL) {
      /* The source's node for it, else a quotient. */
      FNZ_TRY(copy_recipe(c, t.e, REAL, &r));
      if (!r.target) {
        r = (recipe){.target = "_operator.truediv", .count = 2};
        FNZ_TRY(split_quotient(c, t.e, &r.from[0], &r.from[1]));
      }
    } else
      FNZ_TRY(find_recipe(c, t.e, &r));
    if (find_missing(c, &r, &next)) {
      FNZI_PUSH(c->ctx, todo, next);
      continue;
    }
    if (t.e->kind == FNZI_EXPR_SYMBOL && t.as == WHOLE) {
      FNZ_TRY(computer_read_symbol(c, t.e));
      continue;
    }
    for (size_t i = 0; i < r.count; i++)
      operand_of(c, &r, i, &args[i]);
    if ((t.e->is_real || t.as == REAL) && strcmp(r.target, "torch.sym_ite") != 0)
      FNZ_TRY(make_real(c, &r, args));
    FNZ_TRY(append(c, NULL, r.target, args, (uint32_t)r.count, t));
  }
  return FNZ_OK;
}

static fnz_status computer_compute(fnzi_computer *c, const fnzi_expr *e, sort as, fnz_arg *out) {
  stack todo = {NULL, 0, 0};
  void *data = NULL;
  fnz_status status = fnzi_grow(c->ctx, &data, &todo.capacity, 1, sizeof *todo.data);
  todo.data = data;
  if (status == FNZ_OK) {
    todo.data[todo.count++] = (task){e, as};
    status = work_off(c, &todo);
  }
  FNZI_VEC_FREE(c->ctx, &todo);
  argument_as(c, e, as, out);
  return status;
}

fnz_status fnzi_compute(fnzi_computer *c, const fnzi_expr *e, fnz_arg *out) {
  return computer_compute(c, e, WHOLE, out);
}

fnz_status fnzi_compute_real(fnzi_computer *c, const fnzi_expr *e, fnz_arg *out) {
  return computer_compute(c, e, e->is_real ? WHOLE : REAL, out);
}
