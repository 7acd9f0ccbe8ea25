/* symbolic_set.c - sets of symbolic expressions, and their basic members: numbers and symbols.
 *
 * keeps   one expression per structure: kind, function, numbers, and the ids and coefficients of
 *         parts. A new one is built beside the set and thrown away when there is one like it. Terms
 *         and factors are in the order of their texts, so every expression that is neither a
 *         number nor a sum gets its text at once; these are few */
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
  fnzi_map_init(&set->names, ctx);
}

void fnzi_exprs_free(fnzi_exprs *set) {
  for (size_t i = 0; i < set->texts.count; i++)
    if (set->texts.data[i])
      fnzi_free(set->ctx, set->texts.data[i], strlen(set->texts.data[i]) + 1);
  FNZI_VEC_FREE(set->ctx, &set->texts);
  FNZI_VEC_FREE(set->ctx, &set->all);
  fnzi_map_free(&set->names);
  fnz_buffer_free(set->ctx, &set->text);
  fnzi_arena_free(&set->arena);
}

const fnzi_expr *fnzi_expr_find(const fnzi_exprs *set, const char *name) {
  uint64_t id;
  return fnzi_map_get(&set->names, name, strlen(name), &id) ? set->all.data[id] : NULL;
}

static bool is_double(const fnzi_expr *e) {
  if (e->kind == FNZI_EXPR_REAL)
    return true;
  if (e->kind == FNZI_EXPR_SYMBOL)
    return fnzi_is_float_symbol(e);
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

/* --- by structure ----------------------------------------------------------------------------- */
/* Files choose numbers and parts, but not the key of the context. */
static uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 32;
}

static bool is_like(const fnzi_expr *a, const fnzi_expr *b) {
  if (a->hash != b->hash || a->kind != b->kind || a->count != b->count || a->num != b->num ||
      a->den != b->den || memcmp(&a->real, &b->real, sizeof a->real) != 0 ||
      (a->kind == FNZI_EXPR_CALL && a->function != b->function))
    return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->parts[i].expr != b->parts[i].expr || a->parts[i].num != b->parts[i].num ||
        a->parts[i].den != b->parts[i].den)
      return false;
  return true;
}

/* A quarter of the slots stays empty. */
static fnz_status grow_slots(fnzi_exprs *set) {
  size_t old = set->nslots, count = old ? old + old : 32;
  uint32_t *slots;
  if (set->all.count < old - old / 4)
    return FNZ_OK;
  FNZI_NEW(&set->arena, count, &slots);
  for (size_t i = 0; i < set->all.count; i++) {
    size_t at = set->all.data[i]->hash & (count - 1);
    while (slots[at] && set->all.data[i]->kind != FNZI_EXPR_SYMBOL)
      at = (at + 1) & (count - 1);
    if (set->all.data[i]->kind != FNZI_EXPR_SYMBOL)
      slots[at] = (uint32_t)i + 1;
  }
  set->slots = slots;
  set->nslots = count;
  return FNZ_OK;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* A sum gets no text unless its text may be too long. */
static fnz_status make_text(fnzi_exprs *set, const fnzi_expr *e) {
  enum { NUMBERS = 48 }; /* more than two numbers of 64 bits, their signs, blanks and parentheses */
  size_t most = NUMBERS;
  set->text.size = 0;
  for (uint32_t i = 0; i < e->count && e->kind == FNZI_EXPR_SUM; i++)
    most += e->parts[i].expr->text_size + NUMBERS;
  if ((e->kind == FNZI_EXPR_SUM || e->kind == FNZI_EXPR_NUMBER) && most <= FNZI_EXPR_MAX_TEXT)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_put_text(set->ctx, e, &set->text));
  return set->text.size > FNZI_EXPR_MAX_TEXT
             ? fnzi_fail(set->ctx, FNZ_CLASS_LIMIT, NULL,
                         "a symbolic expression of more than %d characters", FNZI_EXPR_MAX_TEXT)
             : FNZ_OK;
}

fnz_status fnzi_expr_text(const fnzi_exprs *set, const fnzi_expr *e, const char **out) {
  *out = e->atom_text ? e->atom_text : set->texts.data[e->id];
  if (*out)
    return FNZ_OK;
  fnz_buffer text = {NULL, 0, 0};
  fnz_status status = fnzi_expr_put_text(set->ctx, e, &text);
  char *kept = status == FNZ_OK ? fnzi_resize(set->ctx, NULL, 0, text.size + 1) : NULL;
  if (kept) {
    memcpy(kept, text.data, text.size);
    kept[text.size] = 0;
    *out = set->texts.data[e->id] = kept;
  }
  fnz_buffer_free(set->ctx, &text);
  return kept || status != FNZ_OK ? status : fnzi_no_memory(set->ctx);
}

fnz_status fnzi_expr_order(const fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                           int *out) {
  const char *x, *y;
  *out = 0;
  if (a == b)
    return FNZ_OK;
  FNZ_TRY(fnzi_expr_text(set, a, &x));
  FNZ_TRY(fnzi_expr_text(set, b, &y));
  *out = strcmp(x, y);
  return FNZ_OK;
}

/* --- keeping ---------------------------------------------------------------------------------- */
static fnz_status set_keep(fnzi_exprs *set, const fnzi_expr *made, const fnzi_expr **out) {
  fnzi_expr *e;
  fnzi_shapes_part *parts;
  FNZI_NEW(&set->arena, 1, &e);
  FNZI_NEW(&set->arena, made->count, &parts);
  *e = *made;
  e->id = (uint32_t)set->all.count;
  if (e->count)
    memcpy(parts, e->parts, e->count * sizeof *parts);
  e->parts = parts;
  e->is_real = is_double(e);
  e->is_whole = is_whole(e);
  FNZI_PUSH(set->ctx, &set->texts, (char *)NULL);
  FNZI_PUSH(set->ctx, &set->all, (const fnzi_expr *)e);
  *out = e;
  return FNZ_OK;
}

/* The one expression like `made`, whose parts may be anywhere. */
fnz_status fnzi_expr_intern(fnzi_exprs *set, const fnzi_expr *made, const fnzi_expr **out) {
  fnzi_expr e = *made;
  FNZ_TRY(grow_slots(set));
  uint64_t h = set->ctx->hash_key[0], bits;
  memcpy(&bits, &e.real, sizeof bits);
  h = mix(h, (uint64_t)e.kind << 32 | (e.kind == FNZI_EXPR_CALL ? e.function : 0));
  h = mix(mix(mix(h, (uint64_t)e.num), (uint64_t)e.den), bits);
  for (uint32_t i = 0; i < e.count; i++)
    h = mix(mix(h, (uint64_t)e.parts[i].den << 32 ^ e.parts[i].expr->id), (uint64_t)e.parts[i].num);
  e.hash = (uint32_t)h;
  /* The slot of the expression like `e`, or the empty slot for it. */
  size_t at = e.hash & (set->nslots - 1);
  while (set->slots[at] && !is_like(set->all.data[set->slots[at] - 1], &e))
    at = (at + 1) & (set->nslots - 1);
  uint32_t *slot = &set->slots[at];
  if (*slot) {
    *out = set->all.data[*slot - 1];
    return FNZ_OK;
  }
  FNZ_TRY(make_text(set, &e));
  if (e.kind != FNZI_EXPR_SUM && e.kind != FNZI_EXPR_NUMBER) {
    e.text_size = (uint32_t)set->text.size;
    FNZ_TRY(fnzi_arena_string(&set->arena, set->text.data, set->text.size, &e.atom_text));
  }
  FNZ_TRY(set_keep(set, &e, out));
  *slot = (*out)->id + 1;
  return FNZ_OK;
}

fnz_status fnzi_parts_room(fnzi_exprs *set, size_t count, fnzi_shapes_part *few,
                           fnzi_shapes_part **out) {
  *out = few;
  if (count > FNZI_FEW_PARTS)
    FNZI_NEW(&set->arena, count, out);
  return FNZ_OK;
}

/* --- operations that were done ---------------------------------------------------------------- */
static fnzi_expr_done *done_row(const fnzi_exprs *set, uint32_t operation, uint32_t a, uint32_t b) {
  uint64_t h = mix((uint64_t)a << 32 | b, operation);
  return &set->done[h & (FNZI_DONE_ROWS - 1)];
}

const fnzi_expr *fnzi_done_get(const fnzi_exprs *set, uint32_t operation, const fnzi_expr *a,
                               const fnzi_expr *b) {
  if (!set->done)
    return NULL;
  const fnzi_expr_done *row = done_row(set, operation, a->id, b->id);
  bool found = row->operation == operation && row->a == a->id && row->b == b->id && row->result > 0;
  return found ? set->all.data[row->result - 1] : NULL;
}

fnz_status fnzi_done_put(fnzi_exprs *set, uint32_t operation, const fnzi_expr *a,
                         const fnzi_expr *b, const fnzi_expr *result) {
  if (set->all.count < FNZI_DONE_FROM)
    return FNZ_OK;
  if (!set->done)
    FNZI_NEW(&set->arena, FNZI_DONE_ROWS, &set->done);
  *done_row(set, operation, a->id, b->id) =
      (fnzi_expr_done){operation, a->id, b->id, result->id + 1};
  return FNZ_OK;
}

fnz_status fnzi_expr_plain_call(fnzi_exprs *set, fnzi_function function,
                                const fnzi_expr *const *args, size_t count, const fnzi_expr **out) {
  fnzi_shapes_part few[FNZI_FEW_PARTS], *parts;
  if (count > FNZI_EXPR_MAX_PARTS)
    return fnzi_expr_too_many(set);
  FNZ_TRY(fnzi_parts_room(set, count, few, &parts));
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
  fnzi_expr made = {.kind = FNZI_EXPR_SYMBOL, .den = 1, .text_size = (uint32_t)size};
  uint64_t id;
  if (fnzi_map_get(&set->names, name, size, &id)) {
    *out = set->all.data[id];
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_arena_string(&set->arena, name, size, &made.atom_text));
  FNZ_TRY(set_keep(set, &made, out));
  return fnzi_map_set(&set->names, made.atom_text, size, (*out)->id);
}

fnz_status fnzi_expr_name(fnzi_exprs *set, const char *name, const fnzi_expr *meaning) {
  return fnzi_map_set(&set->names, name, strlen(name), meaning->id);
}
