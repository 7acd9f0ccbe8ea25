/* einsum.c - reads the equation of einsum. */
#include "kernels/meta/einsum.h"

enum { ELLIPSIS = UINT8_MAX, MAX_ITEMS = FNZ_MAX_RANK + 1 };

/* The labels between two commas. */
typedef struct term {
  uint8_t items[MAX_ITEMS];
  uint32_t count;
  bool has_ellipsis;
} term;

typedef struct reader {
  fnzi_krn_call *call;
  const char *at;
  term terms[FNZI_EINSUM_OPERANDS], out;
  uint32_t count;
  uint32_t ellipsis; /* dimensions that it stands for */
} reader;

static fnz_status malformed(const reader *r) {
  return fnzi_krn_call_refuse(r->call, FNZ_CLASS_TYPE,
                              "the equation is not well formed before '%s'", r->at);
}

static fnz_status read_term(reader *r, term *t) {
  while (*r->at && *r->at != ',' && strncmp(r->at, "->", 2) != 0) {
    if (*r->at == ' ') {
      r->at++;
    } else {
      bool dots = strncmp(r->at, "...", 3) == 0;
      if (t->count == MAX_ITEMS || (dots && t->has_ellipsis) || (!dots && !fnzi_is_letter(*r->at)))
        return malformed(r);
      t->has_ellipsis = t->has_ellipsis || dots;
      const char c = *r->at; /* a label: A is 0, a is 26 */
      t->items[t->count++] = dots ? ELLIPSIS : (uint8_t)(c <= 'Z' ? c - 'A' : c - 'a' + 26);
      r->at += dots ? 3 : 1;
    }
  }
  return FNZ_OK;
}

static fnz_status read_equation(reader *r) {
  for (;;) {
    if (r->count == FNZI_EINSUM_OPERANDS)
      return fnzi_krn_call_refuse(r->call, FNZ_CLASS_LIMIT, "more than %d operands",
                                  FNZI_EINSUM_OPERANDS);
    FNZ_TRY(read_term(r, &r->terms[r->count++]));
    if (*r->at != ',')
      break;
    r->at++;
  }
  if (!*r->at) {
    /* Without an arrow: the ellipsis, then every letter that appears once, in order. */
    uint8_t seen[FNZI_EINSUM_LETTERS] = {0};
    for (uint32_t k = 0; k < r->count; k++)
      for (uint32_t i = 0; i < r->terms[k].count; i++) {
        uint8_t item = r->terms[k].items[i];
        if (item != ELLIPSIS && seen[item] < 2)
          seen[item]++;
      }
    r->out.items[r->out.count++] = ELLIPSIS;
    for (uint8_t i = 0; i < FNZI_EINSUM_LETTERS; i++)
      if (seen[i] == 1 && r->out.count < MAX_ITEMS)
        r->out.items[r->out.count++] = i;
    return FNZ_OK;
  }
  r->at += 2;
  FNZ_TRY(read_term(r, &r->out));
  return *r->at ? malformed(r) : FNZ_OK;
}

/* The dimensions of the ellipsis are aligned at the last one. */
static fnz_status expand(const reader *r, const term *t, uint32_t dots, fnzi_meta_labels *out) {
  out->rank = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    uint32_t n = t->items[i] == ELLIPSIS ? dots : 1;
    if (out->rank + n > FNZ_MAX_RANK)
      return fnzi_krn_call_refuse(r->call, FNZ_CLASS_LIMIT, "a rank above %d", FNZ_MAX_RANK);
    for (uint32_t k = 0; k < n; k++)
      out->at[out->rank++] = t->items[i] == ELLIPSIS
                                 ? (uint8_t)(FNZI_EINSUM_LETTERS + r->ellipsis - dots + k)
                                 : t->items[i];
  }
  return FNZ_OK;
}

static const fnz_geometry *operand(const fnzi_krn_call *call, uint32_t k) {
  return &fnzi_krn_arg_array(&fnzi_krn_named(call, "tensors")->u.list[k])->geometry;
}

static fnz_status take_sizes(fnzi_krn_call *call, fnzi_meta_einsum *e, uint32_t k) {
  const fnz_geometry *g = operand(call, k);
  for (uint32_t i = 0; i < g->rank; i++) {
    int64_t *size = &e->sizes[e->operands[k].at[i]];
    if (*size == 1)
      *size = g->sizes[i];
    else if (g->sizes[i] != 1 && g->sizes[i] != *size)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "operand %u has size %lld in dimension %u where another has %lld",
                                  k, (long long)g->sizes[i], i, (long long)*size);
  }
  return FNZ_OK;
}

fnz_status fnzi_meta_einsum_read(fnzi_krn_call *call, fnzi_meta_einsum *out) {
  reader *r;
  FNZI_NEW(&call->scratch, 1, &r);
  *r = (reader){.call = call, .at = fnzi_krn_named_string(call, "equation")};
  FNZ_TRY(read_equation(r));
  if (r->count != fnzi_krn_named(call, "tensors")->count)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "the equation has %u operands, %u are given",
                                r->count, fnzi_krn_named(call, "tensors")->count);
  for (uint32_t k = 0; k < r->count; k++) {
    const term *t = &r->terms[k];
    uint32_t rank = operand(r->call, k)->rank, letters = t->count - t->has_ellipsis;
    if (t->has_ellipsis ? rank < letters : rank != letters)
      return fnzi_krn_call_refuse(r->call, FNZ_CLASS_BOUNDS,
                                  "operand %u has rank %u, the equation names %u dimensions", k,
                                  rank, letters);
    if (rank - letters > r->ellipsis)
      r->ellipsis = rank - letters;
  }
  out->count = r->count;
  for (uint32_t i = 0; i < FNZI_EINSUM_LABELS; i++)
    out->sizes[i] = 1;
  for (uint32_t k = 0; k < r->count; k++) {
    const term *t = &r->terms[k];
    uint32_t rank = operand(call, k)->rank, letters = t->count - t->has_ellipsis;
    FNZ_TRY(expand(r, t, rank - letters, &out->operands[k]));
    FNZ_TRY(take_sizes(call, out, k));
  }
  FNZ_TRY(expand(r, &r->out, r->ellipsis, &out->out));
  for (uint32_t i = 0; i < out->out.rank; i++) {
    bool found = false;
    for (uint32_t k = 0; k < out->count; k++)
      found = found || fnzi_meta_labels_have(&out->operands[k], out->out.at[i]);
    for (uint32_t j = 0; j < i; j++)
      found = found && out->out.at[j] != out->out.at[i];
    if (!found)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                  "dimension %u of the output is named twice, or by no operand", i);
  }
  return FNZ_OK;
}
