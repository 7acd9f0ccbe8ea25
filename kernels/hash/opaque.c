/* opaque.c - any operator as an unknown function: element i of result k is a hash of the operator's
 * name, which for an alias is its canonical operator's, its attributes, the fingerprints of its
 * tensors, k and i. For a pointwise operator, it depends only on the elements at its own place.
 * List operators are the element's operator on each item, so that writing a list at once or item
 * after item is the same. The hash of random numbers also depends on how many calls drew some
 * before. */
#include "kernels/hash/hash.h"

#include "schema/aten_names.h"

static uint64_t attribute(uint64_t h, const fnz_arg *arg) {
  h = fnzi_hash_combine(h, arg->tag);
  switch ((fnz_tag)arg->tag) {
  case FNZ_ARG_VALUE:
    return fnzi_hash_combine(h, fnzi_hash_value_print(fnzi_hash_value_of(arg->u.value)));
  case FNZ_ARG_STRING:
  case FNZ_ARG_DEVICE:
  case FNZ_ARG_OPERATOR:
    return fnzi_hash_text(h, arg->u.s == NULL ? "" : arg->u.s);
  case FNZ_ARG_FLOAT: {
    uint64_t bits;
    memcpy(&bits, &arg->u.f, sizeof bits);
    return fnzi_hash_combine(h, bits);
  }
  case FNZ_ARG_INT:
  case FNZ_ARG_BOOL:
  case FNZ_ARG_DTYPE:
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
  case FNZ_ARG_GRAPH:
    return fnzi_hash_combine(h, (uint64_t)arg->u.i);
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
  case FNZ_ARG_COMPLEX:
  case FNZ_ARG_LIST:
    break;
  }
  return h;
}

static uint64_t call_print(const fnzi_hash_call *h, const fnz_op *op, const fnz_arg *args) {
  uint64_t print = fnzi_hash_text(h->hasher->seed, fnzi_op_canonical(op)->name);
  for (size_t i = 0; i < op->nparams; i++) {
    print = fnzi_hash_combine(print, args[i].tag);
    if (args[i].tag == FNZ_ARG_LIST || args[i].tag == FNZ_ARG_COMPLEX)
      print = fnzi_hash_combine(print, args[i].count);
    FNZI_EACH_ARG(each, &args[i], 1)
      print = attribute(print, each.arg);
  }
  return print;
}

static fnz_status opaque_fill(fnzi_hash_call *h, uint64_t print, uint64_t number) {
  return fnzi_hash_result_series(h, NULL, (fnzi_cell){fnzi_hash_combine(print, number), 0});
}

/* --- Pointwise operators ---------------------------------------------------------------------- */

/* Each element depends on the elements at its place alone, so that a part can be computed alone. */
static bool is_pointwise(const fnzi_hash_call *h) {
  bool plain = fnzi_op_is_elementwise(h->op) && (h->op->tags & FNZI_TAG_RANDOM) == 0 &&
               h->op->nreturns == 1 && !h->op->returns[0].is_list;
  size_t tensors = 0;
  for (size_t i = 0; plain && i < h->op->nparams; i++) {
    tensors += h->args[i].tag == FNZ_ARG_VALUE;
    plain = !(h->op->params[i].type == FNZI_TYPE_TENSOR && h->op->params[i].is_list);
  }
  return plain && tensors > 0;
}

/* The common hash of all elements: the operator, dtypes and attributes. */
static fnz_status common_print(fnzi_hash_call *h, fnz_dtype dtype, uint64_t *out) {
  fnz_arg *args;
  FNZI_NEW(&h->arena, h->op->nparams, &args);
  for (size_t i = 0; i < h->op->nparams; i++) {
    args[i] = h->args[i];
    if (args[i].tag == FNZ_ARG_VALUE)
      args[i] =
          (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = fnzi_hash_value_of(args[i].u.value)->g.dtype};
  }
  *out = fnzi_hash_combine(call_print(h, h->op, args), dtype);
  return FNZ_OK;
}

/* Elements of one cell each: the result keeps the place of the first operand's cell; its origin
 * depends on the operands' origins, and on the distances of their places to that place. So
 * operators on series of the same sizes give a series. */
static uint64_t mix_cell(uint64_t h, fnzi_cell cell, uint64_t at) {
  return fnzi_hash_combine(fnzi_hash_combine(h, cell.of), cell.at - at);
}

typedef struct mixing {
  fnzi_hash_value *to;
  uint64_t print; /* what all elements begin with */
  bool begun;     /* the first operand is there */
  bool single;    /* one cell each, also in all operands */
} mixing;

/* A row of an operand's elements, into as many elements from `out` on. Neighbours mostly differ in
 * their place only. */
static void mix_row(const mixing *m, const fnzi_hash_walk *w, const fnzi_hash_value *operand,
                    fnzi_cell *out) {
  const fnzi_cell *cells = operand->cells + w->place;
  uint64_t from = 0, of = 0, away = 0, made = 0;
  for (int64_t k = 0; k < w->length; k++, out++) {
    const fnzi_cell *cell = cells + k * w->step;
    if (!m->begun)
      *out = (fnzi_cell){m->print, cell->at};
    if (k == 0 || out->of != from || cell->of != of || cell->at - out->at != away) {
      from = out->of, of = cell->of, away = cell->at - out->at;
      made = mix_cell(from, *cell, out->at);
    }
    out->of = made;
  }
}

/* The same for elements of several cells: the hash of each is in its first cell until all cells are
 * computed from it. */
static void mix_cells(const mixing *m, const fnzi_hash_walk *w, const fnzi_hash_value *operand,
                      fnzi_cell *out) {
  const fnzi_cell *first = operand->cells + (size_t)w->place * operand->unit;
  for (int64_t k = 0; k < w->length; k++, out += m->to->unit) {
    const fnzi_cell *cells = first + k * w->step * (int64_t)operand->unit;
    uint64_t h = m->begun ? out->of : m->print;
    for (size_t j = 0; j < operand->unit; j++)
      h = fnzi_hash_cell(h, cells[j]);
    *out = (fnzi_cell){h, 0};
  }
}

/* One operand, broadcast. */
static fnz_status mix_in(fnzi_hash_call *h, fnzi_hash_value *operand, mixing *m) {
  fnz_geometry window;
  fnzi_hash_walk w;
  bool fits;
  fnzi_cell *out = m->to->cells;
  FNZ_TRY(fnzi_hash_look(h, operand));
  FNZ_TRY(fnzi_hash_broadcast(h, operand, &m->to->g, &window, &fits));
  for (fnzi_hash_walk_start(&w, &window); w.left > 0; fnzi_hash_walk_next(&w)) {
    if (m->single)
      mix_row(m, &w, operand, out);
    else
      mix_cells(m, &w, operand, out);
    out += (size_t)w.length * m->to->unit;
  }
  m->begun = true;
  return FNZ_OK;
}

/* All operands are series of the result's sizes. */
static bool are_series(const fnzi_hash_call *h, const fnz_geometry *to) {
  for (size_t i = 0; i < h->op->nparams; i++) {
    const fnzi_hash_value *v =
        h->args[i].tag == FNZ_ARG_VALUE ? fnzi_hash_value_of(h->args[i].u.value) : NULL;
    if (v && (!v->is_series || !fnzi_same_sizes(&v->g, to)))
      return false;
  }
  return true;
}

/* As mix_row() does it for the first element. */
static fnz_status give_series(fnzi_hash_call *h, uint64_t print) {
  fnzi_cell start = {print, 0};
  bool begun = false;
  for (size_t i = 0; i < h->op->nparams; i++) {
    if (h->args[i].tag != FNZ_ARG_VALUE)
      continue;
    const fnzi_cell first = fnzi_hash_value_of(h->args[i].u.value)->start;
    start.at = begun ? start.at : first.at;
    start.of = mix_cell(start.of, first, start.at);
    begun = true;
  }
  return fnzi_hash_result_series(h, NULL, start);
}

static fnz_status pointwise(fnzi_hash_call *h, bool *done) {
  const fnz_geometry *to = h->call->expected == NULL ? NULL : h->call->expected[h->count];
  mixing m = {.begun = false};
  *done = false;
  if (to == NULL || !is_pointwise(h))
    return FNZ_OK;
  /* Some operand may not broadcast after all. */
  fnz_geometry unused;
  *done = true;
  for (size_t i = 0; *done && i < h->op->nparams; i++)
    if (h->args[i].tag == FNZ_ARG_VALUE)
      FNZ_TRY(fnzi_hash_broadcast(h, fnzi_hash_value_of(h->args[i].u.value), to, &unused, done));
  if (!*done)
    return FNZ_OK;
  FNZ_TRY(common_print(h, to->dtype, &m.print));
  /* All operands and the result have one cell per element. */
  bool single = fnzi_hash_unit(h->hasher, to->dtype) == 1;
  for (size_t i = 0; single && i < h->op->nparams; i++)
    if (h->args[i].tag == FNZ_ARG_VALUE)
      single = fnzi_hash_value_of(h->args[i].u.value)->unit == 1;
  m.single = single;
  if (m.single && are_series(h, to))
    return give_series(h, m.print);
  FNZ_TRY(fnzi_hash_result(h, NULL, &m.to));
  for (size_t i = 0; i < h->op->nparams; i++)
    if (h->args[i].tag == FNZ_ARG_VALUE)
      FNZ_TRY(mix_in(h, fnzi_hash_value_of(h->args[i].u.value), &m));
  for (size_t i = 0; !m.single && i < m.to->ncells; i += m.to->unit)
    for (size_t j = m.to->unit; j-- > 0;)
      m.to->cells[i + j] = (fnzi_cell){m.to->cells[i].of, j};
  return FNZ_OK;
}

/* --- Any operator ----------------------------------------------------------------------------- */

/* The k-th item of a list operator: the element's operator on the k-th item of each list. */
static fnz_status element(fnzi_hash_call *h, const fnz_op *op, uint32_t k) {
  const fnz_op *list_op = h->op;
  const fnz_arg *list_args = h->args;
  fnz_arg *args;
  bool done;
  FNZI_NEW(&h->arena, op->nparams, &args);
  for (size_t i = 0; i < op->nparams; i++) {
    args[i] = i < list_op->nparams ? list_args[i] : fnzi_arg_get(op, NULL, 0, i);
    bool listed = i < list_op->nparams && list_op->params[i].is_list && args[i].tag == FNZ_ARG_LIST;
    if (listed && k < args[i].count)
      args[i] = args[i].u.list[k];
  }
  h->op = op;
  h->args = args;
  fnz_status status = fnzi_hash_move(h, &done); /* as one by one: clone, zero */
  if (status == FNZ_OK && !done)
    status = fnzi_hash_constant(h, &done);
  if (status == FNZ_OK && !done)
    status = pointwise(h, &done);
  if (status == FNZ_OK && !done)
    status = opaque_fill(h, call_print(h, op, args), 0);
  h->op = list_op;
  h->args = list_args;
  return status;
}

/* Notes a call that does more than compute its results. The n-th call that draws random numbers
 * gets other ones than the same call as the m-th, so its results depend on how many came before. */
static fnz_status note_effect(fnzi_hash_call *h, uint64_t *print) {
  static const uint16_t assertions[] = {FNZI_ATEN__assert_async, FNZI_ATEN__assert_async__msg,
                                        FNZI_ATEN__functional_assert_async__msg};
  const bool draws = (h->op->tags & FNZI_TAG_RANDOM) != 0;
  const bool asserts = fnzi_op_is_among(h->op, assertions, sizeof assertions / sizeof *assertions);
  const fnz_geometry *g = draws && h->call->expected != NULL ? h->call->expected[0] : NULL;
  if (g != NULL && g->strides != NULL) {
    /* In the order of memory: dimensions from the outermost to the innermost. */
    uint32_t order[FNZ_MAX_RANK];
    fnzi_loop_order(g, NULL, 0, order);
    for (uint32_t k = 0; k < g->rank; k++)
      if (g->sizes[order[k]] > 1)
        *print = fnzi_hash_combine(*print, order[k]);
  }
  fnzi_hash_effect effect = {*print, h->op, h->call->source ? h->call->source : ""};
  fnzi_hash_value *condition;
  if (!(h->op->tags & FNZI_TAGS_KEPT) && !asserts && h->op->nreturns > 0)
    return FNZ_OK;
  if (draws)
    *print = fnzi_hash_combine(*print, ++h->hasher->draws);
  if (asserts) {
    FNZ_TRY(fnzi_hash_input(h, 0, &condition));
    effect.print = fnzi_hash_value_print(condition);
  }
  FNZI_PUSH(h->hasher->ctx, &h->hasher->effects, effect);
  return FNZ_OK;
}

fnz_status fnzi_hash_opaque(fnzi_hash_call *h) {
  const fnz_op *each = fnzi_foreach_element(h->op);
  uint64_t print;
  bool done = false;
  if (fnz_op_is_mutating(h->op))
    return fnzi_fail(h->ctx, FNZ_CLASS_UNSUPPORTED, "", "%s is not functional", h->op->name);
  if (h->capacity == 1)
    FNZ_TRY(pointwise(h, &done));
  if (done)
    return FNZ_OK;
  print = call_print(h, h->op, h->args);
  FNZ_TRY(note_effect(h, &print));
  while (h->count < h->capacity) {
    if (h->call->expected != NULL && h->call->expected[h->count] == NULL) /* undefined */
      h->outputs[h->count++] = 0;
    else if (each != NULL)
      FNZ_TRY(element(h, each, (uint32_t)h->count));
    else
      FNZ_TRY(opaque_fill(h, print, h->count));
  }
  return FNZ_OK;
}
