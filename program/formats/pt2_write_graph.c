/* pt2_write_graph.c - graphs: inputs, outputs, nodes, and the tables of their values.
 *
 * Graphs refer only to later ones, so they are written from the last to the first, each into a
 * buffer that the node which takes it finds ready. */
#include "program/formats/pt2_write.h"

#include <stdio.h>

/* --- inputs of a node ------------------------------------------------------------------------- */
/* Arguments are positional up to the first that is not given. */
static fnz_status put_op_inputs(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                const fnzi_node *n) {
  bool positional = true;
  for (uint32_t i = 0; i < n->nargs; i++) {
    const fnzi_param *param = &n->op->params[i];
    positional = positional && !param->keyword_only && n->args[i].tag != FNZ_ARG_DEFAULT;
    const fnzi_pt2_input in = {param->name, n->args[i], param,
                               positional ? FNZI_PT2_POSITIONAL : FNZI_PT2_KEYWORD};
    if (n->args[i].tag != FNZ_ARG_DEFAULT)
      FNZ_TRY(fnzi_pt2_put_input(o, w, graph, &in));
  }
  return FNZ_OK;
}

static bool is_higher_order(const fnzi_node *n) {
  return strncmp(fnzi_node_target(n), "higher_order.", strlen("higher_order.")) == 0;
}

/* Keywords of higher-order operators; functions on numbers take their arguments in order. */
static fnz_status put_other_inputs(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                   const fnzi_node *n) {
  for (uint32_t i = 0; i < n->nargs; i++) {
    const char *name = fnzi_node_arg_name(n, i);
    bool by_name = *name && is_higher_order(n);
    const fnzi_pt2_input in = {name, n->args[i], NULL,
                               by_name ? FNZI_PT2_KEYWORD : FNZI_PT2_POSITIONAL};
    FNZ_TRY(fnzi_pt2_put_input(o, w, graph, &in));
  }
  return FNZ_OK;
}

/* --- results ---------------------------------------------------------------------------------- */

/* A node whose region returns one bare tensor does the same; without regions only the file has this
 * information. */
fnzi_extras_single fnzi_pt2_single(const fnzi_pt2_out *o, uint32_t graph, uint32_t node) {
  const fnzi_node *n = fnzi_node_at(o->p, graph, node);
  const fnzi_extras_node *known = fnzi_extras_source_of(o->p, graph, node);
  if (fnzi_pt2_wrapped(n->op))
    return FNZI_SINGLE_TUPLE;
  if (!is_higher_order(n))
    return FNZI_SINGLE_NONE;
  if (n->noutputs != 1)
    return FNZI_SINGLE_TUPLE;
  for (uint32_t i = 0; i < n->nargs; i++)
    if (n->args[i].tag == FNZ_ARG_GRAPH)
      return fnzi_graph_at(o->p, (uint32_t)n->args[i].u.i)->returns_single ? FNZI_SINGLE_BARE
                                                                           : FNZI_SINGLE_TUPLE;
  return known && known->single == FNZI_SINGLE_TUPLE ? FNZI_SINGLE_TUPLE : FNZI_SINGLE_BARE;
}

/* --- metadata --------------------------------------------------------------------------------- */
static fnz_status put_metadata(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph, uint32_t node,
                               const fnzi_node *n) {
  const char *rest = fnzi_node_all_metadata(o->p, graph, node);
  FNZ_TRY(fnzi_json_open_as(w, "metadata", '{'));
  if (*n->source)
    FNZ_TRY(fnzi_json_out_text(w, "stack_trace", n->source));
  if (rest && fnzi_node_metadata(n) && !o->x) {
    /* The loader requires an object of strings; metadata from the text form may be anything. */
    fnzi_json_doc doc;
    FNZ_TRY(fnzi_json_parse(&o->arena, "metadata", rest, strlen(rest), &doc));
    FNZ_TRY(fnzi_json_expect(&doc, doc.root, FNZI_JSON_OBJECT));
    for (const fnzi_json *m = doc.root->u.first; m; m = m->next)
      FNZ_TRY(fnzi_json_expect(&doc, m, FNZI_JSON_STRING));
  }
  /* The members of an object, without its braces. */
  if (rest && strlen(rest) > 2)
    FNZ_TRY(fnzi_json_out_raw(w, rest + 1, strlen(rest) - 2));
  return fnzi_json_close(w, '}');
}

/* --- nodes ------------------------------------------------------------------------------------ */
static fnz_status put_parts(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph, uint32_t node) {
  const fnzi_node *n = fnzi_node_at(o->p, graph, node);
  FNZ_TRY(fnzi_json_open(w, '{'));
  const char *wrapper = fnzi_pt2_wrapper_of(n->op);
  FNZ_TRY(fnzi_json_key(w, "target"));
  if (n->op && !wrapper)
    FNZ_TRY(fnzi_pt2_put_operator(o, w, n->op->name));
  else {
    o->text.size = 0;
    FNZ_TRY(fnzi_printf(o->ctx, &o->text, "%s%s", wrapper || is_higher_order(n) ? "torch.ops." : "",
                        wrapper ? wrapper : fnzi_node_target(n)));
    FNZ_TRY(fnzi_json_out_string(w, o->text.data, o->text.size));
  }
  FNZ_TRY(fnzi_pt2_check_wrapped(o, n->op));
  FNZ_TRY(fnzi_json_open_as(w, "inputs", '['));
  FNZ_TRY(fnzi_pt2_wrapped(n->op) ? fnzi_pt2_put_wrapped_inputs(o, w, graph, n)
          : n->op                 ? put_op_inputs(o, w, graph, n)
                                  : put_other_inputs(o, w, graph, n));
  FNZ_TRY(fnzi_json_close(w, ']'));
  FNZ_TRY(fnzi_json_open_as(w, "outputs", '['));
  if (fnzi_pt2_wrapped(n->op))
    FNZ_TRY(fnzi_pt2_put_wrapped_results(o, w, graph, n));
  for (uint32_t i = 0; i < n->noutputs && !fnzi_pt2_wrapped(n->op); i++)
    FNZ_TRY(fnzi_pt2_put_result(o, w, graph, &n->outputs[i]));
  FNZ_TRY(fnzi_json_close(w, ']'));
  FNZ_TRY(put_metadata(o, w, graph, node, n));
  if (o->fields & FNZI_SCHEMA_HOP_RETURN) {
    fnzi_extras_single single = fnzi_pt2_single(o, graph, node);
    FNZ_TRY(fnzi_json_key(w, "is_hop_single_tensor_return"));
    FNZ_TRY(single == FNZI_SINGLE_NONE ? fnzi_json_out_null(w)
                                       : fnzi_json_out_bool(w, single == FNZI_SINGLE_BARE));
  }
  const char *own = o->names[graph].nodes[node];
  if (o->fields & FNZI_SCHEMA_NODE_NAME)
    FNZ_TRY(
        fnzi_json_out_text(w, "name", own ? own : fnzi_pt2_name(o, graph, n->outputs[0].u.value)));
  return fnzi_json_close(w, '}');
}

/* A clone of a value that is two outputs at once, or an input that another output writes. */
static fnz_status put_clone(fnzi_pt2_out *o, fnzi_json_out *w, size_t k) {
  const fnzi_pt2_input from = {
      "self", {.tag = FNZ_ARG_VALUE, .u.value = o->copied[k]}, NULL, FNZI_PT2_POSITIONAL};
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_out_text(w, "target", "torch.ops.aten.clone.default"));
  FNZ_TRY(fnzi_json_open_as(w, "inputs", '['));
  FNZ_TRY(fnzi_pt2_put_input(o, w, 0, &from));
  FNZ_TRY(fnzi_json_close(w, ']'));
  FNZ_TRY(fnzi_json_open_as(w, "outputs", '['));
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_key(w, "as_tensor"));
  FNZ_TRY(fnzi_pt2_put_tensor(w, o->clones[k]));
  FNZ_TRY(fnzi_json_close(w, '}'));
  FNZ_TRY(fnzi_json_close(w, ']'));
  FNZ_TRY(fnzi_json_key(w, "metadata"));
  FNZ_TRY(fnzi_json_out_raw(w, "{}", 2));
  if (o->fields & FNZI_SCHEMA_HOP_RETURN) {
    FNZ_TRY(fnzi_json_key(w, "is_hop_single_tensor_return"));
    FNZ_TRY(fnzi_json_out_null(w));
  }
  if (o->fields & FNZI_SCHEMA_NODE_NAME)
    FNZ_TRY(fnzi_json_out_text(w, "name", o->clones[k]));
  return fnzi_json_close(w, '}');
}

/* --- graphs ----------------------------------------------------------------------------------- */
static fnz_status put_args(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph, const char *key,
                           const fnz_arg *args, uint32_t count) {
  FNZ_TRY(fnzi_json_open_as(w, key, '['));
  for (uint32_t i = 0; i < count; i++)
    if (graph != 0 || !fnzi_pt2_is_left_out(o, &args[i]))
      FNZ_TRY(fnzi_pt2_put_arg(o, w, graph, &args[i], NULL));
  return fnzi_json_close(w, ']');
}

/* Outputs of graph 0 may be clones that no node of the program makes. */
static fnz_status graph_put_results(fnzi_pt2_out *o, fnzi_json_out *w) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  FNZ_TRY(fnzi_json_open_as(w, "outputs", '['));
  for (uint32_t i = 0; i < g->noutputs; i++) {
    if (g->outputs[i].tag != FNZ_ARG_VALUE) {
      FNZ_TRY(fnzi_pt2_put_arg(o, w, 0, &g->outputs[i], NULL));
      continue;
    }
    FNZ_TRY(fnzi_json_open(w, '{'));
    FNZ_TRY(fnzi_json_key(w, "as_tensor"));
    FNZ_TRY(fnzi_pt2_put_tensor(w, o->outputs[i]));
    FNZ_TRY(fnzi_json_close(w, '}'));
  }
  return fnzi_json_close(w, ']');
}

fnz_status fnzi_pt2_put_graph(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(o->p, graph);
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(put_args(o, w, graph, "inputs", g->inputs, g->ninputs));
  FNZ_TRY(graph ? put_args(o, w, graph, "outputs", g->outputs, g->noutputs)
                : graph_put_results(o, w));
  FNZ_TRY(fnzi_json_open_as(w, "nodes", '['));
  for (uint32_t i = 0; i < g->nodes.count; i++) {
    char place[160];
    fnz_status status = put_parts(o, w, graph, i);
    if (w->out->size > o->ctx->limits.program_bytes)
      status =
          fnzi_fail(o->ctx, FNZ_CLASS_LIMIT, NULL, "the model takes more than %zu bytes of JSON",
                    o->ctx->limits.program_bytes);
    if (status != FNZ_OK) {
      fnzi_node_place(o->p, graph, i, place);
      FNZ_TRY(fnzi_pt2_go_on(o, fnzi_at(o->ctx, status, "%s", place), graph, i));
    }
  }
  for (size_t i = 0; graph == 0 && i < o->nclones; i++)
    FNZ_TRY(put_clone(o, w, i));
  FNZ_TRY(fnzi_json_close(w, ']'));
  FNZ_TRY(fnzi_pt2_put_tables(o, w, graph));
  return fnzi_json_close(w, '}');
}
