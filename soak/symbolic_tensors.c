/* symbolic_tensors.c - the tensors of a random program of unknown sizes, and how they are written
 * down. */
#include "soak/symbolic_draws.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_LINE = 4096 };

void fnzi_symbolic_put(symbolic_gen *g, const char *format, ...) {
  char line[MOST_LINE];
  va_list ap;
  va_start(ap, format);
  vsnprintf(line, sizeof line, format, ap);
  va_end(ap);
  if (g->status == FNZ_OK)
    g->status = fnzi_put_text(g->ctx, &g->body, line);
}

/* Exporters record what they have seen. */
static void put_number(symbolic_gen *g, const number *n) {
  if (n->is_known)
    fnzi_symbolic_put(g, "%s", n->text);
  else
    fnzi_symbolic_put(g, "{\"%s\": %lld}", n->text, (long long)n->seen);
}

static void put_numbers(symbolic_gen *g, const number *numbers, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    fnzi_symbolic_put(g, i ? "," : "");
    put_number(g, &numbers[i]);
  }
}

void fnzi_symbolic_put_typed(symbolic_gen *g, const tensor *t) {
  fnzi_symbolic_put(g, "%s: f32[", t->name);
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
  put_number(g, &t->offset);
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

void fnzi_symbolic_make_dense(tensor *t) {
  t->offset = fnzi_number_known(0);
  t->room = 1;
  t->may_overlap = false;
  for (uint32_t d = 0; d < t->rank; d++)
    t->room *= t->sizes[d].seen;
  for (uint32_t d = t->rank; d-- > 0;)
    t->strides[d] = d + 1 == t->rank
                        ? fnzi_number_known(1)
                        : fnzi_number_combine(ARITHMETIC_MUL, &t->strides[d + 1], &t->sizes[d + 1]);
}

bool fnzi_symbolic_is_dense(const tensor *t) {
  return t->rank && t->offset.is_known && t->offset.seen == 0 && t->strides[t->rank - 1].is_known &&
         t->strides[t->rank - 1].seen == 1 && fnzi_symbolic_is_mergeable(t, 0, t->rank - 1);
}

bool fnzi_symbolic_is_mergeable(const tensor *t, uint32_t first, uint32_t last) {
  for (uint32_t d = first; d < last; d++) {
    const number want = fnzi_number_combine(ARITHMETIC_MUL, &t->strides[d + 1], &t->sizes[d + 1]);
    if (strcmp(want.text, t->strides[d].text) != 0)
      return false;
  }
  return true;
}

bool fnzi_symbolic_is_same_shape(const tensor *a, const tensor *b) {
  bool same = a->rank == b->rank;
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
