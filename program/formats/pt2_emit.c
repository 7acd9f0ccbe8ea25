/* pt2_emit.c - nodes that no file contains: they replace a wrapper, a vmap region or a prim.
 *
 * Needs: the tables of the graph, so that no new name is one that the file is going to define.
 * Gives: nodes with the source and the metadata of the node that they replace. */
#include "program/formats/pt2.h"

fnz_status fnzi_pt2_new_name(const fnzi_pt2_maker *m, const char *suffix, const char **out) {
  fnzi_pt2_scope *s = m->s;
  uint64_t unused;
  for (bool is_first = true;; is_first = false) {
    FNZ_TRY(fnzi_arena_format(s->r->arena, out, is_first ? "%s_%s" : "%s_%s_%u", m->stem, suffix,
                              s->fresh));
    size_t size = strlen(*out);
    s->fresh += !is_first;
    if (!fnzi_map_get(&s->tensors, *out, size, &unused) &&
        !fnzi_map_get(&s->symbols, *out, size, &unused) &&
        !fnzi_value_find(s->r->p, s->graph, *out, size, &unused))
      return FNZ_OK;
  }
}

uint32_t fnzi_pt2_next_node(const fnzi_pt2_maker *m) {
  return m->s->node = (uint32_t)fnzi_graph_at(m->s->r->p, m->s->graph)->nodes.count;
}

fnz_status fnzi_pt2_put_node(const fnzi_pt2_maker *m, const fnz_op *op, const fnz_arg *args,
                             size_t nargs, fnz_arg *outputs, size_t noutputs) {
  fnz_arg *all;
  fnzi_node node = *m->like;
  FNZI_NEW(m->s->r->arena, op->nparams, &all);
  if (nargs)
    memcpy(all, args, nargs * sizeof *all);
  node.op = op;
  node.u.metadata = fnzi_node_metadata(m->like);
  node.args = all;
  node.nargs = op->nparams;
  node.outputs = outputs;
  node.noutputs = (uint32_t)noutputs;
  fnz_status status = fnzi_node_add(m->s->r->p, m->s->graph, &node, &m->s->node);
  return fnzi_json_at(&m->s->r->doc, status, m->json);
}

fnz_status fnzi_pt2_make(const fnzi_pt2_maker *m, fnzi_pt2_call call, const fnzi_json *result,
                         fnz_arg *out) {
  fnz_program *p = m->s->r->p;
  const fnz_geometry *g;
  const char *fresh;
  fnz_arg made; /* `out` may be one of the arguments */
  uint32_t value, node = fnzi_pt2_next_node(m);
  if (result) {
    FNZ_TRY(fnzi_pt2_define_arg(m->s, result, &made));
  } else {
    FNZ_TRY(fnzi_pt2_new_name(m, call.suffix, &fresh));
    FNZ_TRY(fnzi_json_at(&m->s->r->doc, fnzi_intern_geometry(p, call.looks, &g), m->json));
    FNZ_TRY(fnzi_value_add(p, m->s->graph, fresh, g, node, &value));
    made = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = value};
  }
  if (made.tag != FNZ_ARG_VALUE)
    return fnzi_json_fail(&m->s->r->doc, FNZ_CLASS_TYPE, m->json,
                          "%s: the result `%s` is no tensor", m->stem, call.suffix);
  FNZ_TRY(fnzi_pt2_put_node(m, fnzi_ops_find(call.op), call.args, call.nargs, &made, 1));
  *out = made;
  return FNZ_OK;
}
