/* symbolic.c - any bytes as an expression over sizes: read or refused. An expression that is read
 * is the same again from its own text, from sympy's form and in another set; its value is a
 * number. */
#include "program/shapes/symbolic.h"
#include "tests/fuzz/fuzz.h"

static const int64_t numbers[] = {0,         1,         2,         -1, 3, 7, 4096, (int64_t)1 << 31,
                                  INT64_MAX, INT64_MIN, -INT64_MAX};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static const fnzi_expr *read_again(fnzi_exprs *set, const char *text) {
  const fnzi_expr *e = NULL;
  fnz_status status = fnzi_expr_parse(set, text, strlen(text), &e);
  PROMISE(status == FNZ_OK || status == FNZ_NO_MEMORY, "its own text is refused: %.200s: %s", text,
          fnz_last_error(set->ctx)->message);
  return e;
}

/* `again`, if it could be read, is the expression of the text `own`. */
static void check_same(const fnzi_expr *again, const fnzi_expr *e, const char *from,
                       const char *own) {
  PROMISE(!again || again == e, "%s is another one from %s", own, from);
}

static void check_texts(fnzi_exprs *set, const fnzi_expr *e, const char *own) {
  fnz_buffer text = {0};
  check_same(read_again(set, own), e, own, own);
  if (fnzi_expr_put_srepr(set->ctx, e, &text) == FNZ_OK && text.size <= FNZI_EXPR_MAX_TEXT)
    check_same(read_again(set, text.data), e, text.data, own);
  fnz_buffer_free(set->ctx, &text);
}

/* Symbol k of the set gets the number `at + k`. */
static bool give_numbers(fnzi_point *point, size_t at) {
  const fnzi_exprs *set = point->set;
  for (size_t i = 0; i < set->all.count; i++) {
    const fnzi_expr *s = set->all.data[i];
    if (s->kind == FNZI_EXPR_SYMBOL && fnzi_point_set(point, s, numbers[at++ % NUMBERS]) != FNZ_OK)
      return false;
  }
  return true;
}

static void check_values(const fnzi_exprs *set, const fnzi_expr *e, const char *own,
                         uint32_t hash) {
  fnzi_point point;
  fnzi_number n;
  bool solved, wrong;
  fnzi_point_init(&point, set);
  for (size_t at = 0; at < NUMBERS; at++) {
    if (!fuzz_tries(hash, at, NUMBERS))
      continue;
    if (!give_numbers(&point, at) || fnzi_point_get(&point, e, &n) != FNZ_OK)
      break;
    PROMISE(n.known != FNZI_NUMBER_KNOWN || n.den > 0, "%s has the value %lld/%lld", own,
            (long long)n.num, (long long)n.den);
  }
  if (fnzi_point_solve(&point, e, 6, &solved, &wrong) == FNZ_OK)
    PROMISE(!solved || !wrong, "%s is 6, and is not", own);
  fnzi_point_free(&point);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnzi_exprs set, other;
  const fnzi_expr *e, *there;
  const char *own;
  fnzi_exprs_init(&set, ctx);
  fnzi_exprs_init(&other, ctx);
  fnz_status status = fnzi_expr_parse(&set, (const char *)data, size, &e);
  if (status != FNZ_OK) {
    fuzz_check_refusal(ctx, status, size);
  } else if (fnzi_expr_text(&set, e, &own) == FNZ_OK) {
    check_texts(&set, e, own);
    there = read_again(&other, own);
    const char *text = own;
    PROMISE(!there || fnzi_expr_text(&other, there, &text) != FNZ_OK || strcmp(text, own) == 0,
            "%s is %s elsewhere", own, text);
    check_values(&set, e, own, fuzz_hash(data, size));
  }
  fnzi_exprs_free(&other);
  fnzi_exprs_free(&set);
  fuzz_end(&memory, ctx);
  return 0;
}
