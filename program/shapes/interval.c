/* interval.c - the least and the greatest number of an expression, and a number that divides it.
 *
 * needs   what is known of its parts
 * gives   bounds that hold wherever the expression has a value: a divisor that may be 0 is taken to
 *         be 1 or more. An end that leaves 64 bits is no bound */
#include "program/shapes/facts.h"
#include "program/shapes/symbolic_set.h"

static const fnzi_bounds any = {INT64_MIN, INT64_MAX};

static bool is_end(int64_t n) {
  return n == INT64_MIN || n == INT64_MAX;
}

static const fnzi_knowledge *part(const fnzi_size_facts *f, const fnzi_expr *e, uint32_t i) {
  return &f->of.data[e->parts[i].expr->id];
}

/* --- arithmetic on ends ----------------------------------------------------------------------- */
/* Ends without a bound have a sign only. */
static int64_t interval_times(int64_t a, int64_t b) {
  int64_t out;
  if (a == 0 || b == 0)
    return 0;
  if (!is_end(a) && !is_end(b) && fnzi_mul_i64(a, b, &out))
    return out;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

/* `none` where a summand or the sum has no bound. */
static int64_t plus(int64_t a, int64_t b, int64_t none) {
  int64_t out;
  return !is_end(a) && !is_end(b) && fnzi_add_i64(a, b, &out) ? out : none;
}

static fnzi_bounds interval_product(fnzi_bounds a, fnzi_bounds b) {
  const int64_t ends[4] = {interval_times(a.min, b.min), interval_times(a.min, b.max),
                           interval_times(a.max, b.min), interval_times(a.max, b.max)};
  fnzi_bounds out = {ends[0], ends[0]};
  for (int i = 1; i < 4; i++) {
    out.min = ends[i] < out.min ? ends[i] : out.min;
    out.max = ends[i] > out.max ? ends[i] : out.max;
  }
  return out;
}

/* n / d rounded down; an end without a bound stays. */
static int64_t floor_end(int64_t n, int64_t d) {
  return is_end(n) ? n : fnzi_ratio_floor((fnzi_ratio_t){n, d});
}

static int64_t ceil_end(int64_t n, int64_t d) {
  return is_end(n) ? n : -fnzi_ratio_floor((fnzi_ratio_t){-n, d});
}

/* --- sums and products ------------------------------------------------------------------------ */
/* Adds num/den * b, as a multiple of 1/d. */
static void interval_add_term(fnzi_bounds *sum, fnzi_bounds b, int64_t num, int64_t by) {
  const int64_t factor = interval_times(num, by);
  b = interval_product(b, (fnzi_bounds){factor, factor});
  sum->min = plus(sum->min, b.min, INT64_MIN);
  sum->max = plus(sum->max, b.max, INT64_MAX);
}

/* The interval of a number or a sum. A whole value lies between whole numbers. */
static fnzi_bounds interval_of_sum(const fnzi_size_facts *f, const fnzi_expr *e) {
  fnzi_bounds sum = {0, 0};
  int64_t d = e->den; /* the least common denominator */
  for (uint32_t i = 0; i < e->count; i++)
    if (!fnzi_mul_i64(d / fnzi_gcd(d, e->parts[i].den), e->parts[i].den, &d))
      return any;
  interval_add_term(&sum, (fnzi_bounds){e->num, e->num}, 1, d / e->den);
  for (uint32_t i = 0; i < e->count; i++)
    interval_add_term(&sum, part(f, e, i)->bounds, e->parts[i].num, d / e->parts[i].den);
  if (e->is_whole)
    return (fnzi_bounds){ceil_end(sum.min, d), floor_end(sum.max, d)};
  return (fnzi_bounds){floor_end(sum.min, d), ceil_end(sum.max, d)};
}

static fnzi_bounds interval_of_product(const fnzi_size_facts *f, const fnzi_expr *e) {
  fnzi_bounds out = {1, 1};
  for (uint32_t i = 0; i < e->count; i++) {
    fnzi_bounds power = {1, 1}, base = part(f, e, i)->bounds;
    int64_t times_left = e->parts[i].num;
    if (times_left < 1)
      return any;
    for (; times_left > 0; times_left--)
      power = interval_product(power, base);
    if (e->parts[i].num % 2 == 0 && power.min < 0)
      power.min = 0;
    out = interval_product(out, power);
  }
  return out;
}

/* --- calls ------------------------------------------------------------------------------------ */
/* The divisor of a call that has a value; false if it may be negative or no integer. */
static bool divisor_bounds(const fnzi_expr *e, fnzi_bounds n, fnzi_bounds *out) {
  *out = (fnzi_bounds){n.min > 1 ? n.min : 1, n.max > 1 ? n.max : 1};
  return n.min >= 0 && e->parts[1].expr->is_whole;
}

/* a // n at one end of a, by the n that makes it least, or greatest. */
static int64_t quotient_end(int64_t a, int64_t n) {
  if (n == INT64_MAX)
    return a < 0 ? -1 : 0;
  return floor_end(a, n);
}

static fnzi_bounds of_quotient(const fnzi_expr *e, fnzi_bounds a, fnzi_bounds n) {
  if (!divisor_bounds(e, n, &n))
    return any;
  return (fnzi_bounds){a.min == INT64_MIN ? a.min : quotient_end(a.min, a.min < 0 ? n.min : n.max),
                       a.max == INT64_MAX ? a.max : quotient_end(a.max, a.max < 0 ? n.max : n.min)};
}

static fnzi_bounds of_remainder(const fnzi_expr *e, fnzi_bounds a, fnzi_bounds n) {
  if (!divisor_bounds(e, n, &n))
    return any;
  if (a.min >= 0 && a.max < n.min)
    return a;
  int64_t most = n.max == INT64_MAX ? n.max : n.max - e->parts[0].expr->is_whole;
  return (fnzi_bounds){0, a.min >= 0 && a.max < most ? a.max : most};
}

static fnzi_bounds interval_of_call(const fnzi_size_facts *f, const fnzi_expr *e) {
  const fnzi_bounds a = part(f, e, 0)->bounds, b = part(f, e, e->count - 1)->bounds;
  switch (e->function) {
  case FNZI_FUNCTION_FLOOR_DIV:
    return of_quotient(e, a, b);
  case FNZI_FUNCTION_MOD:
  case FNZI_FUNCTION_PYTHON_MOD:
    return of_remainder(e, a, b);
  case FNZI_FUNCTION_MIN:
  case FNZI_FUNCTION_MAX: {
    /* The interval of a minimum or a maximum. */
    const bool least = e->function == FNZI_FUNCTION_MIN;
    fnzi_bounds out = part(f, e, 0)->bounds;
    for (uint32_t i = 1; i < e->count; i++) {
      const fnzi_bounds one = part(f, e, i)->bounds;
      out.min = (one.min < out.min) == least ? one.min : out.min;
      out.max = (one.max < out.max) == least ? one.max : out.max;
    }
    return out;
  }
  case FNZI_FUNCTION_FLOOR:
  case FNZI_FUNCTION_TRUNC:
    return a;
  case FNZI_FUNCTION_ITE:
    return (fnzi_bounds){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
  case FNZI_FUNCTION_INT_POW:
    return a.min < 0 ? any : (fnzi_bounds){a.min >= 1, INT64_MAX};
  default:
    return fnzi_expr_is_condition(e) ? (fnzi_bounds){0, 1} : any;
  }
}

fnzi_bounds fnzi_interval_of(const fnzi_size_facts *f, const fnzi_expr *e) {
  if (e->is_real)
    return any;
  switch (e->kind) {
  case FNZI_EXPR_NUMBER:
  case FNZI_EXPR_SUM:
    return interval_of_sum(f, e);
  case FNZI_EXPR_PRODUCT:
    return interval_of_product(f, e);
  case FNZI_EXPR_CALL:
    return interval_of_call(f, e);
  case FNZI_EXPR_REAL:
  case FNZI_EXPR_SYMBOL:
    break;
  }
  return any;
}

/* --- divisors --------------------------------------------------------------------------------- */
/* a * b, or `a` if that leaves 64 bits: both divide. */
static int64_t join_factors(int64_t a, int64_t b) {
  int64_t out;
  return fnzi_mul_i64(a, b, &out) && out != INT64_MIN ? out : a;
}

static int64_t call_divisor(const fnzi_size_facts *f, const fnzi_expr *e) {
  const int64_t a = part(f, e, 0)->divisor, b = part(f, e, e->count - 1)->divisor;
  const fnzi_expr *last = e->parts[e->count - 1].expr;
  int64_t out = a;
  switch (e->function) {
  case FNZI_FUNCTION_FLOOR_DIV:
    return last->kind == FNZI_EXPR_NUMBER && last->num > 0 && a % last->num == 0 ? a / last->num
                                                                                 : 1;
  case FNZI_FUNCTION_MOD:
  case FNZI_FUNCTION_PYTHON_MOD:
  case FNZI_FUNCTION_ITE:
    return fnzi_gcd(a, b);
  case FNZI_FUNCTION_MIN:
  case FNZI_FUNCTION_MAX:
    for (uint32_t i = 1; i < e->count; i++)
      out = fnzi_gcd(out, part(f, e, i)->divisor);
    return out;
  default:
    return 1;
  }
}

int64_t fnzi_divisor_of(const fnzi_size_facts *f, const fnzi_expr *e) {
  if (!e->is_whole)
    return 1;
  for (uint32_t i = 0; i < e->count; i++)
    if (!e->parts[i].expr->is_whole)
      return 1;
  int64_t out = 1;
  switch (e->kind) {
  case FNZI_EXPR_NUMBER:
  case FNZI_EXPR_SUM:
    out = e->num;
    for (uint32_t i = 0; i < e->count; i++)
      out = fnzi_gcd(out, join_factors(e->parts[i].num, part(f, e, i)->divisor));
    return out < 0 ? -out : out;
  case FNZI_EXPR_PRODUCT:
    for (uint32_t i = 0; i < e->count; i++)
      for (int64_t power = e->parts[i].num; power > 0; power--)
        out = join_factors(out, part(f, e, i)->divisor);
    return out;
  case FNZI_EXPR_CALL:
    return call_divisor(f, e);
  case FNZI_EXPR_REAL:
  case FNZI_EXPR_SYMBOL:
    break;
  }
  return 1;
}

/* --- rows ------------------------------------------------------------------------------------- */
int64_t fnzi_row_least(const fnzi_size_facts *f, const fnzi_row *row) {
  fnzi_bounds sum = {row->constant, row->constant};
  for (uint32_t i = 0; i < row->count && sum.min != INT64_MIN; i++)
    interval_add_term(&sum, f->of.data[row->terms[i].atom->id].bounds, row->terms[i].by, 1);
  return sum.min;
}

/* The number of an atom in a sum of whole terms; 0: it is not there. */
static int64_t number_in(const fnzi_shapes_sum *sum, const fnzi_expr *atom) {
  for (uint32_t i = 0; i < sum->count; i++)
    if (sum->parts[i].expr == atom)
      return sum->parts[i].num;
  return 0;
}

/* Terms that are whole numbers of atoms whose intervals are known. */
static bool has_whole_terms(const fnzi_size_facts *f, const fnzi_shapes_sum *sum) {
  bool whole = sum->constant.den == 1 && sum->count <= FNZI_ROW_TERMS;
  for (uint32_t i = 0; i < sum->count && whole; i++)
    whole = sum->parts[i].den == 1 && sum->parts[i].expr->id < f->of.count &&
            f->of.data[sum->parts[i].expr->id].bounds_at;
  return whole;
}

bool fnzi_interval_is_at_least(const fnzi_size_facts *f, const fnzi_expr *a, const fnzi_expr *b) {
  fnzi_shapes_sum x, y;
  fnzi_as_sum(a, &x);
  fnzi_as_sum(b, &y);
  if (a->is_real || b->is_real || !has_whole_terms(f, &x) || !has_whole_terms(f, &y))
    return false;
  fnzi_bounds rest = {0, 0};
  interval_add_term(&rest, (fnzi_bounds){x.constant.num, x.constant.num}, 1, 1);
  interval_add_term(&rest, (fnzi_bounds){y.constant.num, y.constant.num}, -1, 1);
  for (uint32_t i = 0; i < x.count + y.count && rest.min != INT64_MIN; i++) {
    const fnzi_expr *atom = i < x.count ? x.parts[i].expr : y.parts[i - x.count].expr;
    const int64_t plus_by = number_in(&x, atom);
    int64_t by;
    if (i >= x.count && plus_by != 0)
      continue;
    if (!fnzi_add_i64(plus_by, -number_in(&y, atom), &by))
      return false;
    interval_add_term(&rest, f->of.data[atom->id].bounds, by, 1);
  }
  return rest.min >= 0;
}

bool fnzi_row_of(const fnzi_expr *e, fnzi_row *out) {
  fnzi_shapes_sum x;
  fnzi_as_sum(e, &x);
  int64_t d = x.constant.den;
  *out = (fnzi_row){.count = x.count};
  if (e->is_real || x.count > FNZI_ROW_TERMS)
    return false;
  for (uint32_t i = 0; i < x.count; i++)
    if (!x.parts[i].expr->is_whole ||
        !fnzi_mul_i64(d / fnzi_gcd(d, x.parts[i].den), x.parts[i].den, &d))
      return false;
  for (uint32_t i = 0; i < x.count; i++) {
    out->terms[i].atom = x.parts[i].expr;
    if (!fnzi_mul_i64(x.parts[i].num, d / x.parts[i].den, &out->terms[i].by) ||
        out->terms[i].by == INT64_MIN)
      return false;
  }
  return fnzi_mul_i64(x.constant.num, d / x.constant.den, &out->constant);
}

void fnzi_row_reduce(fnzi_row *row) {
  int64_t common = 0;
  for (uint32_t i = 0; i < row->count; i++)
    common = fnzi_gcd(common, row->terms[i].by);
  if (common <= 1)
    return;
  for (uint32_t i = 0; i < row->count; i++)
    row->terms[i].by /= common;
  row->constant = fnzi_ratio_floor((fnzi_ratio_t){row->constant, common});
}
