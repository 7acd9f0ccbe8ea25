/* cbor_read.c - a program from CBOR (docs/cbor-format.md).
 *
 * Reads only what the writer writes: tables in the order of first use, nothing in them twice and
 * nothing unused, one form for everything. So reading and writing again gives the same bytes. The
 * verifier checks what the program means. */
#include "program/formats/cbor_read.h"

fnz_status fnzi_cbor_check_used(fnzi_decoder *d, const char *table, size_t used, size_t count) {
  if (used == count)
    return FNZ_OK;
  return fnzi_decode_fail(d, FNZ_CLASS_ENCODING, "%zu of %zu %s are used; leave the others out",
                          used, count, table);
}

/* --- the front ------------------------------------------------------------------------------- */
static fnz_status read_version(fnzi_cbor_reader *r, int *out) {
  int64_t n;
  FNZ_TRY(fnzi_decode_int(&r->d, &n));
  if (n < 0 || n > FNZI_MOST_SCHEMA)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_VERSION,
                            "the schema version %lld; the parts of one are at most %d",
                            (long long)n, FNZI_MOST_SCHEMA);
  *out = (int)n;
  return FNZ_OK;
}

static fnz_status cbor_read_symbol(fnzi_cbor_reader *r, size_t number) {
  const char *text;
  size_t parts;
  int64_t hint = 0;
  uint32_t index;
  FNZ_TRY(fnzi_decode_array(&r->d, &parts));
  if (parts != 1 && parts != 2)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "a symbol is a text and maybe a number");
  FNZ_TRY(fnzi_cbor_text(r, &text));
  if (parts == 2)
    FNZ_TRY(fnzi_decode_int(&r->d, &hint));
  FNZ_TRY(fnzi_symbol_add(r->p, text, parts == 2, hint, &index));
  if (index == number)
    return FNZ_OK;
  return fnzi_decode_fail(&r->d, FNZ_CLASS_DUPLICATE, "the symbol %s is there twice", text);
}

static fnz_status cbor_read_range(fnzi_cbor_reader *r) {
  const char *symbol;
  int64_t min, max;
  FNZ_TRY(fnzi_decode_fixed(&r->d, 3));
  FNZ_TRY(fnzi_cbor_text(r, &symbol));
  FNZ_TRY(fnzi_decode_int(&r->d, &min));
  FNZ_TRY(fnzi_decode_int(&r->d, &max));
  return fnzi_range_add(r->p, symbol, min, max);
}

static fnz_status cbor_read_operator(fnzi_cbor_reader *r) {
  const char *schema;
  const fnz_op *op;
  size_t before = r->p->custom_ops.count;
  FNZ_TRY(fnzi_cbor_text(r, &schema));
  FNZ_TRY(fnzi_decode_at(&r->d, fnzi_custom_op_add(r->p, schema, &op)));
  if (r->p->custom_ops.count > before)
    return FNZ_OK;
  return fnzi_decode_fail(&r->d, FNZ_CLASS_DUPLICATE, "operator %s is known already",
                          fnz_op_name(op));
}

/* --- graphs ---------------------------------------------------------------------------------- */
static fnz_status read_value(fnzi_cbor_reader *r) {
  int64_t type;
  uint32_t index;
  const fnz_geometry *geometry = NULL;
  FNZ_TRY(fnzi_decode_fixed(&r->d, 2));
  FNZ_TRY(fnzi_decode_kind(&r->d, FNZI_CBOR_TEXT));
  if (memchr(r->d.item.data, 0, r->d.item.n))
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING, "a zero byte in a name");
  if (r->d.item.n > r->ctx->limits.string)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_LIMIT, "a name of more than %zu bytes",
                            r->ctx->limits.string);
  r->name.size = 0;
  FNZ_TRY(fnzi_put(r->ctx, &r->name, r->d.item.data, r->d.item.n));
  FNZ_TRY(fnzi_decode_int(&r->d, &type));
  if (type >= 0)
    FNZ_TRY(fnzi_cbor_type(r, &geometry));
  else if (type < -1 && (uint64_t)(-1 - type) >= r->p->symbols.count)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_REF, "symbol %lld is not in the table",
                            (long long)(-1 - type));
  FNZ_TRY(fnzi_decode_at(
      &r->d, fnzi_value_add(r->p, r->graph, r->name.data, geometry, FNZI_NO_NODE, &index)));
  fnzi_value_at(r->p, r->graph, index)->symbol = type < 0 ? (uint32_t)(-1 - type) : 0;
  FNZI_PUSH(r->ctx, &r->defined, false);
  return FNZ_OK;
}

static fnz_status cbor_define(fnzi_cbor_reader *r, const fnz_arg *args, uint32_t count,
                              uint32_t node) {
  FNZI_EACH_ARG(each, args, count) {
    if (!fnzi_is_reference(each.arg))
      continue;
    fnzi_value *v = fnzi_value_at(r->p, r->graph, each.arg->u.value);
    if (r->defined.data[each.arg->u.value])
      return fnzi_decode_fail(&r->d, FNZ_CLASS_DUPLICATE, "value %%%s is defined twice", v->name);
    r->defined.data[each.arg->u.value] = true;
    v->node = node;
  }
  return FNZ_OK;
}

static fnz_status cbor_read_node(fnzi_cbor_reader *r) {
  fnzi_node node = {0};
  fnzi_node_other other = {0};
  size_t parts;
  uint32_t index = (uint32_t)fnzi_graph_at(r->p, r->graph)->nodes.count;
  FNZ_TRY(fnzi_decode_array(&r->d, &parts));
  if (parts != 5 && parts != 6)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "a node of %zu parts, expected 5 or 6", parts);
  FNZ_TRY(fnzi_cbor_target(r, &other.target, &node.op));
  FNZ_TRY(fnzi_cbor_string(r, &node.source));
  FNZ_TRY(fnzi_cbor_string(r, &other.metadata));
  if (!other.metadata[0])
    other.metadata = NULL;
  FNZ_TRY(fnzi_cbor_args(r, &node.nargs, &node.args));
  if (node.op)
    FNZ_TRY(fnzi_cbor_pad_args(r, &node));
  FNZ_TRY(fnzi_cbor_args(r, &node.noutputs, &node.outputs));
  if (parts == 6) {
    const char **names;
    bool is_named = false;
    FNZ_TRY(fnzi_decode_fixed(&r->d, node.nargs));
    FNZI_NEW(&r->p->arena, node.nargs, &names);
    for (uint32_t i = 0; i < node.nargs; i++) {
      FNZ_TRY(fnzi_cbor_string(r, &names[i]));
      is_named = is_named || names[i][0];
    }
    other.arg_names = names;
    if (!is_named || node.op)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING, "names of arguments that say nothing");
  }
  FNZ_TRY(fnzi_node_keep(r->p, &node, &other));
  FNZ_TRY(cbor_define(r, node.outputs, node.noutputs, index));
  if (node.op && fnzi_builtin_prim(node.op))
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING,
                            "%s stands for other operators, which a written program has; give fnz "
                            "the .pt2 file that it comes from",
                            node.op->name);
  return fnzi_node_append(r->p, r->graph, &node, &index);
}

static fnz_status cbor_read_graph(fnzi_cbor_reader *r) {
  const char *name;
  uint64_t flags;
  size_t count;
  fnz_arg *args;
  uint32_t nargs;
  FNZ_TRY(fnzi_decode_fixed(&r->d, 6));
  FNZ_TRY(fnzi_cbor_string(r, &name));
  FNZ_TRY(fnzi_decode_uint(&r->d, 2, &flags));
  FNZ_TRY(fnzi_graph_add(r->p, name, &r->graph));
  fnzi_graph_at(r->p, r->graph)->returns_single = flags & FNZI_CBOR_SINGLE;
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  r->defined.count = 0;
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(read_value(r));
  FNZ_TRY(fnzi_cbor_args(r, &nargs, &args));
  FNZ_TRY(fnzi_graph_set_inputs(r->p, r->graph, nargs));
  fnzi_graph_at(r->p, r->graph)->inputs = args;
  FNZ_TRY(cbor_define(r, args, nargs, FNZI_NO_NODE));
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(cbor_read_node(r));
  FNZ_TRY(fnzi_cbor_args(r, &nargs, &args));
  FNZ_TRY(fnzi_graph_set_outputs(r->p, r->graph, nargs));
  fnzi_graph_at(r->p, r->graph)->outputs = args;
  return FNZ_OK;
}

/* --- weights --------------------------------------------------------------------------------- */
static fnz_status read_weight(fnzi_cbor_reader *r) {
  fnzi_weight weight = {0};
  uint64_t blob;
  FNZ_TRY(fnzi_decode_fixed(&r->d, 3));
  FNZ_TRY(fnzi_cbor_text(r, &weight.name));
  FNZ_TRY(fnzi_decode_kind(&r->d, FNZI_CBOR_UINT));
  FNZ_TRY(fnzi_cbor_type(r, &weight.geometry));
  FNZ_TRY(fnzi_decode_uint(&r->d, UINT64_MAX, &blob));
  if (blob)
    FNZ_TRY(fnzi_cbor_use(r, blob - 1, SIZE_MAX, &r->used_blobs));
  FNZI_PUSH(r->ctx, &r->weights, weight);
  FNZI_PUSH(r->ctx, &r->weight_blobs, (size_t)blob);
  return FNZ_OK;
}

fnz_status fnzi_cbor_add_weights(fnzi_cbor_reader *r) {
  for (size_t i = 0; i < r->weights.count; i++) {
    size_t blob = r->weight_blobs.data[i];
    FNZ_TRY(fnzi_decode_at(&r->d, fnzi_weight_add(r->p, r->weights.data[i].name,
                                                  blob ? r->external.blobs[blob - 1].blob : NULL,
                                                  r->weights.data[i].geometry)));
  }
  return FNZ_OK;
}

/* Checked at the tensors, because every file has a list of them. */
fnz_status fnzi_cbor_check_bytes(fnzi_decoder *d) {
  size_t done = (size_t)(d->at - d->start), most = d->ctx->limits.program_bytes;
  if (done <= most)
    return FNZ_OK;
  return fnzi_decode_fail(d, FNZ_CLASS_LIMIT, "more than %zu bytes without tensors", most);
}

static fnz_status cbor_read_blobs(fnzi_cbor_reader *r) {
  size_t count;
  FNZ_TRY(fnzi_cbor_check_bytes(&r->d));
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  FNZ_TRY(fnzi_cbor_check_used(&r->d, "blobs", r->used_blobs, count));
  FNZI_NEW(&r->p->arena, count, &r->external.blobs);
  r->external.count = count;
  for (size_t i = 0; i < count; i++) {
    /* The bytes, or how many there are in the file of weights: all in one way. */
    fnzi_external_blob *b = &r->external.blobs[i];
    FNZ_TRY(fnzi_decode(&r->d));
    bool is_outside = r->d.item.kind == FNZI_CBOR_UINT;
    if (i && is_outside != r->is_outside)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "some blobs lie here and some in a file");
    r->is_outside = is_outside;
    b->bytes = r->d.item.n;
    if (is_outside && b->bytes > INT64_MAX)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_OVERFLOW, "a blob of more than 2^63 bytes");
    if (!is_outside) {
      if (r->d.item.kind != FNZI_CBOR_BYTES)
        return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE,
                                "a blob that is neither bytes nor their number");
      FNZ_TRY(fnzi_blob_of(r->p, r->d.item.data, r->d.item.n, &b->blob));
    }
  }
  return r->is_outside ? FNZ_OK : fnzi_cbor_add_weights(r);
}

static fnz_status read_file(fnzi_cbor_reader *r) {
  fnzi_external *e = &r->external;
  if (!r->is_outside)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING, "a file of weights for no blob");
  FNZ_TRY(fnzi_decode_fixed(&r->d, 3));
  FNZ_TRY(fnzi_cbor_text(r, &e->file));
  FNZ_TRY(fnzi_decode_at(&r->d, fnzi_external_check_name(r->ctx, e->file)));
  FNZ_TRY(fnzi_decode_uint(&r->d, INT64_MAX, &e->bytes));
  FNZ_TRY(fnzi_decode_kind(&r->d, FNZI_CBOR_BYTES));
  if (r->d.item.n != sizeof e->digest)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "a digest of %llu bytes, not %zu",
                            (unsigned long long)r->d.item.n, sizeof e->digest);
  memcpy(e->digest, r->d.item.data, sizeof e->digest);
  return FNZ_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */
static fnz_status cbor_read_all(fnzi_cbor_reader *r, fnz_status (*one)(fnzi_cbor_reader *r)) {
  size_t count;
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(one(r));
  return FNZ_OK;
}

static fnz_status read_field(fnzi_cbor_reader *r, int key) {
  switch (key) {
  case FNZI_CBOR_KEY_STRINGS:
    return fnzi_cbor_strings(r);
  case FNZI_CBOR_KEY_TORCH:
    return fnzi_cbor_text(r, &r->p->torch_version);
  case FNZI_CBOR_KEY_SCHEMA:
    FNZ_TRY(fnzi_decode_fixed(&r->d, 2));
    FNZ_TRY(read_version(r, &r->p->schema_major));
    return read_version(r, &r->p->schema_minor);
  case FNZI_CBOR_KEY_SYMBOLS: {
    size_t count;
    FNZ_TRY(fnzi_decode_array(&r->d, &count));
    for (size_t i = 1; i <= count; i++)
      FNZ_TRY(cbor_read_symbol(r, i));
    return FNZ_OK;
  }
  case FNZI_CBOR_KEY_RANGES:
    return cbor_read_all(r, cbor_read_range);
  case FNZI_CBOR_KEY_OPERATORS:
    return cbor_read_all(r, cbor_read_operator);
  case FNZI_CBOR_KEY_TYPES:
    return fnzi_cbor_types(r);
  case FNZI_CBOR_KEY_GRAPHS:
    return cbor_read_all(r, cbor_read_graph);
  case FNZI_CBOR_KEY_INPUTS:
    return fnzi_cbor_read_inputs(r);
  case FNZI_CBOR_KEY_OUTPUTS:
    return fnzi_cbor_read_outputs(r);
  case FNZI_CBOR_KEY_WEIGHTS:
    return cbor_read_all(r, read_weight);
  case FNZI_CBOR_KEY_BLOBS:
    return cbor_read_blobs(r);
  case FNZI_CBOR_KEY_GUARDS:
    return fnzi_cbor_read_guards(r);
  default:
    return read_file(r);
  }
}

/* A method has no blobs of its own. */
static bool may_lack(const fnzi_cbor_reader *r, int key) {
  bool is_of_file = key == FNZI_CBOR_KEY_BLOBS || key == FNZI_CBOR_KEY_FILE;
  return r->is_method ? is_of_file || key == FNZI_CBOR_KEY_GUARDS : key == FNZI_CBOR_KEY_GUARDS;
}

/* *next: the key that is wanted; some may be left out. */
static fnz_status cbor_read_key(fnzi_cbor_reader *r, int *next) {
  static const char *const names[] = {
#define KEY_NAME(id, name) name,
      FNZI_CBOR_KEY_ROWS(KEY_NAME)
#undef KEY_NAME
  };
  FNZ_TRY(fnzi_decode_kind(&r->d, FNZI_CBOR_UINT));
  uint64_t key = r->d.item.n, before = (uint64_t)*next - 1;
  if (r->is_method && (key == FNZI_CBOR_KEY_BLOBS || key == FNZI_CBOR_KEY_FILE))
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "the %s of one method; they are of all",
                            names[key]);
  while (*next < FNZI_CBOR_KEY_COUNT && key > (uint64_t)*next && key < FNZI_CBOR_KEY_COUNT &&
         may_lack(r, *next))
    ++*next;
  if (key == (uint64_t)*next && key < FNZI_CBOR_KEY_COUNT)
    return FNZ_OK;
  if (*next >= FNZI_CBOR_KEY_COUNT)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_DUPLICATE, "a field behind the %s",
                            names[FNZI_CBOR_KEY_COUNT - 1]);
  if (*next && key == before)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_DUPLICATE, "the %s are there twice", names[key]);
  if (key < FNZI_CBOR_KEY_COUNT)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING, "key %llu where %d, the %s, should be",
                            (unsigned long long)key, *next, names[*next]);
  return fnzi_decode_fail(&r->d, FNZ_CLASS_VERSION, "the unknown key %llu",
                          (unsigned long long)key);
}

fnz_status fnzi_cbor_head(fnzi_decoder *d, const char *magic, int newest) {
  uint64_t version;
  FNZ_TRY(fnzi_decode_fixed(d, 3));
  FNZ_TRY(fnzi_decode_kind(d, FNZI_CBOR_TEXT));
  if (d->item.n != strlen(magic) || memcmp(d->item.data, magic, d->item.n) != 0)
    return fnzi_decode_fail(d, FNZ_CLASS_SYNTAX, "CBOR, but not of a program");
  FNZ_TRY(fnzi_decode_uint(d, UINT64_MAX, &version));
  if (version == (uint64_t)newest)
    return FNZ_OK;
  return fnzi_decode_fail(d, FNZ_CLASS_VERSION,
                          "format version %llu; this release reads %d, a newer one may read both",
                          (unsigned long long)version, newest);
}

fnz_status fnzi_cbor_fields(fnzi_cbor_reader *r) {
  size_t keys;
  int key = 0;
  /* How many fields there are at least, and at most. */
  const size_t least = r->is_method ? FNZI_CBOR_KEY_BLOBS : FNZI_CBOR_KEY_GUARDS;
  const size_t most = r->is_method ? least + 1 : FNZI_CBOR_KEY_COUNT;
  FNZ_TRY(fnzi_decode_kind(&r->d, FNZI_CBOR_MAP));
  keys = (size_t)r->d.item.n;
  if (r->d.item.n < least || r->d.item.n > most)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "%llu fields, expected %zu to %zu",
                            (unsigned long long)r->d.item.n, least, most);
  for (size_t i = 0; i < keys; i++, key++) {
    FNZ_TRY(cbor_read_key(r, &key));
    FNZ_TRY(read_field(r, key));
  }
  FNZ_TRY(fnzi_cbor_check_used(&r->d, "strings", r->used_strings, r->strings.count));
  return fnzi_cbor_check_used(&r->d, "types", r->used_types, r->types.count);
}

fnz_status fnzi_cbor_tail(fnzi_decoder *d) {
  return d->at == d->end ? FNZ_OK
                         : fnzi_decode_fail(d, FNZ_CLASS_SYNTAX, "bytes behind the program");
}

void fnzi_cbor_reader_end(fnzi_cbor_reader *r) {
  fnz_context *ctx = r->ctx;
  fnz_buffer_free(ctx, &r->name);
  FNZI_VEC_FREE(ctx, &r->strings);
  FNZI_VEC_FREE(ctx, &r->types);
  FNZI_VEC_FREE(ctx, &r->weights);
  FNZI_VEC_FREE(ctx, &r->weight_blobs);
  FNZI_VEC_FREE(ctx, &r->defined);
  FNZI_VEC_FREE(ctx, &r->items);
}

static fnz_status cbor_read_program(fnzi_cbor_reader *r) {
  FNZ_TRY(fnzi_cbor_head(&r->d, FNZI_CBOR_MAGIC, FNZI_CBOR_VERSION));
  FNZ_TRY(fnzi_cbor_fields(r));
  FNZ_TRY(fnzi_cbor_tail(&r->d));
  if (!r->is_outside)
    return FNZ_OK;
  if (r->external.file) {
    /* After the last byte of the CBOR, so that no other file is opened for one that is no good. */
    for (size_t i = 0; i < r->weights.count; i++) {
      size_t blob = r->weight_blobs.data[i];
      if (blob)
        fnzi_external_add(&r->external.blobs[blob - 1], &r->weights.data[i]);
    }
    FNZ_TRY(fnzi_external_read(&r->p->arena, r->p->source, &r->external));
    return fnzi_cbor_add_weights(r);
  }
  return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "blobs in a file that has no name");
}

fnz_status fnzi_read_cbor(fnz_context *ctx, const char *bytes, size_t size, fnz_program *out) {
  fnzi_cbor_reader r = {.ctx = ctx, .p = out, .d = {.ctx = ctx, .start = bytes, .at = bytes}};
  r.d.end = bytes + size;
  fnz_status status = cbor_read_program(&r);
  for (size_t i = 0; i < r.external.count; i++)
    fnzi_blob_release(r.external.blobs[i].blob);
  fnzi_cbor_reader_end(&r);
  return status;
}
