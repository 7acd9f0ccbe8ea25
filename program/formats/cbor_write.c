/* cbor_write.c - a program as CBOR (docs/cbor-format.md, docs/fnz.cddl).
 *
 * Tables of strings and types come first, in the order in which the rest uses them. So the graphs,
 * outputs and weights are written to buffers before the tables. */
#include "program/formats/cbor_write.h"

typedef fnzi_cbor_writer writer;

/* --- graphs ---------------------------------------------------------------------------------- */
static fnz_status cbor_put_node(writer *w, fnzi_encoder e, const fnzi_node *n) {
  bool is_named = false;
  for (uint32_t i = 0; !n->op && !is_named && i < n->nargs; i++)
    is_named = fnzi_node_arg_name(n, i)[0];
  FNZ_TRY(fnzi_encode_array(e, is_named ? 6 : 5));
  FNZ_TRY(fnzi_cbor_put_string(w, e, fnzi_node_target(n)));
  FNZ_TRY(fnzi_cbor_put_string(w, e, n->source));
  FNZ_TRY(fnzi_cbor_put_string(w, e, fnzi_node_metadata(n)));
  FNZ_TRY(fnzi_cbor_put_args(e, n->args, fnzi_cbor_given_args(n->op, n->args, n->nargs)));
  FNZ_TRY(fnzi_cbor_put_args(e, n->outputs, n->noutputs));
  if (!is_named)
    return FNZ_OK;
  FNZ_TRY(fnzi_encode_array(e, n->nargs));
  for (uint32_t i = 0; i < n->nargs; i++)
    FNZ_TRY(fnzi_cbor_put_string(w, e, fnzi_node_arg_name(n, i)));
  return FNZ_OK;
}

static fnz_status cbor_put_graph(writer *w, fnzi_encoder e, const fnzi_graph *g) {
  FNZ_TRY(fnzi_encode_array(e, 6));
  FNZ_TRY(fnzi_cbor_put_string(w, e, g->name));
  FNZ_TRY(fnzi_encode_uint(e, g->returns_single ? FNZI_CBOR_SINGLE : 0));
  FNZ_TRY(fnzi_encode_array(e, g->values.count));
  for (size_t i = 0; i < g->values.count; i++) {
    const fnzi_value *v = &g->values.data[i];
    uint64_t type;
    FNZ_TRY(fnzi_encode_array(e, 2));
    FNZ_TRY(fnzi_encode_text(e, v->name, strlen(v->name)));
    if (!v->geometry) {
      FNZ_TRY(fnzi_encode_int(e, -1 - (int64_t)v->symbol));
    } else {
      FNZ_TRY(fnzi_cbor_find_type(w, &v->geometry, &type));
      FNZ_TRY(fnzi_encode_uint(e, type));
    }
  }
  FNZ_TRY(fnzi_cbor_put_args(e, g->inputs, g->ninputs));
  FNZ_TRY(fnzi_encode_array(e, g->nodes.count));
  for (size_t i = 0; i < g->nodes.count; i++)
    FNZ_TRY(cbor_put_node(w, e, &g->nodes.data[i]));
  return fnzi_cbor_put_args(e, g->outputs, g->noutputs);
}

/* --- weights --------------------------------------------------------------------------------- */
static fnz_status put_weights(writer *w, fnzi_encoder e) {
  FNZ_TRY(fnzi_encode_array(e, w->p->weights.count));
  for (size_t i = 0; i < w->p->weights.count; i++) {
    const fnzi_weight *weight = &w->p->weights.data[i];
    uint64_t type;
    FNZ_TRY(fnzi_encode_array(e, 3));
    FNZ_TRY(fnzi_encode_text(e, weight->name, strlen(weight->name)));
    FNZ_TRY(fnzi_cbor_find_type(w, &weight->geometry, &type));
    FNZ_TRY(fnzi_encode_uint(e, type));
    /* 0 for a tensor without data, else one more than the index of its blob. */
    uint64_t index = 0;
    if (weight->blob && !fnzi_map_get(&w->blob_index, &weight->blob, sizeof weight->blob, &index)) {
      FNZI_PUSH(w->ctx, &w->blobs, weight->blob);
      index = w->blobs.count;
      FNZ_TRY(fnzi_map_set(&w->blob_index, &weight->blob, sizeof weight->blob, index));
    }
    FNZ_TRY(fnzi_encode_uint(e, index));
  }
  return FNZ_OK;
}

fnz_status fnzi_cbor_put_blobs(fnzi_cbor_writer *w, fnzi_encoder e) {
  FNZ_TRY(fnzi_encode_array(e, w->blobs.count));
  for (size_t i = 0; i < w->blobs.count; i++) {
    const fnzi_blob *blob = w->blobs.data[i];
    if (w->external) {
      FNZ_TRY(fnzi_encode_uint(e, fnzi_blob_bytes(blob)));
      continue;
    }
    FNZ_TRY(fnzi_blob_check(e.ctx, blob));
    FNZ_TRY(fnzi_encode_bytes_head(e, fnzi_blob_bytes(blob)));
    FNZ_TRY(fnzi_put_piece(e.ctx, e.out, w->pieces, fnzi_blob_data(blob), fnzi_blob_bytes(blob)));
  }
  return FNZ_OK;
}

/* --- heading --------------------------------------------------------------------------------- */
static fnz_status cbor_put_text(fnzi_encoder e, const char *s) {
  return fnzi_encode_text(e, s, strlen(s));
}

static fnz_status cbor_put_dims(fnzi_encoder e, const int64_t *numbers, const uint32_t *symbols,
                                uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    bool is_symbolic = symbols && symbols[i];
    if (is_symbolic)
      FNZ_TRY(fnzi_encode_array(e, 2));
    FNZ_TRY(fnzi_encode_int(e, numbers[i]));
    if (is_symbolic)
      FNZ_TRY(fnzi_encode_uint(e, symbols[i]));
  }
  return FNZ_OK;
}

static fnz_status cbor_put_type(fnzi_encoder e, const fnz_geometry *g) {
  const uint32_t *symbols = g->symbols;
  FNZ_TRY(fnzi_encode_array(e, 5));
  FNZ_TRY(fnzi_encode_uint(e, g->dtype));
  FNZ_TRY(fnzi_encode_array(e, g->rank));
  FNZ_TRY(cbor_put_dims(e, g->sizes, symbols, g->rank));
  FNZ_TRY(fnzi_encode_array(e, g->rank));
  FNZ_TRY(cbor_put_dims(e, g->strides, symbols ? symbols + g->rank : NULL, g->rank));
  FNZ_TRY(cbor_put_dims(e, &g->offset, symbols ? symbols + 2 * g->rank : NULL, 1));
  return fnzi_encode_uint(e, (g->is_conj ? FNZI_CBOR_CONJ : 0u) | (g->is_neg ? FNZI_CBOR_NEG : 0u));
}

static fnz_status cbor_put_symbols(writer *w, fnzi_encoder e) {
  size_t count = w->p->symbols.count ? w->p->symbols.count - 1 : 0;
  FNZ_TRY(fnzi_encode_array(e, count));
  for (size_t i = 1; i <= count; i++) {
    const fnzi_symbol *s = &w->p->symbols.data[i];
    FNZ_TRY(fnzi_encode_array(e, s->has_hint ? 2 : 1));
    FNZ_TRY(cbor_put_text(e, s->text));
    if (s->has_hint)
      FNZ_TRY(fnzi_encode_int(e, s->hint));
  }
  return FNZ_OK;
}

static fnz_status cbor_put_key(fnzi_encoder e, int key) {
  return fnzi_encode_uint(e, (uint64_t)key);
}

fnz_status fnzi_cbor_put_head(fnzi_encoder e, const char *magic, int version) {
  FNZ_TRY(fnzi_encode_array(e, 3));
  FNZ_TRY(cbor_put_text(e, magic));
  return fnzi_encode_uint(e, (uint64_t)version);
}

static fnz_status put_front(writer *w, fnzi_encoder e) {
  FNZ_TRY(fnzi_encode_map(e, FNZI_CBOR_KEY_COUNT - (w->p->guards.count == 0) -
                                 (size_t)w->is_method - !w->external));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_STRINGS));
  FNZ_TRY(fnzi_encode_array(e, w->strings.count));
  for (size_t i = 0; i < w->strings.count; i++)
    FNZ_TRY(cbor_put_text(e, w->strings.data[i]));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_TORCH));
  FNZ_TRY(cbor_put_text(e, w->p->torch_version));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_SCHEMA));
  FNZ_TRY(fnzi_encode_array(e, 2));
  FNZ_TRY(fnzi_encode_int(e, w->p->schema_major));
  FNZ_TRY(fnzi_encode_int(e, w->p->schema_minor));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_SYMBOLS));
  FNZ_TRY(cbor_put_symbols(w, e));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_RANGES));
  FNZ_TRY(fnzi_encode_array(e, w->p->ranges.count));
  for (size_t i = 0; i < w->p->ranges.count; i++) {
    const fnzi_range *r = &w->p->ranges.data[i];
    FNZ_TRY(fnzi_encode_array(e, 3));
    FNZ_TRY(cbor_put_text(e, r->symbol));
    FNZ_TRY(fnzi_encode_int(e, r->min));
    FNZ_TRY(fnzi_encode_int(e, r->max));
  }
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_OPERATORS));
  FNZ_TRY(fnzi_encode_array(e, w->p->custom_ops.count));
  for (size_t i = 0; i < w->p->custom_ops.count; i++)
    FNZ_TRY(cbor_put_text(e, fnz_op_schema(w->p->custom_ops.data[i])));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_TYPES));
  FNZ_TRY(fnzi_encode_array(e, w->types.count));
  for (size_t i = 0; i < w->types.count; i++)
    FNZ_TRY(cbor_put_type(e, w->types.data[i]));
  return FNZ_OK;
}

/* The parts that are written before the tables. */
typedef struct sides {
  fnz_buffer graphs, outputs, weights;
} sides;

static fnz_status put_back(writer *w, fnzi_encoder e, const sides *s) {
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_GRAPHS));
  FNZ_TRY(fnzi_put(e.ctx, e.out, s->graphs.data, s->graphs.size));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_INPUTS));
  FNZ_TRY(fnzi_cbor_put_inputs(w, e));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_OUTPUTS));
  FNZ_TRY(fnzi_put(e.ctx, e.out, s->outputs.data, s->outputs.size));
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_WEIGHTS));
  FNZ_TRY(fnzi_put(e.ctx, e.out, s->weights.data, s->weights.size));
  if (!w->is_method) {
    FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_BLOBS));
    FNZ_TRY(fnzi_cbor_put_blobs(w, e));
  }
  if (w->p->guards.count) {
    FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_GUARDS));
    FNZ_TRY(fnzi_cbor_put_guards(w, e));
  }
  if (!w->external)
    return FNZ_OK;
  FNZ_TRY(cbor_put_key(e, FNZI_CBOR_KEY_FILE));
  FNZ_TRY(fnzi_encode_array(e, 3));
  FNZ_TRY(fnzi_encode_text(e, w->external->file, strlen(w->external->file)));
  FNZ_TRY(fnzi_encode_uint(e, w->external->bytes));
  FNZ_TRY(fnzi_encode_bytes_head(e, sizeof w->external->digest));
  return fnzi_put(e.ctx, e.out, w->external->digest, sizeof w->external->digest);
}

void fnzi_cbor_writer_begin(fnzi_cbor_writer *w) {
  fnzi_map_init(&w->string_index, w->ctx);
  fnzi_map_init(&w->type_index, w->ctx);
  fnzi_map_init(&w->blob_index, w->ctx);
}

void fnzi_cbor_writer_next(fnzi_cbor_writer *w, const fnz_program *p) {
  w->p = p;
  w->strings.count = w->types.count = 0;
  memset(w->recent, 0, sizeof w->recent);
  fnzi_map_free(&w->string_index);
  fnzi_map_free(&w->type_index);
  fnzi_map_init(&w->string_index, w->ctx);
  fnzi_map_init(&w->type_index, w->ctx);
}

fnz_status fnzi_cbor_put_fields(fnzi_cbor_writer *w) {
  sides s = {{0}, {0}, {0}};
  fnzi_encoder e = {w->ctx, w->out}, graphs = {w->ctx, &s.graphs};
  fnz_status status = fnzi_encode_array(graphs, w->p->graphs.count);
  for (size_t i = 0; i < w->p->graphs.count && status == FNZ_OK; i++)
    status = cbor_put_graph(w, graphs, &w->p->graphs.data[i]);
  if (status == FNZ_OK)
    status = fnzi_cbor_put_outputs(w, (fnzi_encoder){w->ctx, &s.outputs});
  if (status == FNZ_OK)
    status = put_weights(w, (fnzi_encoder){w->ctx, &s.weights});
  if (status == FNZ_OK)
    status = put_front(w, e);
  if (status == FNZ_OK)
    status = put_back(w, e, &s);
  fnz_buffer_free(w->ctx, &s.graphs);
  fnz_buffer_free(w->ctx, &s.outputs);
  fnz_buffer_free(w->ctx, &s.weights);
  return status;
}

void fnzi_cbor_writer_end(fnzi_cbor_writer *w) {
  fnzi_map_free(&w->string_index);
  fnzi_map_free(&w->type_index);
  fnzi_map_free(&w->blob_index);
  FNZI_VEC_FREE(w->ctx, &w->strings);
  FNZI_VEC_FREE(w->ctx, &w->types);
  FNZI_VEC_FREE(w->ctx, &w->blobs);
}

static fnz_status write_program(writer w) {
  fnzi_cbor_writer_begin(&w);
  fnz_status status =
      fnzi_cbor_put_head((fnzi_encoder){w.ctx, w.out}, FNZI_CBOR_MAGIC, FNZI_CBOR_VERSION);
  if (status == FNZ_OK)
    status = fnzi_cbor_put_fields(&w);
  fnzi_cbor_writer_end(&w);
  return status;
}

fnz_status fnzi_write_cbor(fnz_context *ctx, const fnz_program *p, fnz_buffer *out,
                           struct fnzi_out_pieces *pieces) {
  return write_program((writer){.ctx = ctx, .p = p, .out = out, .pieces = pieces});
}

fnz_status fnzi_write_cbor_beside(fnz_context *ctx, const fnz_program *p,
                                  const fnzi_external *external, fnz_buffer *out) {
  return write_program((writer){.ctx = ctx, .p = p, .out = out, .external = external});
}
