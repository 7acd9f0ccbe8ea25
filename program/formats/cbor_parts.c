/* cbor_parts.c - the pieces of a program in CBOR: table entries, types, arguments. */
#include "program/formats/cbor_read.h"
#include "program/formats/text.h"

/* --- tables ---------------------------------------------------------------------------------- */
fnz_status fnzi_cbor_use(fnzi_cbor_reader *r, uint64_t index, size_t count, size_t *used) {
  if (index >= count)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_REF, "entry %llu of a table of %zu",
                            (unsigned long long)index, count);
  if (index > *used)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING,
                            "entry %llu is used before entry %zu; tables are in order of use",
                            (unsigned long long)index, *used);
  *used += index == *used;
  return FNZ_OK;
}

fnz_status fnzi_cbor_text(fnzi_cbor_reader *r, const char **out) {
  FNZ_TRY(fnzi_decode_kind(&r->d, FNZI_CBOR_TEXT));
  if (memchr(r->d.item.data, 0, r->d.item.n))
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING, "a zero byte in a name");
  return fnzi_decode_at(&r->d, fnzi_intern(r->p, r->d.item.data, r->d.item.n, out));
}

fnz_status fnzi_cbor_string(fnzi_cbor_reader *r, const char **out) {
  uint64_t index;
  FNZ_TRY(fnzi_decode_uint(&r->d, UINT64_MAX, &index));
  FNZ_TRY(fnzi_cbor_use(r, index, r->strings.count, &r->used_strings));
  *out = r->strings.data[index];
  return FNZ_OK;
}

fnz_status fnzi_cbor_type(fnzi_cbor_reader *r, const fnz_geometry **out) {
  FNZ_TRY(fnzi_cbor_use(r, r->d.item.n, r->types.count, &r->used_types));
  *out = r->types.data[r->d.item.n];
  return FNZ_OK;
}

/* --- strings --------------------------------------------------------------------------------- */
/* Strings are interned before anything else is, so a new one is a new entry of the arena's table.
 */
static fnz_status parts_read_string(fnzi_cbor_reader *r, fnzi_map *seen) {
  const char *s;
  uint64_t there;
  FNZ_TRY(fnzi_cbor_text(r, &s));
  if (!s[0] || fnzi_map_get(seen, s, strlen(s), &there))
    return fnzi_decode_fail(&r->d, FNZ_CLASS_DUPLICATE, "an empty string, or one that was there");
  FNZI_PUSH(r->ctx, &r->strings, s);
  return fnzi_map_set(seen, s, strlen(s), 1);
}

fnz_status fnzi_cbor_strings(fnzi_cbor_reader *r) {
  size_t count;
  fnzi_map seen;
  fnz_status status = FNZ_OK;
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  FNZI_PUSH(r->ctx, &r->strings, "");
  fnzi_map_init(&seen, r->ctx);
  for (size_t i = 0; i < count && status == FNZ_OK; i++)
    status = parts_read_string(r, &seen);
  fnzi_map_free(&seen);
  r->used_strings = 1;
  return status;
}

/* --- types ----------------------------------------------------------------------------------- */
static fnz_status parts_read_dim(fnzi_cbor_reader *r, int64_t *number, uint32_t *symbol) {
  uint64_t index;
  *symbol = 0;
  FNZ_TRY(fnzi_decode(&r->d));
  if (r->d.item.kind != FNZI_CBOR_ARRAY)
    return fnzi_item_int(&r->d, number);
  if (r->d.item.n != 2)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "a symbolic number is [number, symbol]");
  FNZ_TRY(fnzi_decode_int(&r->d, number));
  FNZ_TRY(fnzi_decode_uint(&r->d, r->p->symbols.count, &index));
  *symbol = (uint32_t)index;
  if (index)
    return FNZ_OK;
  return fnzi_decode_fail(&r->d, FNZ_CLASS_REF, "symbol 0; they are numbered from 1");
}

static fnz_status parts_read_dims(fnzi_cbor_reader *r, int64_t *numbers, uint32_t *symbols,
                                  uint32_t *rank) {
  size_t count;
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  if (count > FNZ_MAX_RANK)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_LIMIT, "%zu dimensions; at most %d are allowed", count,
                            FNZ_MAX_RANK);
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(parts_read_dim(r, &numbers[i], &symbols[i]));
  *rank = (uint32_t)count;
  return FNZ_OK;
}

static fnz_status read_type(fnzi_cbor_reader *r, fnzi_map *seen) {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
  uint32_t symbols[2 * FNZ_MAX_RANK + 1];
  fnz_geometry g = {.sizes = sizes, .strides = strides, .symbols = symbols};
  const fnz_geometry *kept;
  uint64_t there;
  uint64_t dtype, flags;
  uint32_t nstrides;
  FNZ_TRY(fnzi_decode_fixed(&r->d, 5));
  FNZ_TRY(fnzi_decode_uint(&r->d, FNZ_DTYPE_COUNT, &dtype));
  g.dtype = (fnz_dtype)dtype;
  FNZ_TRY(parts_read_dims(r, sizes, symbols, &g.rank));
  FNZ_TRY(parts_read_dims(r, strides, symbols + g.rank, &nstrides));
  if (nstrides != g.rank)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "%u strides for %u dimensions", nstrides,
                            g.rank);
  FNZ_TRY(parts_read_dim(r, &g.offset, symbols + 2 * g.rank));
  FNZ_TRY(fnzi_decode_uint(&r->d, 4, &flags));
  g.is_conj = flags & FNZI_CBOR_CONJ;
  g.is_neg = flags & FNZI_CBOR_NEG;
  FNZ_TRY(fnzi_decode_at(&r->d, fnzi_intern_geometry(r->p, &g, &kept)));
  if (fnzi_map_get(seen, kept, sizeof *kept, &there))
    return fnzi_decode_fail(&r->d, FNZ_CLASS_DUPLICATE, "a type that is in the table already");
  FNZI_PUSH(r->ctx, &r->types, kept);
  return fnzi_map_set(seen, kept, sizeof *kept, 1);
}

/* Interned geometries differ in the addresses of their sizes, so that their bytes can be the
 * key. */
fnz_status fnzi_cbor_types(fnzi_cbor_reader *r) {
  size_t count;
  fnzi_map seen;
  fnz_status status = FNZ_OK;
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  fnzi_map_init(&seen, r->ctx);
  for (size_t i = 0; i < count && status == FNZ_OK; i++)
    status = read_type(r, &seen);
  fnzi_map_free(&seen);
  return status;
}

/* --- arguments ------------------------------------------------------------------------------- */
static fnz_status parts_read_complex(fnzi_cbor_reader *r, fnz_arg *out) {
  fnz_arg *parts;
  FNZI_NEW(&r->p->arena, 2, &parts);
  for (int i = 0; i < 2; i++) {
    FNZ_TRY(fnzi_decode_kind(&r->d, FNZI_CBOR_FLOAT));
    parts[i] = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = r->d.item.f};
  }
  out->count = 2;
  out->u.list = parts;
  return FNZ_OK;
}

/* [tag, ...] with the tag read: everything but lists. `parts` counts what follows. */
static fnz_status read_tagged(fnzi_cbor_reader *r, size_t parts, fnz_arg *out) {
  uint64_t limit = INT64_MAX;
  size_t wanted = out->tag == FNZ_ARG_COMPLEX ? 2 : 1;
  if (parts != wanted)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE,
                            "an argument of tag %u with %zu parts, expected %zu", out->tag, parts,
                            wanted);
  switch ((fnz_tag)out->tag) {
  case FNZ_ARG_VALUE:
  case FNZ_ARG_SYMBOL:
  case FNZ_ARG_TOKEN:
  case FNZ_ARG_OBJECT:
    limit = fnzi_graph_at(r->p, r->graph)->values.count;
    return fnzi_decode_uint(&r->d, limit, &out->u.value);
  case FNZ_ARG_DTYPE:
    return fnzi_decode_uint(&r->d, FNZ_DTYPE_COUNT, &out->u.value);
  case FNZ_ARG_LAYOUT:
  case FNZ_ARG_MEMORY_FORMAT:
  case FNZ_ARG_GRAPH:
    return fnzi_decode_uint(&r->d, limit, &out->u.value);
  case FNZ_ARG_DEVICE:
  case FNZ_ARG_OPERATOR:
    return fnzi_cbor_text(r, &out->u.s);
  case FNZ_ARG_COMPLEX:
    return parts_read_complex(r, out);
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
  case FNZ_ARG_INT:
  case FNZ_ARG_FLOAT:
  case FNZ_ARG_BOOL:
  case FNZ_ARG_STRING:
  case FNZ_ARG_LIST:
    break;
  }
  return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "an argument with the tag %u", out->tag);
}

static fnz_status read_plain(fnzi_cbor_reader *r, fnz_arg *out) {
  const fnzi_cbor_item *item = &r->d.item;
  switch (item->kind) {
  case FNZI_CBOR_UNDEFINED:
    *out = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
    return FNZ_OK;
  case FNZI_CBOR_NULL:
    *out = (fnz_arg){.tag = FNZ_ARG_NONE};
    return FNZ_OK;
  case FNZI_CBOR_UINT:
  case FNZI_CBOR_NINT:
    *out = (fnz_arg){.tag = FNZ_ARG_INT};
    return fnzi_item_int(&r->d, &out->u.i);
  case FNZI_CBOR_FLOAT:
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = item->f};
    return FNZ_OK;
  case FNZI_CBOR_BOOL:
    *out = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = (int64_t)item->n};
    return FNZ_OK;
  case FNZI_CBOR_TEXT:
    *out = (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)item->n};
    return fnzi_decode_at(&r->d, fnzi_intern(r->p, item->data, item->n, &out->u.s));
  case FNZI_CBOR_NOTHING:
  case FNZI_CBOR_BYTES:
  case FNZI_CBOR_ARRAY:
  case FNZI_CBOR_MAP:
  case FNZI_CBOR_REFUSED:
    break;
  }
  return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "neither an argument nor a list");
}

/* One argument. For a list only its head: then out->tag is LIST and out->count its length. */
static fnz_status read_item(fnzi_cbor_reader *r, fnz_arg *out) {
  uint64_t tag;
  FNZ_TRY(fnzi_decode(&r->d));
  if (r->d.item.kind != FNZI_CBOR_ARRAY)
    return read_plain(r, out);
  size_t parts = r->d.item.n;
  if (!parts || parts > UINT32_MAX)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_LIMIT, "an argument of %zu parts", parts);
  FNZ_TRY(fnzi_decode_uint(&r->d, FNZ_ARG_OPERATOR + 1, &tag));
  *out = (fnz_arg){.tag = (uint8_t)tag};
  if (tag != FNZ_ARG_LIST)
    return read_tagged(r, parts - 1, out);
  out->count = (uint32_t)(parts - 1);
  return FNZ_OK;
}

/* The last `count` items become one array in the arena. */
static fnz_status take_items(fnzi_cbor_reader *r, size_t count, fnz_arg **out) {
  FNZI_NEW(&r->p->arena, count, out);
  r->items.count -= count;
  if (count)
    memcpy(*out, r->items.data + r->items.count, count * sizeof **out);
  return FNZ_OK;
}

fnz_status fnzi_cbor_args(fnzi_cbor_reader *r, uint32_t *count, fnz_arg **out) {
  size_t found;
  FNZ_TRY(fnzi_decode_array(&r->d, &found));
  if (found > UINT32_MAX)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_LIMIT, "%zu arguments", found);
  *count = (uint32_t)found;
  /* `left[k]` items of the k-th open list are still to come; list 0 is the array itself. */
  size_t left[FNZI_MAX_NESTING + 1], total[FNZI_MAX_NESTING + 1], depth = 0;
  fnz_arg *list;
  left[0] = total[0] = found;
  for (;;) {
    while (left[depth] == 0) {
      if (depth == 0)
        return take_items(r, found, out);
      FNZ_TRY(take_items(r, total[depth], &list));
      FNZI_PUSH(r->ctx, &r->items,
                ((fnz_arg){FNZ_ARG_LIST, 0, (uint32_t)total[depth], {.list = list}}));
      depth--;
    }
    fnz_arg arg;
    FNZ_TRY(read_item(r, &arg));
    left[depth]--;
    if (arg.tag != FNZ_ARG_LIST) {
      FNZI_PUSH(r->ctx, &r->items, arg);
      continue;
    }
    if (depth == FNZI_MAX_NESTING)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_LIMIT, "lists are nested more than %d deep",
                              FNZI_MAX_NESTING);
    depth++;
    left[depth] = total[depth] = arg.count;
  }
}

/* --- calls ----------------------------------------------------------------------------------- */
fnz_status fnzi_cbor_target(fnzi_cbor_reader *r, const char **target, const fnz_op **op) {
  FNZ_TRY(fnzi_cbor_string(r, target));
  if (strlen(*target) > r->ctx->limits.op_name)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_LIMIT,
                            "the name of an operator has more than %zu bytes",
                            r->ctx->limits.op_name);
  FNZ_TRY(fnzi_op_use(r->p, *target, op));
  if (!*op && !fnzi_is_higher_order(*target)) {
    fnz_buffer near = {NULL, 0, 0};
    fnz_status status = fnzi_op_put_near(r->p, *target, &near);
    if (status == FNZ_OK)
      status = fnzi_decode_fail(&r->d, FNZ_CLASS_UNSUPPORTED,
                                "there is no operator %s%s declare it with --ops", *target,
                                near.size ? near.data : ";");
    fnz_buffer_free(r->ctx, &near);
    return status;
  }
  if (*op && strcmp(*target, fnz_op_name(*op)) != 0)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING, "the operator %s is written %s", *target,
                            fnz_op_name(*op));
  return FNZ_OK;
}

/* Arguments that the file leaves out, up to the operator's number, are defaults. */
fnz_status fnzi_cbor_pad_args(fnzi_cbor_reader *r, fnzi_node *node) {
  fnz_arg *args;
  uint32_t count = node->op->nparams;
  if (node->nargs > count)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "%u arguments; %s has %u", node->nargs,
                            fnzi_node_target(node), count);
  if (node->nargs && node->args[node->nargs - 1].tag == FNZ_ARG_DEFAULT)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING, "a default at the end of the arguments");
  if (node->nargs == count)
    return FNZ_OK;
  FNZI_NEW(&r->p->arena, count, &args);
  if (node->nargs)
    memcpy(args, node->args, node->nargs * sizeof *args);
  node->args = args;
  node->nargs = count;
  return FNZ_OK;
}
