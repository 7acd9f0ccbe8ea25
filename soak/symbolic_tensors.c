/* symbolic_tensors.c - the tensors of a random program of unknown sizes, and how they are written
 * down. */
#include "soak/symbolic_draws.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_LINE = 4096 };

FNZI_PRINTF(2, 0)
static void tensors_put_list(symbolic_gen *g, const char *format, va_list ap) {
  char line[MOST_LINE];
  vsnprintf(line, sizeof line, format, ap);
  if (g->status == FNZ_OK)
    g->status = fnzi_put_text(g->ctx, &g->body, line);
}

void fnzi_symbolic_put(symbolic_gen *g, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  tensors_put_list(g, format, ap);
  va_end(ap);
}

void fnzi_symbolic_guard(symbolic_gen *g, const char *condition, ...) {
  char text[3 * SYMBOLIC_TEXT];
  va_list ap;
  va_start(ap, condition);
  vsnprintf(text, sizeof text, condition, ap);
  va_end(ap);
  if (g->status == FNZ_OK)
    g->status = fnzi_put_text(g->ctx, &g->guards, "guard \"");
  if (g->status == FNZ_OK)
    g->status = fnzi_put_text(g->ctx, &g->guards, text);
  if (g->status == FNZ_OK)
    g->status = fnzi_put_text(g->ctx, &g->guards, "\"\n");
}

/* Exporters record what they have seen. */
static void tensors_put_number(symbolic_gen *g, const number *n) {
  if (n->is_known)
    fnzi_symbolic_put(g, "%s", n->text);
  else
    fnzi_symbolic_put(g, "{\"%s\": %lld}", n->text, (long long)n->seen);
}

static void put_numbers(symbolic_gen *g, const number *numbers, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    fnzi_symbolic_put(g, i ? "," : "");
    tensors_put_number(g, &numbers[i]);
  }
}

void fnzi_symbolic_put_typed(symbolic_gen *g, const tensor *t) {
  fnzi_symbolic_put(g, "%s: %s[", t->name, t->dtype);
  put_numbers(g, t->sizes, t->rank);
  fnzi_symbolic_put(g, "]");
  if (t->rank) {
    fnzi_symbolic_put(g, " stride(");
    put_numbers(g, t->strides, t->rank);
    fnzi_symbolic_put(g, ")");
  }
  if (t->offset.is_known && t->offset.seen == 0)
    return;
  fnzi_symbolic_put(g, " offset(");
  tensors_put_number(g, &t->offset);
  fnzi_symbolic_put(g, ")");
}

void fnzi_symbolic_name(symbolic_gen *g, char out[8]) {
  snprintf(out, 8, "%%v%zu", ++g->names % 100000);
}

bool fnzi_symbolic_is_usable(const tensor *t) {
  bool is = !fnzi_number_is_too_long(&t->offset);
  for (uint32_t d = 0; d < t->rank; d++)
    is = is && !fnzi_number_is_too_long(&t->sizes[d]) && !fnzi_number_is_too_long(&t->strides[d]);
  return is;
}

/* The stride outside of a dimension. A size that data decide counts as 1 at least, as exporters
 * write it down. */
static number stride_outside(const number *stride, const number *size) {
  number n = *size;
  if (fnzi_number_is_data(size))
    n = fnzi_number_with(ARITHMETIC_MAX, size, 1);
  return fnzi_number_combine(ARITHMETIC_MUL, stride, &n);
}

void fnzi_symbolic_make_dense(tensor *t) {
  t->offset = fnzi_number_known(0);
  t->capacity = 1;
  t->may_overlap = false;
  for (uint32_t d = 0; d < t->rank; d++)
    t->capacity *= t->sizes[d].seen;
  for (uint32_t d = t->rank; d-- > 0;)
    t->strides[d] = d + 1 == t->rank ? fnzi_number_known(1)
                                     : stride_outside(&t->strides[d + 1], &t->sizes[d + 1]);
}

/* The stride of dimension `dim` of a result of `rank` dimensions; 0 where `t` is broadcast. */
static int64_t stride_in(const tensor *t, uint32_t rank, uint32_t dim) {
  const uint32_t missing = rank - t->rank;
  return dim < missing ? 0 : t->strides[dim - missing].seen;
}

/* Above 0: dimension `a` goes before `b`, as farther out; as PyTorch's iterator decides it. */
static int order_of(const tensor *t, const tensor *const *others, size_t count, uint32_t a,
                    uint32_t b) {
  for (size_t k = 0; k < count; k++) {
    const int64_t x = stride_in(others[k], t->rank, a), y = stride_in(others[k], t->rank, b);
    if (x == 0 || y == 0)
      continue;
    if (x != y)
      return x < y ? -1 : 1;
    if (t->sizes[a].seen > t->sizes[b].seen)
      return 1;
  }
  return 0;
}

/* Fills in dimensions, the innermost first. */
static void sort_dims(const tensor *t, const tensor *const *others, size_t count,
                      uint32_t dims[SYMBOLIC_RANK]) {
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->rank - 1 - i;
  for (uint32_t i = 1; i < t->rank; i++)
    for (uint32_t at = i, k = i; k-- > 0;) {
      const int order = order_of(t, others, count, dims[k], dims[at]);
      if (order < 0)
        break;
      if (order == 0)
        continue;
      const uint32_t was = dims[k];
      dims[k] = dims[at];
      dims[at] = was;
      at = k;
    }
}

void fnzi_symbolic_make_like(tensor *t, const tensor *const *others, size_t count) {
  uint32_t dims[SYMBOLIC_RANK];
  number stride = fnzi_number_known(1);
  sort_dims(t, others, count, dims);
  fnzi_symbolic_make_dense(t);
  for (uint32_t i = 0; i < t->rank; i++) {
    t->strides[dims[i]] = stride;
    stride = stride_outside(&stride, &t->sizes[dims[i]]);
  }
}

bool fnzi_symbolic_is_dense(const tensor *t) {
  return t->rank && t->offset.is_known && t->offset.seen == 0 && t->strides[t->rank - 1].is_known &&
         t->strides[t->rank - 1].seen == 1 && fnzi_symbolic_is_mergeable(t, 0, t->rank - 1);
}

bool fnzi_symbolic_is_mergeable(const tensor *t, uint32_t first, uint32_t last) {
  for (uint32_t d = first; d < last; d++) {
    const number want = stride_outside(&t->strides[d + 1], &t->sizes[d + 1]);
    if (strcmp(want.text, t->strides[d].text) != 0)
      return false;
  }
  return true;
}

bool fnzi_symbolic_is_same_shape(const tensor *a, const tensor *b) {
  bool same = a->rank == b->rank && strcmp(a->dtype, b->dtype) == 0;
  for (uint32_t d = 0; same && d < a->rank; d++)
    same = strcmp(a->sizes[d].text, b->sizes[d].text) == 0;
  return same;
}

const tensor *fnzi_symbolic_pick(symbolic_gen *g) {
  size_t back = 0;
  if (perhaps(g->c, 40))
    return &g->tensors[choose(g->c, (uint32_t)g->tensors_count)];
  while (back + 1 < g->tensors_count && perhaps(g->c, 50))
    back++;
  return &g->tensors[g->tensors_count - 1 - back];
}

void fnzi_symbolic_keep(symbolic_gen *g, const tensor *t) {
  if (g->tensors_count < SYMBOLIC_TENSORS)
    g->tensors[g->tensors_count++] = *t;
}

/* --- lines ----------------------------------------------------------------------------------- */
bool fnzi_symbolic_define(symbolic_gen *g, tensor *t, const char *call, ...) {
  va_list ap;
  if (!fnzi_symbolic_is_usable(t))
    return false;
  fnzi_symbolic_name(g, t->name);
  fnzi_symbolic_put(g, "  ");
  fnzi_symbolic_put_typed(g, t);
  fnzi_symbolic_put(g, " = ");
  va_start(ap, call);
  tensors_put_list(g, call, ap);
  va_end(ap);
  fnzi_symbolic_put(g, "\n");
  fnzi_symbolic_keep(g, t);
  return true;
}

bool fnzi_symbolic_define_number(symbolic_gen *g, number *n, const char *call, ...) {
  va_list ap;
  if (g->numbers_count == SYMBOLIC_NUMBERS || fnzi_number_is_too_long(n))
    return false;
  fnzi_symbolic_name(g, n->name);
  fnzi_symbolic_put(g, "  %s: sym{\"%s\"} = ", n->name, n->text);
  va_start(ap, call);
  tensors_put_list(g, call, ap);
  va_end(ap);
  fnzi_symbolic_put(g, "\n");
  g->numbers[g->numbers_count++] = *n;
  return true;
}

bool fnzi_symbolic_size(symbolic_gen *g, const tensor *t, uint32_t dim, number *out) {
  *out = t->sizes[dim];
  if (out->is_known)
    return true;
  for (size_t k = 0; k < g->numbers_count; k++)
    if (strcmp(g->numbers[k].text, out->text) == 0) {
      *out = g->numbers[k];
      return true;
    }
  return fnzi_symbolic_define_number(g, out, "sym_size.int(%s, %u)", t->name, dim);
}

bool fnzi_symbolic_data(symbolic_gen *g, int64_t seen, number *out) {
  if (g->items_count == SYMBOLIC_DATA || g->in_body)
    return false;
  *out = (number){.seen = seen};
  snprintf(out->text, sizeof out->text, "u%zu", g->items_count++);
  return true;
}

void fnzi_symbolic_assert(symbolic_gen *g, const number *a, const char *sign, const number *b) {
  fnzi_symbolic_put(g, "  %%v%zu: sym{(%s) %s (%s)} = _operator.%s(%s, %s)\n", ++g->names, a->text,
                    sign, b->text, sign[0] == '<' ? "le" : "ge", fnzi_number_argument(a),
                    fnzi_number_argument(b));
  fnzi_symbolic_put(g, "  _assert_scalar(%%v%zu, \"asserted\")\n", g->names);
}

bool fnzi_symbolic_is_writable(const tensor *t) {
  bool repeated = t->may_overlap;
  for (uint32_t d = 0; d < t->rank; d++)
    repeated = repeated || (t->strides[d].is_known && t->strides[d].seen == 0);
  return !repeated;
}
