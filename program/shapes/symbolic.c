/* symbolic.c - making symbolic expressions: sums and products in canonical form.
 *
 * needs   canonical arguments of the same set
 * gives   sums with terms in the order of their texts, products with factors in that order */
#include "program/shapes/symbolic_set.h"

#include <stdlib.h>

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

/* Takes terms in order, none of them 0. */
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

static bool symbolic_add_term(fnzi_shapes_part *parts, uint32_t *count, fnzi_shapes_part term) {
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

static fnz_status add_up(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b, int sign,
                         const fnzi_expr **out) {
  const uint32_t operation = sign > 0 ? FNZI_DONE_ADD : FNZI_DONE_SUB;
  fnzi_shapes_sum x, y;
  fnzi_shapes_part few[FNZI_FEW_PARTS], *parts;
  uint32_t count = 0;
  fnzi_ratio_t constant;
  *out = fnzi_done_get(set, operation, a, b);
  if (*out)
    return FNZ_OK;
  fnzi_as_sum(a, &x);
  fnzi_as_sum(b, &y);
  y.constant.num = sign < 0 ? -y.constant.num : y.constant.num;
  FNZ_TRY(fnzi_parts_room(set, (size_t)x.count + y.count, few, &parts));
  for (uint32_t i = 0, k = 0; i < x.count || k < y.count;) {
    int order = i == x.count ? 1 : -1;
    if (i < x.count && k < y.count)
      FNZ_TRY(fnzi_expr_order(set, x.parts[i].expr, y.parts[k].expr, &order));
    fnzi_shapes_part term = order <= 0 ? x.parts[i++] : y.parts[k++];
    term.num = order > 0 && sign < 0 ? -term.num : term.num;
    if (!symbolic_add_term(parts, &count, term))
      return fnzi_expr_overflow(set);
  }
  if (!fnzi_ratio_add(x.constant, y.constant, &constant))
    return fnzi_expr_overflow(set);
  FNZ_TRY(make_sum(set, constant, parts, count, out));
  return fnzi_done_put(set, operation, a, b, *out);
}

fnz_status fnzi_expr_add(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                         const fnzi_expr **out) {
  if (a->is_real || b->is_real)
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_ADD, (const fnzi_expr *[]){a, b}, 2, out);
  return add_up(set, a, b, 1, out);
}

fnz_status fnzi_expr_sub(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                         const fnzi_expr **out) {
  const fnzi_expr *minus;
  if (!a->is_real && !b->is_real)
    return add_up(set, a, b, -1, out);
  FNZ_TRY(fnzi_expr_scale(set, b, -1, 1, &minus));
  return fnzi_expr_add(set, a, minus, out);
}

fnz_status fnzi_expr_scale(fnzi_exprs *set, const fnzi_expr *a, int64_t num, int64_t den,
                           const fnzi_expr **out) {
  fnzi_shapes_sum x;
  fnzi_shapes_part few[FNZI_FEW_PARTS], *parts;
  fnzi_ratio_t by, r;
  if (a->is_real && num != 0) {
    /* The opposite of a literal is one. */
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
  fnzi_as_sum(a, &x);
  if (!fnzi_ratio(num, den, &by) || !fnzi_ratio_mul(x.constant, by, &x.constant))
    return fnzi_expr_overflow(set);
  if (num == 0)
    x.count = 0;
  FNZ_TRY(fnzi_parts_room(set, x.count, few, &parts));
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

/* Limits powers, so that the canonical text can be parsed again. */
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
  fnzi_shapes_part few[FNZI_FEW_PARTS], *parts;
  uint32_t count = 0, i = 0, k = 0;
  as_product(a, &x);
  as_product(b, &y);
  FNZ_TRY(fnzi_parts_room(set, (size_t)x.count + y.count, few, &parts));
  while (i < x.count || k < y.count) {
    int order = i == x.count ? 1 : -1;
    if (i < x.count && k < y.count)
      FNZ_TRY(fnzi_expr_order(set, x.parts[i].expr, y.parts[k].expr, &order));
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

/* Multiplies two terms; a product that is a number joins the constant. */
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

static int symbolic_by_text(const void *a, const void *b) {
  const fnzi_shapes_part *x = a, *y = b;
  return strcmp(x->expr->atom_text, y->expr->atom_text);
}

/* Takes terms in any order; equal terms are merged. */
static fnz_status gather_sum(fnzi_exprs *set, fnzi_ratio_t constant, fnzi_shapes_part *parts,
                             uint32_t count, const fnzi_expr **out) {
  uint32_t kept = 0;
  if (count)
    qsort(parts, count, sizeof *parts, symbolic_by_text);
  for (uint32_t i = 0; i < count; i++)
    if (!symbolic_add_term(parts, &kept, parts[i]))
      return fnzi_expr_overflow(set);
  return make_sum(set, constant, parts, kept, out);
}

/* All terms are made before any are added up: sums of the first few would each be kept. */
static fnz_status multiply_out(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                               const fnzi_expr **out) {
  fnzi_shapes_sum x, y;
  fnzi_shapes_part few[FNZI_FEW_PARTS], *parts;
  fnzi_ratio_t constant;
  uint32_t count = 0;
  fnzi_as_sum(a, &x);
  fnzi_as_sum(b, &y);
  if ((uint64_t)x.count * y.count > FNZI_EXPR_MAX_PARTS)
    return fnzi_expr_too_many(set);
  FNZ_TRY(fnzi_parts_room(set, (size_t)x.count * y.count + x.count + y.count, few, &parts));
  if (!fnzi_ratio_mul(x.constant, y.constant, &constant) ||
      !scale_terms(&x, y.constant, parts, &count) || !scale_terms(&y, x.constant, parts, &count))
    return fnzi_expr_overflow(set);
  for (uint32_t i = 0; i < x.count; i++)
    for (uint32_t k = 0; k < y.count; k++)
      FNZ_TRY(mul_terms(set, &x.parts[i], &y.parts[k], &constant, parts, &count));
  return gather_sum(set, constant, parts, count, out);
}

fnz_status fnzi_expr_mul(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                         const fnzi_expr **out) {
  if (a->is_real || b->is_real)
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_MUL, (const fnzi_expr *[]){a, b}, 2, out);
  if (a->kind == FNZI_EXPR_NUMBER)
    return fnzi_expr_scale(set, b, a->num, a->den, out);
  *out = fnzi_done_get(set, FNZI_DONE_MUL, a, b);
  if (*out)
    return FNZ_OK;
  FNZ_TRY(multiply_out(set, a, b, out));
  return fnzi_done_put(set, FNZI_DONE_MUL, a, b, *out);
}

fnz_status fnzi_expr_sum(fnzi_exprs *set, const fnzi_expr *const *args, size_t count,
                         const fnzi_expr **out) {
  fnzi_ratio_t constant = {0, 1};
  fnzi_shapes_sum x;
  fnzi_shapes_part few[FNZI_FEW_PARTS], *parts;
  uint32_t most = 0, used = 0;
  if (count == 1) { /* a parenthesis */
    *out = args[0];
    return FNZ_OK;
  }
  if (fnzi_exprs_are_real(args, count))
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_REAL_ADD, args, count, out);
  for (size_t i = 0; i < count; i++) {
    fnzi_as_sum(args[i], &x);
    most += x.count;
  }
  FNZ_TRY(fnzi_parts_room(set, most, few, &parts));
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
  fnzi_shapes_part few[FNZI_FEW_PARTS], *parts;
  product x;
  fnzi_ratio_t by = {1, 1};
  uint32_t count = 0;
  if (a->kind == FNZI_EXPR_SUM && a->count == 1 && a->num == 0) {
    by = (fnzi_ratio_t){a->parts->den, a->parts->num};
    a = a->parts->expr;
  }
  as_product(a, &x);
  FNZ_TRY(fnzi_parts_room(set, x.count, few, &parts));
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

fnz_status fnzi_expr_without(fnzi_exprs *set, const fnzi_expr *e, const fnzi_expr *factor,
                             const fnzi_expr **out) {
  fnzi_shapes_part few[FNZI_FEW_PARTS], *parts;
  product x;
  uint32_t count = 0;
  as_product(e, &x);
  FNZ_TRY(fnzi_parts_room(set, x.count, few, &parts));
  for (uint32_t i = 0; i < x.count; i++) {
    parts[count] = x.parts[i];
    parts[count].num -= x.parts[i].expr == factor;
    count += parts[count].num != 0;
  }
  return make_product(set, parts, count, out);
}

/* --- looking ---------------------------------------------------------------------------------- */
bool fnzi_expr_is_linear(const fnzi_expr *e, const fnzi_expr **symbol) {
  *symbol = e->kind == FNZI_EXPR_SUM && e->count == 1 ? e->parts->expr : e;
  return (*symbol)->kind == FNZI_EXPR_SYMBOL;
}
