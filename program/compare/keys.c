/* keys.c - the bytes by which two expressions are known to be equal.
 *
 * Everything is written with its length or in fixed width, so that no two different things give the
 * same bytes; and nothing in it depends on which program it comes from. */
#include "program/compare/compare.h"

fnz_status fnzi_cmp_key_start(fnzi_cmp_numbering *n, fnzi_cmp_class_kind kind) {
  n->header.size = 0;
  n->operands.count = 0;
  return fnzi_cmp_key_number(n, kind);
}

/* Little-endian everywhere: fnz_program_hash() must not depend on the machine. */
fnz_status fnzi_cmp_key_number(fnzi_cmp_numbering *n, int64_t number) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++)
    bytes[i] = (unsigned char)((uint64_t)number >> 8 * i);
  return fnzi_put(n->ctx, &n->header, bytes, sizeof bytes);
}

fnz_status fnzi_cmp_key_text(fnzi_cmp_numbering *n, const char *text, size_t size) {
  FNZ_TRY(fnzi_cmp_key_number(n, (int64_t)size));
  return fnzi_put(n->ctx, &n->header, text, size);
}

fnz_status fnzi_cmp_key_operand(fnzi_cmp_numbering *n, uint32_t operand) {
  FNZI_PUSH(n->ctx, &n->operands, operand);
  return FNZ_OK;
}

/* A size is a number, or the text of its symbol. */
static fnz_status put_sizes(fnzi_cmp_numbering *n, const fnz_program *p, const fnz_geometry *g,
                            const int64_t *numbers, uint32_t count, uint32_t first) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t symbol = g->symbols ? g->symbols[first + i] : 0;
    const char *text = symbol ? p->symbols.data[symbol].text : "";
    FNZ_TRY(fnzi_cmp_key_text(n, text, strlen(text)));
    FNZ_TRY(fnzi_cmp_key_number(n, symbol ? 0 : numbers[i]));
  }
  return FNZ_OK;
}

fnz_status fnzi_cmp_key_geometry(fnzi_cmp_numbering *n, const fnz_program *p,
                                 const fnz_geometry *g) {
  FNZ_TRY(fnzi_cmp_key_number(n, g ? (int64_t)g->dtype : -1));
  if (!g)
    return FNZ_OK;
  FNZ_TRY(fnzi_cmp_key_number(n, g->rank));
  FNZ_TRY(fnzi_cmp_key_number(n, g->is_conj + 2 * g->is_neg));
  FNZ_TRY(put_sizes(n, p, g, g->sizes, g->rank, 0));
  FNZ_TRY(put_sizes(n, p, g, g->strides, g->rank, g->rank));
  return put_sizes(n, p, g, &g->offset, 1, 2 * g->rank);
}

static fnz_status put_bits(fnzi_cmp_numbering *n, double number) {
  int64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return fnzi_cmp_key_number(n, bits);
}

fnz_status fnzi_cmp_key_literal(fnzi_cmp_numbering *n, const fnz_arg *arg) {
  FNZ_TRY(fnzi_cmp_key_number(n, arg->tag));
  switch ((fnz_tag)arg->tag) {
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
  case FNZ_ARG_VALUE:
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
  case FNZ_ARG_GRAPH:
    return FNZ_OK;
  case FNZ_ARG_INT:
  case FNZ_ARG_BOOL:
  case FNZ_ARG_DTYPE:
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
    return fnzi_cmp_key_number(n, arg->u.i);
  case FNZ_ARG_FLOAT:
    return put_bits(n, arg->u.f);
  case FNZ_ARG_COMPLEX:
    FNZ_TRY(put_bits(n, arg->count == 2 ? arg->u.list[0].u.f : 0));
    return put_bits(n, arg->count == 2 ? arg->u.list[1].u.f : 0);
  case FNZ_ARG_STRING:
    return fnzi_cmp_key_text(n, arg->u.s, arg->count);
  case FNZ_ARG_DEVICE:
  case FNZ_ARG_OPERATOR:
    return fnzi_cmp_key_text(n, arg->u.s, strlen(arg->u.s));
  case FNZ_ARG_LIST:
    return fnzi_cmp_key_number(n, arg->count);
  }
  return FNZ_OK;
}

fnz_status fnzi_cmp_key_tree(fnzi_cmp_numbering *n, const fnz_arg *arg) {
  fnzi_walk walk;
  fnzi_walk_start(&walk, arg, 1);
  for (fnzi_step step; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;) {
    if (step == FNZI_STEP_TOO_DEEP)
      return fnzi_fail(n->ctx, FNZ_CLASS_LIMIT, NULL, "lists are nested more than %d deep",
                       FNZI_MAX_NESTING);
    if (step != FNZI_STEP_CLOSE)
      FNZ_TRY(fnzi_cmp_key_literal(n, walk.arg));
  }
  return FNZ_OK;
}

fnz_status fnzi_cmp_key_given(fnzi_cmp_numbering *n, const fnz_op *op, size_t i,
                              const fnz_arg *arg) {
  const char *name = op->params[i].name;
  size_t start = n->header.size, own, all;
  if (arg->tag == FNZ_ARG_DEFAULT)
    return FNZ_OK;
  FNZ_TRY(fnzi_cmp_key_tree(n, arg));
  own = n->header.size;
  FNZ_TRY(fnzi_cmp_key_tree(n, &op->params[i].default_value));
  all = n->header.size;
  n->header.size = start;
  if (!fnzi_is_reference(arg) && all - own == own - start &&
      memcmp(n->header.data + start, n->header.data + own, own - start) == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_cmp_key_text(n, name, strlen(name)));
  return fnzi_cmp_key_tree(n, arg);
}

/* --- the table -------------------------------------------------------------------------------- */
uint32_t fnzi_cmp_operand(const fnzi_cmp_class *e, uint32_t k) {
  uint32_t operand;
  memcpy(&operand, e->header + e->header_bytes + (size_t)k * sizeof operand, sizeof operand);
  return operand;
}

fnz_status fnzi_cmp_key_end(fnzi_cmp_numbering *n, fnzi_cmp_class_kind kind, uint32_t which,
                            fnzi_cmp_place spot, uint32_t *out) {
  size_t header_bytes = n->header.size;
  uint64_t found;
  if (n->operands.count)
    FNZ_TRY(fnzi_put(n->ctx, &n->header, n->operands.data,
                     n->operands.count * sizeof *n->operands.data));
  if (fnzi_map_get(&n->known, n->header.data, n->header.size, &found))
    *out = (uint32_t)found;
  else {
    const char *key;
    fnzi_cmp_class e = {.kind = kind, .noperands = (uint32_t)n->operands.count};
    if (n->classes.count >= UINT32_MAX || header_bytes > UINT32_MAX)
      return fnzi_fail(n->ctx, FNZ_CLASS_LIMIT, NULL, "more than 2^32 expressions");
    FNZ_TRY(fnzi_arena_string(&n->arena, n->header.data, n->header.size, &key));
    e.header = (const unsigned char *)key;
    e.header_bytes = (uint32_t)header_bytes;
    *out = (uint32_t)n->classes.count;
    FNZI_PUSH(n->ctx, &n->classes, e);
    FNZ_TRY(fnzi_map_set(&n->known, key, n->header.size, *out));
  }
  fnzi_cmp_place *first = &n->classes.data[*out].spots[which];
  spot.is_there = true;
  if (!first->is_there)
    *first = spot;
  return FNZ_OK;
}
