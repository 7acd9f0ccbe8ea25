/* cbor_put.c - what all parts of the CBOR writer write: indices into tables, and arguments. */
#include "program/formats/cbor_write.h"

/* --- tables ---------------------------------------------------------------------------------- */
fnz_status fnzi_cbor_put_string(fnzi_cbor_writer *w, fnzi_encoder e, const char *s) {
  size_t place = ((uintptr_t)s >> 4) % FNZI_CBOR_RECENT;
  uint64_t index = w->recent[place].index;
  if (!s || w->recent[place].s != s) {
    index = 0;
    const size_t size = s ? strlen(s) : 0;
    if (size && !fnzi_map_get(&w->string_index, s, size, &index)) {
      FNZI_PUSH(w->ctx, &w->strings, s);
      index = w->strings.count;
      FNZ_TRY(fnzi_map_set(&w->string_index, s, size, index));
    }
    w->recent[place].s = s;
    w->recent[place].index = index;
  }
  return fnzi_encode_uint(e, index);
}

/* Interned geometries are equal when their pointers are. `slot` is where the pointer lives. */
fnz_status fnzi_cbor_find_type(fnzi_cbor_writer *w, const fnz_geometry *const *slot,
                               uint64_t *index) {
  if (fnzi_map_get(&w->type_index, slot, sizeof *slot, index))
    return FNZ_OK;
  FNZI_PUSH(w->ctx, &w->types, *slot);
  *index = w->types.count - 1;
  return fnzi_map_set(&w->type_index, slot, sizeof *slot, *index);
}

/* --- arguments ------------------------------------------------------------------------------- */
static fnz_status cbor_put_tagged(fnzi_encoder e, const fnz_arg *arg, size_t items) {
  FNZ_TRY(fnzi_encode_array(e, items + 1));
  return fnzi_encode_uint(e, arg->tag);
}

static fnz_status put_item(fnzi_encoder e, const fnz_arg *arg) {
  switch ((fnz_tag)arg->tag) {
  case FNZ_ARG_DEFAULT:
    return fnzi_encode_undefined(e);
  case FNZ_ARG_NONE:
    return fnzi_encode_null(e);
  case FNZ_ARG_INT:
    return fnzi_encode_int(e, arg->u.i);
  case FNZ_ARG_FLOAT:
    return fnzi_encode_float(e, arg->u.f);
  case FNZ_ARG_BOOL:
    return fnzi_encode_bool(e, arg->u.i != 0);
  case FNZ_ARG_STRING:
    return fnzi_encode_text(e, arg->u.s, arg->count);
  case FNZ_ARG_COMPLEX:
    FNZ_TRY(cbor_put_tagged(e, arg, 2));
    FNZ_TRY(fnzi_encode_float(e, arg->count == 2 ? arg->u.list[0].u.f : 0));
    return fnzi_encode_float(e, arg->count == 2 ? arg->u.list[1].u.f : 0);
  case FNZ_ARG_VALUE:
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
  case FNZ_ARG_DTYPE:
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
  case FNZ_ARG_GRAPH:
    FNZ_TRY(cbor_put_tagged(e, arg, 1));
    return fnzi_encode_int(e, arg->u.i);
  case FNZ_ARG_DEVICE:
  case FNZ_ARG_OPERATOR:
    FNZ_TRY(cbor_put_tagged(e, arg, 1));
    return fnzi_encode_text(e, arg->u.s, strlen(arg->u.s));
  case FNZ_ARG_LIST:
    return cbor_put_tagged(e, arg, arg->count);
  }
  return fnzi_fail(e.ctx, FNZ_CLASS_INTERNAL, NULL, "an argument with tag %d", arg->tag);
}

fnz_status fnzi_cbor_put_args(fnzi_encoder e, const fnz_arg *args, size_t count) {
  fnzi_walk walk;
  fnzi_walk_start(&walk, args, count);
  FNZ_TRY(fnzi_encode_array(e, count));
  for (fnzi_step step; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;) {
    if (step == FNZI_STEP_TOO_DEEP)
      return fnzi_fail(e.ctx, FNZ_CLASS_LIMIT, NULL, "lists are nested more than %d deep",
                       FNZI_MAX_NESTING);
    if (step != FNZI_STEP_CLOSE)
      FNZ_TRY(put_item(e, walk.arg));
  }
  return FNZ_OK;
}

/* Defaults at the end of an operator's arguments are left out. */
uint32_t fnzi_cbor_given_args(const fnz_op *op, const fnz_arg *args, uint32_t count) {
  while (op && count && args[count - 1].tag == FNZ_ARG_DEFAULT)
    count--;
  return count;
}
