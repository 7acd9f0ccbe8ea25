/* pt2_extras.c - what the reader keeps of a .pt2 file for a writer only: records of the archive,
 * members of the model that are not looked into, metadata of nodes, devices and gradients. */
#include "program/formats/json_out.h"
#include "program/formats/pt2.h"

/* --- members ---------------------------------------------------------------------------------- */
/* Keeps all members of an object as JSON, except the ones in `read`. */
static fnz_status keep_others(fnzi_pt2 *r, const fnzi_json *object, fnzi_extras_kind kind,
                              const char *const *read) {
  for (const fnzi_json *m = object->u.first; m; m = m->next) {
    fnzi_json_out w = {.ctx = r->doc.ctx, .out = &r->text};
    const char *const *names = read;
    bool is_one_of = false;
    for (; *names && !is_one_of; names++)
      is_one_of = strcmp(m->key, *names) == 0;
    if (is_one_of)
      continue;
    r->text.size = 0;
    FNZ_TRY(fnzi_json_out_tree(&w, m));
    FNZ_TRY(
        fnzi_extras_add_text(r->doc.ctx, r->p->extras, kind, m->key, r->text.data, r->text.size));
  }
  return FNZ_OK;
}

static bool has_key(const fnzi_json *object, const char *key) {
  const fnzi_json *m = object && object->kind == FNZI_JSON_OBJECT ? object->u.first : NULL;
  while (m && strcmp(m->key, key) != 0)
    m = m->next;
  return m != NULL;
}

fnz_status fnzi_pt2_keep_members(fnzi_pt2 *r, const fnzi_json *module) {
  static const char *const of_program[] = {"graph_module", "range_constraints", "schema_version",
                                           "torch_version", NULL};
  static const char *const of_module[] = {"graph", "signature", NULL};
  r->p->extras->is_archive = r->model != NULL;
  /* The fields of the file decide, not its version: versions between releases had other fields. A
   * graph without nodes shows nothing. */
  enum { KIND_SINCE = 5, RETURN_SINCE = 6, NAME_SINCE = 15, MUTATION_SINCE = 14 };
  const fnzi_json *graph = fnzi_json_find(module, "graph"),
                  *node = fnzi_json_first_item(graph, "nodes");
  int minor = r->p->schema_minor;
  unsigned fields = 0;
  if (node ? has_key(node, "name") : minor >= NAME_SINCE)
    fields |= FNZI_SCHEMA_NODE_NAME;
  if (node ? has_key(node, "is_hop_single_tensor_return") : minor >= RETURN_SINCE)
    fields |= FNZI_SCHEMA_HOP_RETURN;
  while (node && !fnzi_json_first_item(node, "inputs"))
    node = node->next;
  if (node ? has_key(fnzi_json_first_item(node, "inputs"), "kind") : minor >= KIND_SINCE)
    fields |= FNZI_SCHEMA_ARG_KIND;
  if (has_key(graph, "custom_obj_values"))
    fields |= FNZI_SCHEMA_OBJECTS;
  if (has_key(graph, "sym_float_values"))
    fields |= FNZI_SCHEMA_SYM_FLOATS;
  if (minor >= MUTATION_SINCE)
    fields |= FNZI_SCHEMA_PARAMETERS;
  r->p->extras->fields = fields;
  FNZ_TRY(keep_others(r, r->doc.root, FNZI_EXTRA_PROGRAM, of_program));
  return keep_others(r, module, FNZI_EXTRA_MODULE, of_module);
}

/* --- values and nodes ------------------------------------------------------------------------- */
fnz_status fnzi_pt2_keep_value(fnzi_pt2_scope *s, uint32_t value, const fnzi_json *meta) {
  fnzi_pt2 *r = s->r;
  const fnzi_json *device = fnzi_json_find(meta, "device"), *index = NULL;
  const char *type = "cpu";
  bool requires_grad = false;
  int64_t number = 0;
  if (device) {
    FNZ_TRY(fnzi_json_need_text(&r->doc, device, "type", &type));
    index = fnzi_json_find(device, "index");
  }
  if (index) {
    FNZ_TRY(fnzi_json_int(&r->doc, index, &number));
    r->text.size = 0;
    FNZ_TRY(fnzi_printf(r->doc.ctx, &r->text, "%s:%lld", type, (long long)number));
    type = r->text.data;
  }
  FNZ_TRY(fnzi_json_flag(&r->doc, meta, "requires_grad", false, &requires_grad));
  return fnzi_extras_set_value(r->doc.ctx, r->p->extras, s->graph, value, type, requires_grad);
}

fnz_status fnzi_pt2_keep_nodes(fnzi_pt2_scope *s, const fnzi_json *node) {
  fnz_program *p = s->r->p;
  fnz_context *ctx = s->r->doc.ctx;
  const fnzi_graph *g = fnzi_graph_at(p, s->graph);
  size_t done = fnzi_extras_node_count(p->extras, s->graph);
  fnzi_extras_node note = {NULL, 0, FNZI_SINGLE_NONE};
  const char *metadata = done < g->nodes.count ? fnzi_node_metadata(&g->nodes.data[done]) : NULL;
  const fnzi_json *single = fnzi_json_find(node, "is_hop_single_tensor_return");
  note.single = FNZI_SINGLE_NONE;
  if (single) {
    FNZ_TRY(fnzi_json_expect(&s->r->doc, single, FNZI_JSON_BOOL));
    note.single = single->u.i ? FNZI_SINGLE_BARE : FNZI_SINGLE_TUPLE;
  }
  if (metadata)
    FNZ_TRY(fnzi_extras_keep(ctx, p->extras, metadata, strlen(metadata), &note.metadata));
  for (size_t i = done; i < g->nodes.count; i++) {
    const fnzi_node *n = &g->nodes.data[i];
    note.value = UINT32_MAX; /* the first tensor that it gives */
    FNZI_EACH_ARG(each, n->outputs, n->noutputs)
      if (each.arg->tag == FNZ_ARG_VALUE && note.value == UINT32_MAX)
        note.value = (uint32_t)each.arg->u.value;
    FNZ_TRY(fnzi_extras_add_node(ctx, p->extras, s->graph, &note));
  }
  return FNZ_OK;
}

fnz_status fnzi_pt2_keep_objects(fnzi_pt2_scope *s) {
  fnzi_pt2 *r = s->r;
  if (!s->objects)
    return FNZ_OK;
  FNZ_TRY(fnzi_json_expect(&r->doc, s->objects, FNZI_JSON_OBJECT));
  for (const fnzi_json *m = s->objects->u.first; m; m = m->next) {
    const char *name = "";
    FNZ_TRY(fnzi_json_need_text(&r->doc, m, "class_fqn", &name));
    FNZ_TRY(fnzi_extras_add_text(r->doc.ctx, r->p->extras, FNZI_EXTRA_OBJECT, m->key, name,
                                 strlen(name)));
  }
  return FNZ_OK;
}
