/* expand_sizes.c - a node whose sizes are expressions, replayed as calls of other operators.
 *
 * An expander knows numbers only. So it works at several sizes, one after the other, and must give
 * the same calls at all of them. Each number in them is one of the node's own sizes, or the sum,
 * difference, product or quotient of two of them. The result must be right at special sizes, too,
 * such as 0 and 1.
 *
 * needs   points of the pass's sizes (program/shapes/points.c)
 * gives   a script of expressions that is right at each of these points; else a refusal */
#include "functionalize/pass/pass.h"
#include "program/shapes/ints.h"

/* Sizes by which expressions are found: at fewer than ENOUGH, different ones have the same numbers.
 */
enum { ENOUGH = 3, MOST = 12 };

/* A place in a script: numbers that may be expressions, and what must be the same everywhere. */
typedef enum slot_kind {
  SLOT_FIXED,
  SLOT_INT,    /* an integer argument */
  SLOT_REAL,   /* a floating point argument */
  SLOT_TRUTH,  /* a truth value as argument */
  SLOT_SIZE,   /* from here on numbers of a geometry: a size, or the offset */
  SLOT_STRIDE, /* a stride */
  SLOT_ANY     /* a stride that locates no element: any number is right */
} slot_kind;

typedef struct slot {
  slot_kind kind;
  int64_t bits;
  void *where; /* the argument, or the number */
} slot;

typedef struct slots {
  slot *data;
  size_t count, capacity;
} slots;

typedef struct answer {
  fnzi_point *point;
  slots slots; /* of the script that was given there */
} answer;

/* A word and its numbers in the answers that count. */
typedef struct form {
  fnzi_int word;
  int64_t numbers[MOST];
} form;

typedef struct search {
  fnzi_ints *ints;
  const fnzi_pass_expander *expander;
  fnzi_arena *arena;
  const fnzi_script_whole *whole;
  struct {
    int64_t *data; /* words of sizes in the node, each once */
    size_t count, capacity;
  } words;
  struct {
    const fnz_arg **data; /* its floats and truth values that are expressions */
    size_t count, capacity;
  } others;
  struct {
    fnzi_point **data; /* that were tried */
    size_t count, capacity;
  } tried;
  struct {
    answer *data;
    size_t count, capacity;
  } answers;
  const answer *used[MOST]; /* those by which expressions are found */
  size_t nused;
  slots found; /* of the script that is made, with words */
  struct {
    form *data;
    size_t count, capacity;
  } forms;
} search;

static fnz_status stop(const search *x, const char *why) {
  return fnzi_fail(x->ints->set->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s is taken apart into %s; export the program with fixed sizes, or keep the "
                   "operator",
                   x->whole->op->name, why);
}

/* --- the node --------------------------------------------------------------------------------- */
static fnz_status add_word(search *x, int64_t bits) {
  if (fnzi_int_is_number((fnzi_int){bits}) || fnzi_int_is_none((fnzi_int){bits}))
    return FNZ_OK;
  for (size_t i = 0; i < x->words.count; i++)
    if (x->words.data[i] == bits)
      return FNZ_OK;
  FNZI_PUSH(x->ints->set->ctx, &x->words, bits);
  return FNZ_OK;
}

static fnz_status add_geometry(search *x, const fnz_geometry *g) {
  for (uint32_t d = 0; g && d < g->rank; d++) {
    FNZ_TRY(add_word(x, g->sizes[d]));
    FNZ_TRY(add_word(x, g->strides[d]));
  }
  return g ? add_word(x, g->offset) : FNZ_OK;
}

static fnz_status find_words(search *x) {
  const fnzi_script_whole *w = x->whole;
  FNZI_EACH_ARG(each, w->args, w->op->nparams) {
    if (each.arg->tag == FNZI_ARG_SIZE)
      FNZ_TRY(add_word(x, each.arg->u.i));
    else if (fnzi_arg_is_expr(each.arg))
      FNZI_PUSH(x->ints->set->ctx, &x->others, each.arg);
    else if (each.arg->tag == FNZ_ARG_VALUE)
      FNZ_TRY(add_geometry(x, w->geometries[each.arg->u.value]));
  }
  for (size_t k = 0; k < w->nexpected; k++)
    FNZ_TRY(add_geometry(x, w->expected[k]));
  return FNZ_OK;
}

/* --- numbers of the node ---------------------------------------------------------------------- */
/* *known false: it has no number there, or none that a size can be. */
static fnz_status number_at(const search *x, fnzi_point *point, int64_t *bits, bool *known) {
  const fnzi_expr *e;
  if (fnzi_int_is_number((fnzi_int){*bits}) || !*known)
    return FNZ_OK;
  FNZ_TRY(fnzi_ints_expr(x->ints, (fnzi_int){*bits}, &e));
  return fnzi_point_int(point, e, known, bits);
}

static fnz_status geometry_at(const search *x, fnzi_point *point, const fnz_geometry *g,
                              const fnz_geometry **out, bool *known) {
  fnz_geometry *made;
  int64_t *dims;
  *out = g;
  if (!g || !fnzi_int_is_symbolic(g))
    return FNZ_OK;
  FNZI_NEW(x->arena, 1, &made);
  FNZI_NEW(x->arena, 2 * (size_t)g->rank, &dims);
  *made = *g;
  for (uint32_t d = 0; d < g->rank; d++) {
    dims[d] = g->sizes[d];
    dims[g->rank + d] = g->strides[d];
    FNZ_TRY(number_at(x, point, &dims[d], known));
    FNZ_TRY(number_at(x, point, &dims[g->rank + d], known));
    *known = *known && dims[d] >= 0;
  }
  made->sizes = dims;
  made->strides = dims + g->rank;
  *out = made;
  return number_at(x, point, &made->offset, known);
}

static fnz_status arg_at(const search *x, fnzi_point *point, fnz_arg *arg, bool *known) {
  double real = 0;
  if (!fnzi_arg_is_expr(arg) || !*known)
    return FNZ_OK;
  if (arg->tag == FNZI_ARG_SIZE) {
    arg->tag = FNZ_ARG_INT;
    return number_at(x, point, &arg->u.i, known);
  }
  const fnzi_expr *e = x->ints->set->all.data[arg->u.i];
  if (arg->tag == FNZI_ARG_TRUTH) {
    arg->tag = FNZ_ARG_BOOL;
    return fnzi_point_int(point, e, known, &arg->u.i);
  }
  FNZ_TRY(fnzi_point_real(point, e, known, &real));
  *arg = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = real};
  return FNZ_OK;
}

static fnz_status all_at(const search *x, fnzi_point *point, const fnz_geometry *const *from,
                         size_t count, const fnz_geometry *const **out, bool *known) {
  const fnz_geometry **made;
  FNZI_NEW(x->arena, count, &made);
  for (size_t k = 0; k < count; k++)
    FNZ_TRY(geometry_at(x, point, from[k], &made[k], known));
  *out = made;
  return FNZ_OK;
}

/* Says which numbers of the node are expressions. */
static void note_open(const fnzi_script_whole *w, fnzi_script_whole *out) {
  for (int i = 0; i < w->op->nparams && i < 64; i++)
    FNZI_EACH_ARG(each, &w->args[i], 1)
      out->open |= (uint64_t)fnzi_arg_is_expr(each.arg) << i;
  const fnz_arg *first = w->op->nparams ? &w->args[0] : NULL;
  if (!first || first->tag != FNZ_ARG_VALUE)
    return;
  const fnz_geometry *g = w->geometries[first->u.value];
  for (uint32_t d = 0; d < g->rank; d++)
    out->open_dims |= (uint64_t)!fnzi_int_is_number((fnzi_int){g->sizes[d]}) << d;
}

/* The node with numbers; *known false: the point has not all of them. */
static fnz_status whole_at(const search *x, fnzi_point *point, fnzi_script_whole *out,
                           bool *known) {
  const fnzi_script_whole *w = x->whole;
  size_t count = 0;
  fnz_arg *args;
  *out = *w;
  *known = true;
  note_open(w, out);
  FNZ_TRY(fnzi_args_clone(x->arena, w->args, w->op->nparams, w->op->nparams, &args));
  FNZI_EACH_ARG(each, args, w->op->nparams) {
    FNZ_TRY(arg_at(x, point, fnzi_each_own(&each), known));
    count += each.arg->tag == FNZ_ARG_VALUE;
  }
  out->args = args;
  FNZ_TRY(all_at(x, point, w->geometries, count, &out->geometries, known));
  return all_at(x, point, w->expected, w->nexpected, &out->expected, known);
}

/* --- what a script has ------------------------------------------------------------------------ */
static fnz_status add(const search *x, slots *to, slot_kind kind, int64_t bits, const void *where) {
  FNZI_PUSH(x->ints->set->ctx, to, ((slot){kind, bits, (void *)(uintptr_t)where}));
  return FNZ_OK;
}

static slot_kind kind_of(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_INT     ? SLOT_INT
         : arg->tag == FNZ_ARG_FLOAT ? SLOT_REAL
         : arg->tag == FNZ_ARG_BOOL  ? SLOT_TRUTH
                                     : SLOT_FIXED;
}

static fnz_status add_args(const search *x, slots *to, const fnzi_script_call *call) {
  fnzi_walk walk;
  fnzi_step step;
  fnzi_walk_start(&walk, call->args, call->op->nparams);
  while ((step = fnzi_walk_next(&walk)) != FNZI_STEP_END) {
    const fnz_arg *arg = walk.arg;
    const bool is_item = step == FNZI_STEP_ITEM;
    FNZ_TRY(add(x, to, SLOT_FIXED, (int64_t)step << 8 | arg->tag, NULL));
    if (is_item && arg->tag == FNZ_ARG_COMPLEX)
      for (size_t k = 0; k < 2; k++)
        FNZ_TRY(add(x, to, SLOT_FIXED, arg->u.list[k].u.i, NULL));
    else if (is_item && arg->tag != FNZ_ARG_NONE && arg->tag != FNZ_ARG_DEFAULT)
      FNZ_TRY(add(x, to, kind_of(arg), arg->u.i, arg));
    else if (!is_item)
      FNZ_TRY(add(x, to, SLOT_FIXED, arg->count, NULL));
  }
  return FNZ_OK;
}

static fnz_status list_slots(const search *x, const fnzi_script *script, slots *to) {
  for (size_t i = 0; i < script->calls.count; i++) {
    const fnzi_script_call *call = &script->calls.data[i];
    FNZ_TRY(add(x, to, SLOT_FIXED, (int64_t)(intptr_t)call->op, NULL));
    FNZ_TRY(add(x, to, SLOT_FIXED, call->count, NULL));
    FNZ_TRY(add_args(x, to, call));
    for (uint32_t k = 0; k < call->count; k++) {
      /* From the last dimension to the first, sizes before strides: then a stride is the product of
       * two numbers before it. */
      const fnz_geometry *g = script->values.data[call->first + k];
      FNZ_TRY(add(x, to, SLOT_FIXED, g ? (int64_t)g->dtype << 8 | g->rank : -1, NULL));
      const bool is_empty = g && fnzi_int_is_empty(g);
      for (uint32_t d = g ? g->rank : 0; d-- > 0;)
        FNZ_TRY(add(x, to, SLOT_SIZE, g->sizes[d], &g->sizes[d]));
      for (uint32_t d = g ? g->rank : 0; d-- > 0;)
        FNZ_TRY(add(x, to, is_empty || g->sizes[d] == 1 ? SLOT_ANY : SLOT_STRIDE, g->strides[d],
                    &g->strides[d]));
      FNZ_TRY(g ? add(x, to, SLOT_SIZE, g->offset, &g->offset) : FNZ_OK);
    }
  }
  for (size_t k = 0; k < script->results.count; k++)
    FNZ_TRY(add(x, to, SLOT_FIXED, script->results.data[k], NULL));
  return FNZ_OK;
}

/* --- trying ----------------------------------------------------------------------------------- */
/* The results have the sizes that are recorded; else the source fails there, too. */
static bool sizes_has_recorded_sizes(const fnzi_script_whole *there, const fnzi_script *script) {
  if (there->nexpected && script->results.count != there->nexpected)
    return false;
  for (size_t k = 0; k < there->nexpected; k++) {
    const uint32_t value = script->results.data[k];
    const fnz_geometry *want = there->expected[k],
                       *g = value == FNZI_SCRIPT_UNDEFINED ? NULL : script->values.data[value];
    if (g && want && g->dtype == want->dtype && !fnzi_same_sizes(g, want))
      return false;
  }
  return true;
}

/* *works false: the node fails there, or the point was tried before. `script` is empty unless it is
 * done. */
static fnz_status try_at(search *x, fnzi_point *point, fnzi_script *script, bool *works,
                         bool *done) {
  fnz_context *ctx = x->ints->set->ctx;
  const fnz_error had = ctx->error;
  fnzi_script_whole there;
  bool before;
  *works = *done = false;
  *script = (fnzi_script){.arena = x->arena};
  /* The node has the same sizes there as at a point that was tried. */
  before = !x->words.count && x->tried.count >= ENOUGH;
  for (size_t k = 0; k < x->tried.count && x->words.count && !before; k++) {
    before = true;
    for (size_t i = 0; i < x->words.count && before; i++) {
      int64_t here = x->words.data[i], then = here;
      bool known = true;
      FNZ_TRY(number_at(x, point, &here, &known));
      FNZ_TRY(number_at(x, x->tried.data[k], &then, &known));
      before = known && here == then;
    }
  }
  if (before)
    return FNZ_OK;
  FNZ_TRY(whole_at(x, point, &there, works));
  if (!*works)
    return FNZ_OK;
  FNZI_PUSH(ctx, &x->tried, point);
  fnz_status status = x->expander->expand(x->expander, x->arena, &there, script, done);
  *works = status == FNZ_OK && (!*done || sizes_has_recorded_sizes(&there, script));
  if (status == FNZ_OK && !*works)
    fnzi_script_free(script);
  if (status == FNZ_OK || fnzi_is_final(status) || status == FNZ_INTERNAL)
    return status;
  ctx->error = had;
  return FNZ_OK;
}

static fnz_status add_answer(search *x, fnzi_point *point, const fnzi_script *script) {
  FNZI_PUSH(x->ints->set->ctx, &x->answers, ((answer){.point = point}));
  return list_slots(x, script, &x->answers.data[x->answers.count - 1].slots);
}

/* The script at one more point. The first one stays in `out`. */
static fnz_status try_point(search *x, fnzi_point *point, fnzi_script *out, bool *done) {
  const bool is_first = x->answers.count == 0;
  fnzi_script script;
  bool works, is_done;
  FNZ_TRY(try_at(x, point, &script, &works, &is_done));
  if (!works)
    return FNZ_OK;
  fnz_status status = add_answer(x, point, &script);
  if (is_first) {
    *out = script;
    *done = is_done;
  } else
    fnzi_script_free(&script);
  return status == FNZ_OK && is_done != *done ? stop(x, "steps at some sizes only") : status;
}

/* --- expressions for numbers ------------------------------------------------------------------ */
static fnz_status add_form(search *x, fnzi_int word) {
  form made = {word, {0}};
  for (size_t k = 0; k < x->nused; k++) {
    bool known = true;
    made.numbers[k] = word.bits;
    FNZ_TRY(number_at(x, x->used[k]->point, &made.numbers[k], &known));
  }
  bool varies = false;
  for (size_t k = 1; k < x->nused; k++)
    varies = varies || made.numbers[k] != made.numbers[0];
  if (!varies)
    return stop(x, "sizes that are one number at all sizes that are known");
  FNZI_PUSH(x->ints->set->ctx, &x->forms, made);
  return FNZ_OK;
}

/* Two numbers make one. */
typedef enum joining { JOIN_SUM, JOIN_PRODUCT, JOIN_DIFFERENCE, JOIN_QUOTIENT, JOINS } joining;

static bool joins_to(joining how, int64_t a, int64_t b, int64_t wanted) {
  int64_t made = 0;
  switch (how) {
  case JOIN_SUM:
    return fnzi_add_i64(a, b, &made) && made == wanted;
  case JOIN_PRODUCT:
    return fnzi_mul_i64(a, b, &made) && made == wanted;
  case JOIN_DIFFERENCE:
    return fnzi_add_i64(wanted, b, &made) && made == a;
  default:
    return b > 0 && a >= 0 && a / b == wanted; /* of whole numbers, rounded down */
  }
}

static fnzi_int join(fnzi_ints *s, joining how, fnzi_int a, fnzi_int b) {
  return how == JOIN_SUM          ? fnzi_int_add(s, a, b)
         : how == JOIN_PRODUCT    ? fnzi_int_mul(s, a, b)
         : how == JOIN_DIFFERENCE ? fnzi_int_sub(s, a, b)
                                  : fnzi_int_div_down(s, a, b);
}

static bool are_joined(const search *x, joining how, const form *a, const form *b, size_t at) {
  for (size_t k = 0; k < x->nused; k++) {
    const slot *s = &x->used[k]->slots.data[at];
    if (s->kind != SLOT_ANY && !joins_to(how, a->numbers[k], b->numbers[k], s->bits))
      return false;
  }
  return true;
}

/* The first answer in which the slot matters; NULL: it does in none. */
static const slot *find_lead(const search *x, size_t at, size_t *first) {
  for (*first = 0; *first < x->nused; ++*first)
    if (x->used[*first]->slots.data[at].kind != SLOT_ANY)
      return &x->used[*first]->slots.data[at];
  return NULL;
}

/* The number beside `has` that makes `wanted`. */
static form number_beside(joining how, int64_t has, int64_t wanted) {
  const bool fits = fnzi_int_is_number((fnzi_int){wanted});
  const int64_t number = !fits                    ? 0
                         : how == JOIN_SUM        ? wanted - has
                         : how == JOIN_DIFFERENCE ? has - wanted
                         : how == JOIN_PRODUCT    ? (has ? wanted / has : 0)
                                                  : (wanted ? has / wanted : 0);
  form out = {{number}, {0}};
  for (size_t k = 0; k < MOST; k++)
    out.numbers[k] = number;
  return out;
}

/* An expression for a slot. Several of them that are not proved to be equal are none: where they
 * differ no point lies. */
typedef struct finding {
  fnzi_int word; /* NONE: there is none */
  bool is_unsure;
} finding;

static void note(fnzi_ints *s, finding *f, fnzi_int word) {
  const bool is_first = fnzi_int_is_none(f->word);
  if (fnzi_int_is_none(word) || fnzi_int_same(word, f->word))
    return;
  f->is_unsure = f->is_unsure || (!is_first && !(fnzi_int_is_at_least(s, word, f->word) &&
                                                 fnzi_int_is_at_least(s, f->word, word)));
  f->word = is_first ? word : f->word;
}

/* A form, or a form and a number. */
static finding find_alone(const search *x, size_t at) {
  finding out = {FNZI_INT_NONE, false};
  size_t first;
  const slot *lead = find_lead(x, at, &first);
  for (size_t i = 0; i < x->forms.count; i++) {
    const form *f = &x->forms.data[i];
    for (joining how = 0; how < JOINS; how++) {
      const form number = number_beside(how, f->numbers[first], lead->bits);
      if (are_joined(x, how, f, &number, at))
        note(x->ints, &out, join(x->ints, how, f->word, number.word));
    }
  }
  return out;
}

static finding find_pair(const search *x, size_t at) {
  finding out = {FNZI_INT_NONE, false};
  for (joining how = 0; how < JOINS; how++)
    for (size_t i = 0; i < x->forms.count; i++)
      for (size_t j = 0; j < x->forms.count; j++)
        if (are_joined(x, how, &x->forms.data[i], &x->forms.data[j], at))
          note(x->ints, &out, join(x->ints, how, x->forms.data[i].word, x->forms.data[j].word));
  return out;
}

static fnz_status express_other(const search *x, size_t at) {
  slot *s = &x->found.data[at];
  /* A float, or a truth value, that the node has. */
  const fnz_arg *other = NULL;
  for (size_t i = 0; i < x->others.count && !other; i++) {
    bool is_same =
        x->others.data[i]->tag == (s->kind == SLOT_REAL ? FNZI_ARG_REAL : FNZI_ARG_TRUTH);
    for (size_t k = 0; k < x->nused && is_same; k++) {
      fnz_arg here = *x->others.data[i];
      bool known = true;
      FNZ_TRY(arg_at(x, x->used[k]->point, &here, &known));
      is_same = known && here.u.i == x->used[k]->slots.data[at].bits;
    }
    other = is_same ? x->others.data[i] : NULL;
  }
  if (!other)
    return stop(x, "numbers that depend on sizes");
  *(fnz_arg *)s->where = *other;
  return FNZ_OK;
}

static void put(slot *s, fnzi_int word) {
  s->bits = word.bits;
  if (s->kind == SLOT_INT)
    *(fnz_arg *)s->where = fnzi_arg_of_int(word);
  else
    *(int64_t *)s->where = word.bits;
}

/* Puts the expression into the script. */
static fnz_status express(search *x, size_t at) {
  slot *s = &x->found.data[at];
  size_t first;
  const slot *lead = find_lead(x, at, &first);
  if (!lead)
    return FNZ_OK;
  bool same = true, same_kinds = true;
  for (size_t k = 0; k < x->nused; k++) {
    const slot *there = &x->used[k]->slots.data[at];
    same = same && (there->kind == SLOT_ANY || there->bits == lead->bits);
    same_kinds = same_kinds && (there->kind == lead->kind ||
                                (there->kind == SLOT_ANY && lead->kind == SLOT_STRIDE));
  }
  const bool is_other = s->kind == SLOT_REAL || s->kind == SLOT_TRUTH;
  const bool is_size = s->kind >= SLOT_SIZE;
  if (!same_kinds || (s->kind == SLOT_FIXED && !same))
    return stop(x, "other steps at other sizes");
  if (same && is_size)
    put(s, (fnzi_int){lead->bits});
  if (same)
    return FNZ_OK;
  if (is_other)
    return express_other(x, at);
  finding f = find_alone(x, at);
  if (fnzi_int_is_none(f.word))
    f = find_pair(x, at);
  if (fnzi_int_is_none(f.word) || f.is_unsure)
    return stop(x, f.is_unsure ? "sizes that several expressions were found for"
                               : "sizes that no expression was found for");
  put(s, f.word);
  return add_form(x, f.word);
}

static fnz_status express_all(search *x) {
  x->forms.count = 0;
  for (size_t i = 0; i < x->words.count; i++)
    FNZ_TRY(add_form(x, (fnzi_int){x->words.data[i]}));
  for (size_t at = 0; at < x->found.count; at++)
    FNZ_TRY(express(x, at));
  return FNZ_OK;
}

/* --- special sizes ---------------------------------------------------------------------------- */
/* *out: the expression has the number at the point that an answer has there. */
static fnz_status is_right(const search *x, const slot *found, const slot *there, fnzi_point *point,
                           bool *out) {
  int64_t bits = found->bits;
  bool known = true;
  if (found->kind >= SLOT_SIZE)
    FNZ_TRY(number_at(x, point, &bits, &known));
  else if (found->kind != SLOT_FIXED) {
    fnz_arg arg = *(const fnz_arg *)found->where;
    FNZ_TRY(arg_at(x, point, &arg, &known));
    bits = arg.u.i;
  }
  const bool may_differ = found->kind == SLOT_STRIDE || found->kind == SLOT_ANY;
  *out = (there->kind == SLOT_ANY && may_differ) ||
         (there->kind == found->kind && known && bits == there->bits);
  return FNZ_OK;
}

/* *wrong: the first answer that is another one. */
static fnz_status find_wrong(const search *x, const answer **wrong) {
  *wrong = NULL;
  for (size_t k = 0; k < x->answers.count && !*wrong; k++) {
    const answer *a = &x->answers.data[k];
    bool right = true;
    for (size_t i = 0; i < x->found.count && right; i++)
      FNZ_TRY(is_right(x, &x->found.data[i], &a->slots.data[i], a->point, &right));
    *wrong = right ? NULL : a;
  }
  return FNZ_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* An answer that is another one takes part from then on. */
static fnz_status find_script(search *x, fnzi_script *out, bool *done) {
  const answer *wrong;
  for (size_t k = 0; k < x->ints->points.count; k++)
    FNZ_TRY(try_point(x, &x->ints->points.data[k], out, done));
  if (x->answers.count < ENOUGH)
    return stop(x, "steps for sizes that are hard to find");
  for (size_t k = 1; k < x->answers.count; k++)
    if (x->answers.data[k].slots.count != x->answers.data[0].slots.count)
      return stop(x, "other steps at other sizes");
  FNZ_TRY(list_slots(x, out, &x->found));
  const size_t usual = x->ints->points.usual < ENOUGH ? ENOUGH : x->ints->points.usual;
  while (x->nused < usual && x->nused < x->answers.count) {
    x->used[x->nused] = &x->answers.data[x->nused];
    x->nused++;
  }
  FNZ_TRY(express_all(x));
  FNZ_TRY(find_wrong(x, &wrong));
  while (wrong && x->nused < MOST) {
    x->used[x->nused++] = wrong;
    FNZ_TRY(express_all(x));
    FNZ_TRY(find_wrong(x, &wrong));
  }
  return wrong ? stop(x, "other steps at some sizes") : FNZ_OK;
}

fnz_status fnzi_pass_expand_sizes(fnzi_ints *ints, const fnzi_pass_expander *expander,
                                  fnzi_arena *arena, const fnzi_script_whole *whole,
                                  fnzi_script *out, bool *done) {
  fnz_context *ctx = ints->set->ctx;
  search x = {.ints = ints, .expander = expander, .arena = arena, .whole = whole};
  *out = (fnzi_script){.arena = arena};
  *done = false;
  fnz_status status = find_words(&x);
  const bool is_fixed = !x.words.count && !x.others.count;
  if (status == FNZ_OK && is_fixed)
    status = expander->expand(expander, arena, whole, out, done);
  else if (status == FNZ_OK)
    status = find_script(&x, out, done);
  if (status == FNZ_OK && *done) {
    /* The inputs of the script are the node's own tensors. */
    for (size_t i = 0; i < out->ninputs; i++)
      out->values.data[i] = x.whole->geometries[i];
  }
  if (status != FNZ_OK && !is_fixed)
    fnzi_script_free(out);
  *done = *done && status == FNZ_OK;
  for (size_t k = 0; k < x.answers.count; k++)
    FNZI_VEC_FREE(ctx, &x.answers.data[k].slots);
  FNZI_VEC_FREE(ctx, &x.answers);
  FNZI_VEC_FREE(ctx, &x.found);
  FNZI_VEC_FREE(ctx, &x.words);
  FNZI_VEC_FREE(ctx, &x.others);
  FNZI_VEC_FREE(ctx, &x.tried);
  FNZI_VEC_FREE(ctx, &x.forms);
  return status;
}
