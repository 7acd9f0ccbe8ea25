/* pt2_metadata.c - the data of a .pt2 file besides the program: a store that programs share. It has
 * a context of its own over the allocator of the creating context, so that it may live longer and
 * stays out of the byte counters of a thread. Failures are reported in the caller's context. */
#include "program/pt2_metadata.h"

#include <stdatomic.h>

typedef struct shared {
  fnzi_extras o; /* first: a pointer to it is one to this */
  atomic_size_t references;
} shared;

fnz_status fnzi_extras_create(fnz_context *ctx, fnzi_extras **out) {
  fnz_context *own;
  *out = NULL;
  if (fnz_context_create(&ctx->allocator, &own) != FNZ_OK)
    return fnzi_no_memory(ctx);
  shared *s = fnzi_resize(own, NULL, 0, sizeof *s);
  if (!s) {
    fnz_context_destroy(own);
    return fnzi_no_memory(ctx);
  }
  *s = (shared){.o = {.own = own}};
  atomic_init(&s->references, 1);
  fnzi_arena_init(&s->o.arena, own);
  for (int kind = 0; kind < FNZI_EXTRA_KINDS; kind++)
    fnzi_map_init(&s->o.text_of[kind], own);
  *out = &s->o;
  return FNZ_OK;
}

fnzi_extras *fnzi_extras_retain(fnzi_extras *o) {
  if (o)
    atomic_fetch_add_explicit(&((shared *)o)->references, 1, memory_order_relaxed);
  return o;
}

void fnzi_extras_release(fnzi_extras *o) {
  if (!o || atomic_fetch_sub_explicit(&((shared *)o)->references, 1, memory_order_acq_rel) != 1)
    return;
  fnz_context *own = o->own;
  for (size_t i = 0; i < o->records.count; i++)
    fnzi_blob_release(o->records.data[i].blob);
  for (size_t i = 0; i < o->graphs.count; i++) {
    FNZI_VEC_FREE(own, &o->graphs.data[i].nodes);
    FNZI_VEC_FREE(own, &o->graphs.data[i].values);
  }
  FNZI_VEC_FREE(own, &o->graphs);
  FNZI_VEC_FREE(own, &o->records);
  FNZI_VEC_FREE(own, &o->texts);
  for (int kind = 0; kind < FNZI_EXTRA_KINDS; kind++)
    fnzi_map_free(&o->text_of[kind]);
  FNZI_VEC_FREE(own, &o->devices);
  fnzi_arena_free(&o->arena);
  fnzi_free(own, o, sizeof(shared));
  fnz_context_destroy(own);
}

/* --- filling it in ---------------------------------------------------------------------------- */
/* Only memory can run out in here. */
static fnz_status or_no_memory(fnz_context *ctx, fnz_status status) {
  return status == FNZ_OK ? FNZ_OK : fnzi_no_memory(ctx);
}

static fnz_status add_record(fnzi_extras *o, const char *name, fnzi_blob *blob, uint32_t crc) {
  fnzi_extras_record record = {NULL, blob, crc};
  FNZ_TRY(fnzi_arena_string(&o->arena, name, strlen(name), &record.name));
  FNZI_PUSH(o->own, &o->records, record);
  fnzi_blob_retain(blob);
  return FNZ_OK;
}

fnz_status fnzi_extras_add_record(fnz_context *ctx, fnzi_extras *o, const char *name,
                                  fnzi_blob *blob, uint32_t crc) {
  return or_no_memory(ctx, add_record(o, name, blob, crc));
}

static fnz_status add_text(fnzi_extras *o, fnzi_extras_kind kind, const char *key, const char *text,
                           size_t size) {
  fnzi_extras_text t = {.kind = kind};
  FNZ_TRY(fnzi_arena_string(&o->arena, key, strlen(key), &t.key));
  FNZ_TRY(fnzi_arena_string(&o->arena, text, size, &t.text));
  FNZI_PUSH(o->own, &o->texts, t);
  return fnzi_map_set(&o->text_of[kind], t.key, strlen(t.key), o->texts.count - 1);
}

fnz_status fnzi_extras_add_text(fnz_context *ctx, fnzi_extras *o, fnzi_extras_kind kind,
                                const char *key, const char *text, size_t size) {
  if (fnzi_extras_text_of(o, kind, key, strlen(key)))
    return FNZ_OK;
  return or_no_memory(ctx, add_text(o, kind, key, text, size));
}

static fnz_status graph_at(fnzi_extras *o, uint32_t graph, fnzi_extras_graph **out) {
  while (o->graphs.count <= graph)
    FNZI_PUSH(o->own, &o->graphs, ((fnzi_extras_graph){{NULL, 0, 0}, {NULL, 0, 0}}));
  *out = &o->graphs.data[graph];
  return FNZ_OK;
}

static fnz_status set_value(fnzi_extras *o, uint32_t graph, uint32_t value, const char *device,
                            bool requires_grad) {
  fnzi_extras_graph *g;
  fnzi_extras_value note = {0, requires_grad};
  FNZ_TRY(graph_at(o, graph, &g));
  size_t k = 0;
  while (k < o->devices.count && strcmp(o->devices.data[k], device) != 0)
    k++;
  if (k == o->devices.count && k <= UINT16_MAX) {
    const char *kept;
    FNZ_TRY(fnzi_arena_string(&o->arena, device, strlen(device), &kept));
    FNZI_PUSH(o->own, &o->devices, kept);
  }
  note.device = k <= UINT16_MAX ? (uint16_t)k : 0;
  while (g->values.count <= value)
    FNZI_PUSH(o->own, &g->values, ((fnzi_extras_value){0, false}));
  g->values.data[value] = note;
  return FNZ_OK;
}

fnz_status fnzi_extras_set_value(fnz_context *ctx, fnzi_extras *o, uint32_t graph, uint32_t value,
                                 const char *device, bool requires_grad) {
  return or_no_memory(ctx, set_value(o, graph, value, device, requires_grad));
}

static fnz_status add_node(fnzi_extras *o, uint32_t graph, const fnzi_extras_node *node) {
  fnzi_extras_graph *g;
  FNZ_TRY(graph_at(o, graph, &g));
  FNZI_PUSH(o->own, &g->nodes, *node);
  return FNZ_OK;
}

fnz_status fnzi_extras_add_node(fnz_context *ctx, fnzi_extras *o, uint32_t graph,
                                const fnzi_extras_node *node) {
  return or_no_memory(ctx, add_node(o, graph, node));
}

fnz_status fnzi_extras_keep(fnz_context *ctx, fnzi_extras *o, const char *text, size_t size,
                            const char **out) {
  return or_no_memory(ctx, fnzi_arena_string(&o->arena, text, size, out));
}

/* --- looking ---------------------------------------------------------------------------------- */
const char *fnzi_extras_text_of(const fnzi_extras *o, fnzi_extras_kind kind, const char *key,
                                size_t size) {
  uint64_t place;
  return o && fnzi_map_get(&o->text_of[kind], key, size, &place) ? o->texts.data[place].text : NULL;
}

const char *fnz_program_module_call_graph(const fnz_program *program) {
  static const char key[] = "module_call_graph";
  return fnzi_extras_text_of(program->extras, FNZI_EXTRA_MODULE, key, sizeof key - 1);
}

size_t fnzi_extras_node_count(const fnzi_extras *o, uint32_t graph) {
  return o && graph < o->graphs.count ? o->graphs.data[graph].nodes.count : 0;
}

static fnzi_extras_value metadata_value_of(const fnzi_extras *o, uint32_t graph, uint64_t value) {
  bool is_known = o && graph < o->graphs.count && value < o->graphs.data[graph].values.count;
  return is_known ? o->graphs.data[graph].values.data[value] : (fnzi_extras_value){0, false};
}

const char *fnzi_extras_device(const fnzi_extras *o, fnzi_extras_value value) {
  return o && value.device < o->devices.count ? o->devices.data[value.device] : "cpu";
}

/* The source node of a node, or the node itself if the program was not rewritten. */
static fnzi_source_node metadata_source_of(const fnz_program *p, uint32_t graph, uint32_t node) {
  const fnzi_source_node *source_nodes = fnzi_graph_at(p, graph)->source_nodes;
  if (!p->is_rewritten)
    return (fnzi_source_node){graph, node};
  return source_nodes ? source_nodes[node] : (fnzi_source_node){0, FNZI_NO_NODE};
}

const fnzi_extras_node *fnzi_extras_source_of(const fnz_program *p, uint32_t graph, uint32_t node) {
  fnzi_source_node from = metadata_source_of(p, graph, node);
  bool is_known = p->extras && from.graph < p->extras->graphs.count &&
                  from.node < p->extras->graphs.data[from.graph].nodes.count;
  return is_known ? &p->extras->graphs.data[from.graph].nodes.data[from.node] : NULL;
}

fnzi_extras_value fnzi_extras_note_of(const fnz_program *p, uint32_t graph, uint64_t value) {
  uint32_t node = fnzi_value_at(p, graph, value)->node;
  if (!p->is_rewritten || node == FNZI_NO_NODE)
    return metadata_value_of(p->extras, graph, value);
  const fnzi_extras_node *n = fnzi_extras_source_of(p, graph, node);
  return n ? metadata_value_of(p->extras, metadata_source_of(p, graph, node).graph, n->value)
           : (fnzi_extras_value){0, false};
}
