/* symbolic_set.c - sets of symbolic expressions, and their basic members: numbers and symbols.
 *
 * keeps   one expression per canonical text: a new one is built beside the set, printed, and thrown
 *         away when its text is there already */
#include "program/shapes/symbolic_set.h"

#include <math.h>

enum { SHORT = 1 << 20 }; /* a double that is a multiple of 1 / SHORT is kept as a number */

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
  fnzi_shapes_part *parts;
  FNZI_NEW(&set->arena, e->count, &parts);
  if (e->count)
    memcpy(parts, e->parts, e->count * sizeof *parts);
  e->parts = parts;
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
  made.is_real = is_double(&made);
  for (size_t i = 0; i < count && fnzi_expr_wants_doubles(&made); i++)
    FNZ_TRY(fnzi_expr_as_double(set, args[i], &parts[i].expr));
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

fnz_status fnzi_expr_real(fnzi_exprs *set, double number, const fnzi_expr **out) {
  double times = number * SHORT;
  if (!isfinite(number))
    return fnzi_fail(set->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "a number that is not finite");
  if (times == floor(times) && fabs(times) < 0x1p52)
    return fnzi_expr_number(set, (int64_t)times, SHORT, out);
  fnzi_expr made = {.kind = FNZI_EXPR_REAL, .den = 1, .real = number};
  return fnzi_expr_intern(set, &made, out);
}

fnz_status fnzi_expr_as_double(fnzi_exprs *set, const fnzi_expr *e, const fnzi_expr **out) {
  *out = e;
  return e->kind == FNZI_EXPR_NUMBER ? fnzi_expr_real(set, (double)e->num / (double)e->den, out)
                                     : FNZ_OK;
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
