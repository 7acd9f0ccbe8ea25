/* symbolic.c - making symbolic expressions: sets, sums and products in canonical form.
 *
 * needs   canonical arguments of the same set
 * keeps   one expression per canonical text: a new one is built beside the set, printed, and thrown
 *         away when its text is there already
 * gives   sums with terms in the order of their texts, products with factors in that order */
#include "program/shapes/symbolic_set.h"

#include <stdlib.h>

/* --- sets ------------------------------------------------------------------------------------- */
void fnzi_exprs_init(fnzi_exprs *set, fnz_context *ctx) {
  *set = (fnzi_exprs){.ctx = ctx};
  fnzi_arena_init(&set->arena, ctx);
  fnzi_map_init(&set->index, ctx);
}

void fnzi_exprs_free(fnzi_exprs *set) {
  FNZI_VEC_FREE(set->ctx, &set->all);
  fnzi_map_free(&set->index);
  fnz_buffer_free(set->ctx, &set->text);
  fnzi_arena_free(&set->arena);
}

const fnzi_expr *fnzi_expr_find(const fnzi_exprs *set, const char *text) {
  uint64_t id;
  return fnzi_map_get(&set->index, text, strlen(text), &id) ? set->all.data[id] : NULL;
}

static fnz_status copy_parts(fnzi_exprs *set, fnzi_expr *e) {
  fnzi_shapes_part *parts;
  FNZI_NEW(&set->arena, e->count, &parts);
  if (e->count)
    memcpy(parts, e->parts, e->count * sizeof *parts);
  e->parts = parts;
  return FNZ_OK;
}

static bool is_double(const fnzi_expr *e) {
  if (e->kind == FNZI_EXPR_REAL)
    return true;
  if (e->kind == FNZI_EXPR_SYMBOL)
    return e->text && fnzi_is_float_symbol(e);
  if (e->kind != FNZI_EXPR_CALL)
    return false;
  bool chooses = e->function == FNZI_FUNCTION_MIN || e->function == FNZI_FUNCTION_MAX ||
                 e->function == FNZI_FUNCTION_MOD || e->function == FNZI_FUNCTION_PYTHON_MOD ||
                 e->function == FNZI_FUNCTION_FLOOR_DIV || e->function == FNZI_FUNCTION_ITE;
  return (e->function >= FNZI_FUNCTION_REAL_ADD && e->function <= FNZI_FUNCTION_ASINH) ||
         (chooses && fnzi_expr_takes_real(e));
}

/* Sums and products of integers are, but for fractions in front of terms and divisors; so is what
 * rounds or compares. The rest takes a value of its arguments. */
static bool is_whole(const fnzi_expr *e) {
  bool rounds = e->kind == FNZI_EXPR_CALL &&
                (e->function == FNZI_FUNCTION_FLOOR_DIV || e->function == FNZI_FUNCTION_FLOOR ||
                 e->function == FNZI_FUNCTION_TRUNC || e->function == FNZI_FUNCTION_ROUND ||
                 fnzi_expr_is_condition(e));
  if (e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_ITE)
    return e->parts[0].expr->is_whole && e->parts[2].expr->is_whole;
  bool whole = !is_double(e) && (e->kind == FNZI_EXPR_PRODUCT || e->den == 1);
  for (uint32_t i = 0; i < e->count && !rounds; i++)
    whole = whole && e->parts[i].den == 1 && e->parts[i].expr->is_whole &&
            (e->kind != FNZI_EXPR_PRODUCT || e->parts[i].num > 0);
  return rounds || whole;
}

static fnz_status keep(fnzi_exprs *set, const fnzi_expr *made, const char *text, size_t size,
                       const fnzi_expr **out) {
  fnzi_expr *e;
  FNZI_NEW(&set->arena, 1, &e);
  *e = *made;
  e->id = (uint32_t)set->all.count;
  FNZ_TRY(copy_parts(set, e));
  FNZ_TRY(fnzi_arena_string(&set->arena, text, size, &e->text));
  e->is_real = is_double(e);
  e->is_whole = is_whole(e);
  FNZI_PUSH(set->ctx, &set->all, (const fnzi_expr *)e);
  *out = e;
  return fnzi_map_set(&set->index, e->text, size, e->id);
}

/* The one expression like `made`, whose parts may be anywhere. */
fnz_status fnzi_expr_intern(fnzi_exprs *set, const fnzi_expr *made, const fnzi_expr **out) {
  fnz_buffer *text = &set->text;
  uint64_t id;
  text->size = 0;
  FNZ_TRY(fnzi_expr_put_text(set->ctx, made, text));
  if (text->size > FNZI_EXPR_MAX_TEXT)
    return fnzi_fail(set->ctx, FNZ_CLASS_LIMIT, NULL,
                     "a symbolic expression of more than %d characters", FNZI_EXPR_MAX_TEXT);
  if (!fnzi_map_get(&set->index, text->data, text->size, &id))
    return keep(set, made, text->data, text->size, out);
  *out = set->all.data[id];
  return FNZ_OK;
}

fnz_status fnzi_expr_plain_call(fnzi_exprs *set, fnzi_function function,
                                const fnzi_expr *const *args, size_t count, const fnzi_expr **out) {
  fnzi_shapes_part *parts;
  if (count > FNZI_EXPR_MAX_PARTS)
    return fnzi_expr_too_many(set);
  FNZI_NEW(&set->arena, count, &parts);
  for (size_t i = 0; i < count; i++)
    parts[i] = (fnzi_shapes_part){args[i], 1, 1};
  fnzi_expr made = {.kind = FNZI_EXPR_CALL,
                    .function = function,
                    .den = 1,
                    .parts = parts,
                    .count = (uint32_t)count};
  return fnzi_expr_intern(set, &made, out);
}

fnz_status fnzi_expr_overflow(fnzi_exprs *set) {
  return fnzi_fail(set->ctx, FNZ_CLASS_OVERFLOW, NULL,
                   "a number in a symbolic expression leaves 64 bits");
}

fnz_status fnzi_expr_too_many(fnzi_exprs *set) {
  return fnzi_fail(set->ctx, FNZ_CLASS_LIMIT, NULL, "a symbolic expression has more than %d terms",
                   FNZI_EXPR_MAX_PARTS);
}

/* --- rational numbers ------------------------------------------------------------------------- */
int64_t fnzi_gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

bool fnzi_ratio(int64_t num, int64_t den, fnzi_ratio_t *out) {
  if (den == 0 || num == INT64_MIN || den == INT64_MIN)
    return false;
  int64_t common = fnzi_gcd(num, den), sign = den < 0 ? -1 : 1;
  *out = (fnzi_ratio_t){sign * num / common, sign * den / common};
  return true;
}

bool fnzi_ratio_add(fnzi_ratio_t a, fnzi_ratio_t b, fnzi_ratio_t *out) {
  int64_t x, y, sum, den;
  return fnzi_mul_i64(a.num, b.den, &x) && fnzi_mul_i64(b.num, a.den, &y) &&
         fnzi_add_i64(x, y, &sum) && fnzi_mul_i64(a.den, b.den, &den) && fnzi_ratio(sum, den, out);
}

bool fnzi_ratio_mul(fnzi_ratio_t a, fnzi_ratio_t b, fnzi_ratio_t *out) {
  int64_t num, den;
  if (!fnzi_ratio(a.num, b.den, &(fnzi_ratio_t){0, 0}))
    return false;
  return fnzi_mul_i64(a.num, b.num, &num) && fnzi_mul_i64(a.den, b.den, &den) &&
         fnzi_ratio(num, den, out);
}

int64_t fnzi_ratio_floor(fnzi_ratio_t a) {
  return a.num / a.den - (a.num % a.den != 0 && a.num < 0);
}

/* --- leaves ----------------------------------------------------------------------------------- */
fnz_status fnzi_expr_number(fnzi_exprs *set, int64_t num, int64_t den, const fnzi_expr **out) {
  fnzi_ratio_t r;
  if (den == 0)
    return fnzi_fail(set->ctx, FNZ_CLASS_SYNTAX, NULL, "a division by zero");
  if (!fnzi_ratio(num, den, &r))
    return fnzi_expr_overflow(set);
  fnzi_expr made = {.kind = FNZI_EXPR_NUMBER, .num = r.num, .den = r.den};
  return fnzi_expr_intern(set, &made, out);
}

fnz_status fnzi_expr_symbol(fnzi_exprs *set, const char *name, size_t size, const fnzi_expr **out) {
  const char *kept;
  FNZ_TRY(fnzi_arena_string(&set->arena, name, size, &kept));
  *out = fnzi_expr_find(set, kept);
  if (*out)
    return FNZ_OK;
  fnzi_expr made = {.kind = FNZI_EXPR_SYMBOL, .den = 1};
  return keep(set, &made, kept, size, out);
}

fnz_status fnzi_expr_name(fnzi_exprs *set, const char *name, const fnzi_expr *meaning) {
  return fnzi_map_set(&set->index, name, strlen(name), meaning->id);
}

/* --- sums ------------------------------------------------------------------------------------- */
void fnzi_as_sum(const fnzi_expr *e, fnzi_shapes_sum *out) {
  *out = (fnzi_shapes_sum){.constant = {0, 1}, .parts = &out->single};
  if (e->kind == FNZI_EXPR_SUM || e->kind == FNZI_EXPR_NUMBER) {
    out->constant = (fnzi_ratio_t){e->num, e->den};
    out->parts = e->parts;
    out->count = e->count;
    return;
  }
  out->single = (fnzi_shapes_part){e, 1, 1};
  out->count = 1;
}

/* Of terms in order, none of them 0. */
static fnz_status make_sum(fnzi_exprs *set, fnzi_ratio_t constant, const fnzi_shapes_part *parts,
                           uint32_t count, const fnzi_expr **out) {
  if (!count)
    return fnzi_expr_number(set, constant.num, constant.den, out);
  if (count == 1 && constant.num == 0 && parts->num == 1 && parts->den == 1) {
    *out = parts->expr;
    return FNZ_OK;
  }
  if (count > FNZI_EXPR_MAX_PARTS)
    return fnzi_expr_too_many(set);
  fnzi_expr made = {.kind = FNZI_EXPR_SUM,
                    .num = constant.num,
                    .den = constant.den,
                    .parts = parts,
                    .count = count};
  return fnzi_expr_intern(set, &made, out);
}

static bool add_term(fnzi_shapes_part *parts, uint32_t *count, fnzi_shapes_part term) {
  fnzi_shapes_part *last = *count ? &parts[*count - 1] : NULL;
  fnzi_ratio_t r;
  if (!last || last->expr != term.expr) {
    parts[(*count)++] = term;
    return true;
  }
  if (!fnzi_ratio_add((fnzi_ratio_t){last->num, last->den}, (fnzi_ratio_t){term.num, term.den}, &r))
    return false;
  last->num = r.num;
  last->den = r.den;
  *count -= r.num == 0;
  return true;
}

/* Merges terms in order. `out` has room for all. */
static bool merge_terms(const fnzi_shapes_sum *a, const fnzi_shapes_sum *b, fnzi_shapes_part *out,
                        uint32_t *count) {
  uint32_t i = 0, k = 0;
  *count = 0;
  while (i < a->count || k < b->count) {
    bool first = k == b->count ||
                 (i < a->count && strcmp(a->parts[i].expr->text, b->parts[k].expr->text) <= 0);
    if (!add_term(out, count, first ? a->parts[i++] : b->parts[k++]))
      return false;
  }
  return true;
}

fnz_status fnzi_expr_add(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                         const fnzi_expr **out) {
  fnzi_shapes_sum x, y;
  fnzi_shapes_part *parts;
  uint32_t count;
  fnzi_ratio_t constant;
  if (a->is_real || b->is_real)
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_ADD, (const fnzi_expr *[]){a, b}, 2, out);
  fnzi_as_sum(a, &x);
  fnzi_as_sum(b, &y);
  FNZI_NEW(&set->arena, (size_t)x.count + y.count, &parts);
  if (!merge_terms(&x, &y, parts, &count) || !fnzi_ratio_add(x.constant, y.constant, &constant))
    return fnzi_expr_overflow(set);
  return make_sum(set, constant, parts, count, out);
}

/* The opposite of a literal is one. */
static fnz_status scale_real(fnzi_exprs *set, const fnzi_expr *a, int64_t num, int64_t den,
                             const fnzi_expr **out) {
  const fnzi_expr *args[2] = {NULL, a};
  *out = a;
  if (num == den)
    return FNZ_OK;
  if (a->kind == FNZI_EXPR_REAL && num == -1 && den == 1) {
    fnzi_expr made = {.kind = FNZI_EXPR_REAL, .den = 1, .real = -a->real};
    return fnzi_expr_intern(set, &made, out);
  }
  FNZ_TRY(fnzi_expr_number(set, num, den, &args[0]));
  return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_MUL, args, 2, out);
}

fnz_status fnzi_expr_scale(fnzi_exprs *set, const fnzi_expr *a, int64_t num, int64_t den,
                           const fnzi_expr **out) {
  fnzi_shapes_sum x;
  fnzi_shapes_part *parts;
  fnzi_ratio_t by, r;
  if (a->is_real && num != 0)
    return scale_real(set, a, num, den, out);
  fnzi_as_sum(a, &x);
  if (!fnzi_ratio(num, den, &by) || !fnzi_ratio_mul(x.constant, by, &x.constant))
    return fnzi_expr_overflow(set);
  if (num == 0)
    x.count = 0;
  FNZI_NEW(&set->arena, x.count, &parts);
  for (uint32_t i = 0; i < x.count; i++) {
    if (!fnzi_ratio_mul((fnzi_ratio_t){x.parts[i].num, x.parts[i].den}, by, &r))
      return fnzi_expr_overflow(set);
    parts[i] = (fnzi_shapes_part){x.parts[i].expr, r.num, r.den};
  }
  return make_sum(set, x.constant, parts, x.count, out);
}

/* --- products --------------------------------------------------------------------------------- */
typedef struct product {
  const fnzi_shapes_part *parts;
  uint32_t count;
  fnzi_shapes_part single;
} product;

static void as_product(const fnzi_expr *e, product *out) {
  *out = (product){.parts = &out->single, .count = 1};
  if (e->kind == FNZI_EXPR_PRODUCT) {
    out->parts = e->parts;
    out->count = e->count;
    return;
  }
  out->single = (fnzi_shapes_part){e, 1, 1};
}

static fnz_status make_product(fnzi_exprs *set, const fnzi_shapes_part *parts, uint32_t count,
                               const fnzi_expr **out) {
  if (!count)
    return fnzi_expr_number(set, 1, 1, out);
  if (count == 1 && parts->num == 1) {
    *out = parts->expr;
    return FNZ_OK;
  }
  if (count > FNZI_EXPR_MAX_PARTS)
    return fnzi_expr_too_many(set);
  fnzi_expr made = {.kind = FNZI_EXPR_PRODUCT, .den = 1, .parts = parts, .count = count};
  return fnzi_expr_intern(set, &made, out);
}

/* As the text says them, powers stay small enough to be read again. */
static fnz_status check_power(fnzi_exprs *set, int64_t power) {
  if (power <= FNZI_EXPR_MAX_POWER && power >= -FNZI_EXPR_MAX_POWER)
    return FNZ_OK;
  return fnzi_fail(set->ctx, FNZ_CLASS_LIMIT, NULL, "the power %lld; at most %d are read",
                   (long long)power, FNZI_EXPR_MAX_POWER);
}

/* Two monomials: neither is a sum or a number. */
static fnz_status mul_monomials(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                                const fnzi_expr **out) {
  product x, y;
  fnzi_shapes_part *parts;
  uint32_t count = 0, i = 0, k = 0;
  as_product(a, &x);
  as_product(b, &y);
  FNZI_NEW(&set->arena, (size_t)x.count + y.count, &parts);
  while (i < x.count || k < y.count) {
    int order = i == x.count   ? 1
                : k == y.count ? -1
                               : strcmp(x.parts[i].expr->text, y.parts[k].expr->text);
    fnzi_shapes_part p = order <= 0 ? x.parts[i] : y.parts[k];
    p.num += order == 0 ? y.parts[k].num : 0;
    FNZ_TRY(check_power(set, p.num));
    i += order <= 0;
    k += order >= 0;
    if (p.num != 0)
      parts[count++] = p;
  }
  return make_product(set, parts, count, out);
}

/* A term times a term; what is a number then joins the constant. */
static fnz_status mul_terms(fnzi_exprs *set, const fnzi_shapes_part *a, const fnzi_shapes_part *b,
                            fnzi_ratio_t *constant, fnzi_shapes_part *parts, uint32_t *count) {
  const fnzi_expr *p;
  fnzi_ratio_t r;
  if (!fnzi_ratio_mul((fnzi_ratio_t){a->num, a->den}, (fnzi_ratio_t){b->num, b->den}, &r))
    return fnzi_expr_overflow(set);
  FNZ_TRY(mul_monomials(set, a->expr, b->expr, &p));
  if (p->kind != FNZI_EXPR_NUMBER) {
    parts[(*count)++] = (fnzi_shapes_part){p, r.num, r.den};
    return FNZ_OK;
  }
  if (!fnzi_ratio_mul(r, (fnzi_ratio_t){p->num, p->den}, &r) ||
      !fnzi_ratio_add(*constant, r, constant))
    return fnzi_expr_overflow(set);
  return FNZ_OK;
}

/* Appends the terms of x times a number. */
static bool scale_terms(const fnzi_shapes_sum *x, fnzi_ratio_t by, fnzi_shapes_part *parts,
                        uint32_t *count) {
  for (uint32_t i = 0; i < x->count && by.num != 0; i++) {
    fnzi_ratio_t r;
    if (!fnzi_ratio_mul((fnzi_ratio_t){x->parts[i].num, x->parts[i].den}, by, &r))
      return false;
    parts[(*count)++] = (fnzi_shapes_part){x->parts[i].expr, r.num, r.den};
  }
  return true;
}

static int by_text(const void *a, const void *b) {
  const fnzi_shapes_part *x = a, *y = b;
  return strcmp(x->expr->text, y->expr->text);
}

/* Of terms in any order; those that are alike become one. */
static fnz_status gather_sum(fnzi_exprs *set, fnzi_ratio_t constant, fnzi_shapes_part *parts,
                             uint32_t count, const fnzi_expr **out) {
  uint32_t kept = 0;
  if (count)
    qsort(parts, count, sizeof *parts, by_text);
  for (uint32_t i = 0; i < count; i++)
    if (!add_term(parts, &kept, parts[i]))
      return fnzi_expr_overflow(set);
  return make_sum(set, constant, parts, kept, out);
}

/* All terms are made before any are added up: sums of the first few would each be kept. */
fnz_status fnzi_expr_mul(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                         const fnzi_expr **out) {
  fnzi_shapes_sum x, y;
  fnzi_shapes_part *parts;
  fnzi_ratio_t constant;
  uint32_t count = 0;
  if (a->is_real || b->is_real)
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_MUL, (const fnzi_expr *[]){a, b}, 2, out);
  if (a->kind == FNZI_EXPR_NUMBER)
    return fnzi_expr_scale(set, b, a->num, a->den, out);
  fnzi_as_sum(a, &x);
  fnzi_as_sum(b, &y);
  if ((uint64_t)x.count * y.count > FNZI_EXPR_MAX_PARTS)
    return fnzi_expr_too_many(set);
  FNZI_NEW(&set->arena, (size_t)x.count * y.count + x.count + y.count, &parts);
  if (!fnzi_ratio_mul(x.constant, y.constant, &constant) ||
      !scale_terms(&x, y.constant, parts, &count) || !scale_terms(&y, x.constant, parts, &count))
    return fnzi_expr_overflow(set);
  for (uint32_t i = 0; i < x.count; i++)
    for (uint32_t k = 0; k < y.count; k++)
      FNZ_TRY(mul_terms(set, &x.parts[i], &y.parts[k], &constant, parts, &count));
  return gather_sum(set, constant, parts, count, out);
}

fnz_status fnzi_expr_sum(fnzi_exprs *set, const fnzi_expr *const *args, size_t count,
                         const fnzi_expr **out) {
  fnzi_ratio_t constant = {0, 1};
  fnzi_shapes_sum x;
  fnzi_shapes_part *parts;
  uint32_t room = 0, used = 0;
  if (count == 1) { /* a parenthesis */
    *out = args[0];
    return FNZ_OK;
  }
  if (fnzi_exprs_are_real(args, count))
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_ADD, args, count, out);
  for (size_t i = 0; i < count; i++) {
    fnzi_as_sum(args[i], &x);
    room += x.count;
  }
  FNZI_NEW(&set->arena, room, &parts);
  for (size_t i = 0; i < count; i++) {
    fnzi_as_sum(args[i], &x);
    if (!fnzi_ratio_add(constant, x.constant, &constant) ||
        !scale_terms(&x, (fnzi_ratio_t){1, 1}, parts, &used))
      return fnzi_expr_overflow(set);
  }
  return gather_sum(set, constant, parts, used, out);
}

static fnz_status reciprocal(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr **out) {
  if (a->kind == FNZI_EXPR_NUMBER)
    return fnzi_expr_number(set, a->den, a->num, out);
  fnzi_shapes_part *parts;
  product x;
  fnzi_ratio_t by = {1, 1};
  uint32_t count = 0;
  if (a->kind == FNZI_EXPR_SUM && a->count == 1 && a->num == 0) {
    by = (fnzi_ratio_t){a->parts->den, a->parts->num};
    a = a->parts->expr;
  }
  as_product(a, &x);
  FNZI_NEW(&set->arena, x.count, &parts);
  for (uint32_t i = 0; i < x.count; i++)
    if (x.parts[i].expr->kind != FNZI_EXPR_SUM || x.parts[i].num > 0)
      parts[count++] = (fnzi_shapes_part){x.parts[i].expr, -x.parts[i].num, 1};
  FNZ_TRY(make_product(set, parts, count, out));
  /* Sums in a denominator come up and are multiplied out. */
  for (uint32_t i = 0; i < x.count; i++)
    for (int64_t k = x.parts[i].expr->kind == FNZI_EXPR_SUM ? x.parts[i].num : 0; k < 0; k++)
      FNZ_TRY(fnzi_expr_mul(set, *out, x.parts[i].expr, out));
  return fnzi_expr_scale(set, *out, by.num, by.den, out);
}

fnz_status fnzi_expr_pow(fnzi_exprs *set, const fnzi_expr *a, int64_t power,
                         const fnzi_expr **out) {
  const fnzi_expr *base = a;
  if (a->is_real) {
    FNZ_TRY(fnzi_expr_number(set, power, 1, &base));
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_POW, (const fnzi_expr *[]){a, base}, 2,
                                out);
  }
  FNZ_TRY(check_power(set, power));
  if (power < 0)
    FNZ_TRY(reciprocal(set, a, &base));
  FNZ_TRY(fnzi_expr_number(set, 1, 1, out));
  for (int64_t i = power < 0 ? -power : power; i > 0; i--)
    FNZ_TRY(fnzi_expr_mul(set, base, *out, out));
  return FNZ_OK;
}

/* --- looking ---------------------------------------------------------------------------------- */
bool fnzi_expr_is_linear(const fnzi_expr *e, const fnzi_expr **symbol) {
  *symbol = e->kind == FNZI_EXPR_SUM && e->count == 1 ? e->parts->expr : e;
  return (*symbol)->kind == FNZI_EXPR_SYMBOL;
}
