/* pt2_graph.c - graphs and their nodes.
 *
 * Needs: the tables of a graph before its nodes, since nodes name values only.
 * Keeps: execution order; a name is known only after what defines it, so a use before its
 * definition is found here. Bodies of higher-order operators wait in a list, however deep they are
 * nested. */
#include "program/formats/pt2.h"
#include "base/json.h"
#include "program/prims.h"

/* --- metadata --------------------------------------------------------------------------------- */
/* The stack trace becomes the source, all other entries one JSON text. */
static fnz_status read_metadata(fnzi_pt2 *r, const fnzi_json *node, fnzi_node *out,
                                fnzi_node_other *other) {
  const fnzi_json *metadata = fnzi_json_find(node, "metadata");
  const char *trace = "";
  if (!metadata)
    return FNZ_OK;
  FNZ_TRY(fnzi_json_expect(&r->doc, metadata, FNZI_JSON_OBJECT));
  r->text.size = 0;
  for (const fnzi_json *m = metadata->u.first; m; m = m->next) {
    if (strcmp(m->key, "stack_trace") == 0)
      FNZ_TRY(fnzi_json_text(&r->doc, m, &trace));
    else {
      fnz_context *ctx = r->doc.ctx;
      FNZ_TRY(fnzi_json_expect(&r->doc, m, FNZI_JSON_STRING));
      FNZ_TRY(fnzi_put_text(ctx, &r->text, r->text.size ? ", " : "{"));
      FNZ_TRY(fnzi_json_put_string(ctx, &r->text, m->key, m->key_size));
      FNZ_TRY(fnzi_put_text(ctx, &r->text, ": "));
      FNZ_TRY(fnzi_json_put_string(ctx, &r->text, m->u.s, m->count));
    }
  }
  size_t size = strlen(trace), place = size % FNZI_PT2_TRACES;
  const char *kept = r->traces[place].text;
  fnz_status status;
  if (!kept || r->traces[place].size != size || memcmp(kept, trace, size) != 0) {
    status = fnzi_intern(r->p, trace, size, &kept);
    FNZ_TRY(fnzi_json_at(&r->doc, status, metadata));
    r->traces[place].text = kept;
    r->traces[place].size = size;
  }
  out->source = kept;
  if (!r->text.size)
    return FNZ_OK;
  FNZ_TRY(fnzi_put_text(r->doc.ctx, &r->text, "}"));
  status = fnzi_intern(r->p, r->text.data, r->text.size, &other->metadata);
  return fnzi_json_at(&r->doc, status, metadata);
}

/* --- targets ---------------------------------------------------------------------------------- */
/* `at` is the node's target, and `near` says which operators are called about the same. */
static fnz_status refuse_custom(fnzi_pt2 *r, const fnzi_json *at, const char *name,
                                const char *near) {
  r->text.size = 0;
  /* "Tensor x, int[] k, *, float eps" as far as the node shows it. */
  const fnzi_json *inputs = fnzi_json_first_item(at->parent, "inputs"), *kind;
  bool keyword_only = false;
  for (const fnzi_json *input = inputs; input; input = input->next) {
    const char *given = "";
    bool is_first = input == inputs;
    FNZ_TRY(fnzi_json_need_text(&r->doc, input, "name", &given));
    kind = fnzi_json_find(input, "kind");
    bool starts = !keyword_only && kind && kind->kind == FNZI_JSON_INT && kind->u.i == 2;
    keyword_only = keyword_only || starts;
    FNZ_TRY(fnzi_printf(r->doc.ctx, &r->text, "%s%s%s %s", is_first ? "" : ", ",
                        starts ? "*, " : "", fnzi_pt2_type_of(fnzi_json_find(input, "arg")),
                        given));
  }
  const fnzi_json *first = fnzi_json_first_item(at->parent, "outputs");
  bool is_one = first && !first->next;
  FNZ_TRY(fnzi_put_text(r->doc.ctx, &r->text, is_one ? ") -> " : ") -> ("));
  for (const fnzi_json *out = first; out; out = out->next)
    FNZ_TRY(
        fnzi_printf(r->doc.ctx, &r->text, "%s%s", fnzi_pt2_type_of(out), out->next ? ", " : ""));
  FNZ_TRY(fnzi_put_text(r->doc.ctx, &r->text, is_one ? "" : ")"));
  return fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, at,
                        "operator %s is not in the ATen table%s declare it with --ops, as in "
                        "'%s(%.300s' with (a!) behind each Tensor that it writes",
                        name, *near ? near : ";", name, r->text.data);
}

static fnz_status read_target(fnzi_pt2 *r, const fnzi_json *node, fnzi_node *out,
                              fnzi_node_other *other) {
  static const char higher_order[] = "torch.ops.higher_order.";
  const fnzi_json *at;
  const char *target = "";
  FNZ_TRY(fnzi_json_need(&r->doc, node, "target", FNZI_JSON_STRING, &at));
  FNZ_TRY(fnzi_json_text(&r->doc, at, &target));
  /* Arithmetic on symbolic numbers; these are Python's functions, but harmless and few. */
  bool is_arithmetic =
      fnzi_starts_with(target, "_operator.") || fnzi_starts_with(target, "math.") ||
      fnzi_starts_with(target, "torch.sym_") || fnzi_starts_with(target, "torch._sym_");
  bool is_higher = fnzi_starts_with(target, higher_order);
  target += is_higher ? strlen("torch.ops.") : 0;
  if (is_higher || is_arithmetic || fnzi_batch_is_mark(target))
    return fnzi_intern(r->p, target, strlen(target), &other->target);
  const char *name = NULL;
  FNZ_TRY(fnzi_pt2_op_name(r, target, &name));
  if (!name)
    return fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, at,
                          "%s is a Python function and no operator; export the program without it",
                          target);
  FNZ_TRY(fnzi_op_use(r->p, name, &out->op));
  if (out->op)
    return FNZ_OK;
  fnz_buffer near = {NULL, 0, 0};
  if (fnzi_builtin_remedy(name))
    return fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, at, "%s %s", name,
                          fnzi_builtin_remedy(name));
  fnz_status status = fnzi_op_put_near(r->p, name, &near);
  const char *names = near.size ? near.data : "";
  if (status == FNZ_OK && strstr(name, "::"))
    status = refuse_custom(r, at, name, names);
  else if (status == FNZ_OK)
    status = fnzi_json_fail(&r->doc, FNZ_CLASS_UNSUPPORTED, at,
                            "operator aten::%s is not in the table of this release; export the "
                            "program with decompositions%s",
                            name, names);
  fnz_buffer_free(r->doc.ctx, &near);
  return status;
}

/* --- arguments --------------------------------------------------------------------------- */
static fnz_status read_args(fnzi_pt2_scope *s, const fnzi_json *inputs, fnz_arg *args) {
  size_t next = 0;
  for (const fnzi_json *input = inputs->u.first; input; input = input->next) {
    const fnzi_json *arg;
    size_t place = next++;
    if (s->op) {
      const char *name = "";
      FNZ_TRY(fnzi_json_need_text(&s->r->doc, input, "name", &name));
      int index = fnzi_op_param(s->op, name);
      if (index < 0)
        return fnzi_json_fail(&s->r->doc, FNZ_CLASS_TYPE, input,
                              "operator %s has no argument \"%s\"; its schema is %s",
                              fnz_op_name(s->op), name, fnz_op_schema(s->op));
      if (args[index].tag != FNZ_ARG_DEFAULT)
        return fnzi_json_fail(&s->r->doc, FNZ_CLASS_DUPLICATE, input,
                              "operator %s is given the argument \"%s\" twice", fnz_op_name(s->op),
                              name);
      place = (size_t)index;
    }
    FNZ_TRY(fnzi_json_need(&s->r->doc, input, "arg", FNZI_JSON_OBJECT, &arg));
    FNZ_TRY(fnzi_pt2_read_arg(s, arg, &args[place]));
  }
  if (!s->op)
    return FNZ_OK;
  for (uint32_t i = 0; i < s->op->nparams; i++)
    if (args[i].tag == FNZ_ARG_DEFAULT && !s->op->params[i].has_default)
      return fnzi_json_fail(&s->r->doc, FNZ_CLASS_TYPE, inputs,
                            "operator %s needs the argument \"%s\"", fnz_op_name(s->op),
                            s->op->params[i].name);
  return FNZ_OK;
}

/* Keywords of the arguments of a higher-order operator, "" for those by position. */
static fnz_status graph_read_names(fnzi_pt2 *r, const fnzi_json *inputs, fnzi_node_other *out) {
  const char **names;
  size_t n = 0;
  FNZI_NEW(r->arena, inputs->count, &names);
  for (const fnzi_json *input = inputs->u.first; input; input = input->next) {
    const char *name = "";
    FNZ_TRY(fnzi_json_need_text(&r->doc, input, "name", &name));
    FNZ_TRY(fnzi_intern(r->p, name, strlen(name), &names[n++]));
  }
  out->arg_names = names;
  return FNZ_OK;
}

static fnz_status define_outputs(fnzi_pt2_scope *s, const fnzi_json *outputs, fnz_arg *out) {
  for (const fnzi_json *output = outputs->u.first; output; output = output->next)
    FNZ_TRY(fnzi_pt2_define_arg(s, output, out++));
  return FNZ_OK;
}

/* --- nodes ------------------------------------------------------------------------------- */
static fnz_status check_counts(fnzi_pt2 *r, const fnzi_json *inputs, const fnzi_json *outputs) {
  const fnzi_json *most = inputs->count > outputs->count ? inputs : outputs;
  if (most->count <= r->doc.ctx->limits.args)
    return FNZ_OK;
  return fnzi_json_fail(&r->doc, FNZ_CLASS_LIMIT, most, "%u of them; at most %zu are allowed",
                        most->count, r->doc.ctx->limits.args);
}

static fnz_status read_vmap_node(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_json *inputs,
                                 const fnzi_json *outputs, const fnzi_node *node) {
  fnz_arg *args;
  FNZI_NEW(s->r->arena, node->op->nparams, &args);
  s->op = node->op;
  FNZ_TRY(read_args(s, inputs, args));
  return fnzi_pt2_vmap_node(s, json, outputs, node, args);
}

static fnz_status graph_name_between(void *user, const char *suffix, const char **out) {
  return fnzi_pt2_new_name(user, suffix, out);
}

/* A node of an operator that becomes others. */
static fnz_status read_prim(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_json *inputs,
                            const fnzi_json *outputs, fnzi_node *node) {
  fnzi_pt2_maker maker = {.s = s, .json = json, .like = node, .stem = node->op->base};
  const fnzi_prim_call call = {s->r->p, s->r->arena, s->graph, node, &maker, graph_name_between};
  node->nargs = node->op->nparams;
  node->noutputs = outputs->count;
  FNZI_NEW(s->r->arena, node->nargs, &node->args);
  FNZI_NEW(s->r->arena, node->noutputs, &node->outputs);
  s->op = node->op;
  FNZ_TRY(read_args(s, inputs, node->args));
  fnzi_pt2_next_node(&maker);
  FNZ_TRY(define_outputs(s, outputs, node->outputs));
  return fnzi_json_at(&s->r->doc, fnzi_prim_read(&call), json);
}

static fnz_status graph_read_node(fnzi_pt2_scope *s, const fnzi_json *json) {
  fnzi_pt2 *r = s->r;
  fnzi_node node = {0};
  fnzi_node_other other = {0};
  const fnzi_json *inputs, *outputs;
  FNZ_TRY(read_target(r, json, &node, &other));
  FNZ_TRY(fnzi_json_need(&r->doc, json, "inputs", FNZI_JSON_ARRAY, &inputs));
  FNZ_TRY(fnzi_json_need(&r->doc, json, "outputs", FNZI_JSON_ARRAY, &outputs));
  FNZ_TRY(check_counts(r, inputs, outputs));
  /* The result is a scalar that was known while tracing, so no node uses it. */
  if (node.op && outputs->count == 1 && fnzi_json_find(outputs->u.first, "as_none") != NULL &&
      fnzi_builtin_is_asked(node.op->name))
    return FNZ_OK;
  FNZ_TRY(read_metadata(r, json, &node, &other));
  fnzi_node_set(&node, &other);
  s->reading = &node;
  if (!node.op && fnzi_pt2_is_wrapper(fnzi_node_target(&node)))
    return fnzi_pt2_read_wrapper(s, json, inputs, outputs, &node);
  if (!node.op && fnzi_batch_is_mark(fnzi_node_target(&node)))
    return fnzi_pt2_vmap_mark(s, json, inputs, outputs, &node);
  if (node.op && s->batch.nlevels)
    return read_vmap_node(s, json, inputs, outputs, &node);
  if (node.op && fnzi_builtin_prim(node.op))
    return read_prim(s, json, inputs, outputs, &node);
  if (!node.op)
    FNZ_TRY(graph_read_names(r, inputs, &other));
  node.nargs = node.op ? node.op->nparams : inputs->count;
  /* The operator returns None. Its schema calls that "NoneType", which is no result here. */
  bool has_results = !node.op || node.op->nreturns || outputs->count != 1 ||
                     fnzi_json_find(outputs->u.first, "as_none") == NULL;
  node.noutputs = has_results ? outputs->count : 0;
  FNZ_TRY(fnzi_json_at(&r->doc, fnzi_node_add(r->p, s->graph, &node, &s->node), json));
  s->op = node.op;
  const fnzi_node *added = fnzi_node_at(r->p, s->graph, s->node);
  fnz_arg *args = added->args, *results = added->outputs;
  FNZ_TRY(read_args(s, inputs, args));
  if (s->batch.nlevels)
    FNZ_TRY(fnzi_pt2_vmap_none(s, json, &node, args, inputs->count));
  return has_results ? define_outputs(s, outputs, results) : FNZ_OK;
}

/* --- graphs ------------------------------------------------------------------------------ */

/* `signature` NULL for the body of a higher-order operator. */
static fnz_status graph_read_graph(fnzi_pt2_scope *s, const fnzi_json *graph,
                                   const fnzi_json *signature) {
  const fnzi_json_doc *doc = &s->r->doc;
  const fnzi_json *inputs, *outputs, *nodes, *in_specs = NULL, *out_specs = NULL;
  FNZ_TRY(fnzi_json_need(doc, graph, "inputs", FNZI_JSON_ARRAY, &inputs));
  FNZ_TRY(fnzi_json_need(doc, graph, "outputs", FNZI_JSON_ARRAY, &outputs));
  FNZ_TRY(fnzi_pt2_tables(s, graph));
  if (signature) {
    FNZ_TRY(fnzi_json_need(doc, signature, "input_specs", FNZI_JSON_ARRAY, &in_specs));
    FNZ_TRY(fnzi_json_need(doc, signature, "output_specs", FNZI_JSON_ARRAY, &out_specs));
  }
  if (in_specs)
    FNZ_TRY(fnzi_pt2_inputs(s, inputs, in_specs));
  else {
    FNZ_TRY(fnzi_graph_set_inputs(s->r->p, s->graph, inputs->count));
    FNZ_TRY(define_outputs(s, inputs, fnzi_graph_at(s->r->p, s->graph)->inputs));
  }
  FNZ_TRY(fnzi_json_need(doc, graph, "nodes", FNZI_JSON_ARRAY, &nodes));
  if (nodes->count > doc->ctx->limits.nodes)
    return fnzi_json_fail(doc, FNZ_CLASS_LIMIT, nodes, "%u nodes; at most %zu are allowed",
                          nodes->count, doc->ctx->limits.nodes);
  for (const fnzi_json *node = nodes->u.first; node; node = node->next) {
    FNZ_TRY(graph_read_node(s, node));
    s->reading = NULL;
    FNZ_TRY(fnzi_pt2_keep_nodes(s, node));
  }
  if (out_specs)
    FNZ_TRY(fnzi_pt2_outputs(s, outputs, out_specs));
  else {
    FNZ_TRY(fnzi_graph_set_outputs(s->r->p, s->graph, outputs->count));
    fnz_arg *out = fnzi_graph_at(s->r->p, s->graph)->outputs;
    for (const fnzi_json *output = outputs->u.first; output; output = output->next)
      FNZ_TRY(fnzi_pt2_read_arg(s, output, out++));
  }
  return fnzi_json_flag(doc, graph, "is_single_tensor_return", false,
                        &fnzi_graph_at(s->r->p, s->graph)->returns_single);
}

fnz_status fnzi_pt2_graphs(fnzi_pt2 *r, const fnzi_json *module) {
  const fnzi_json *graph, *signature;
  uint32_t root;
  FNZ_TRY(fnzi_json_need(&r->doc, module, "graph", FNZI_JSON_OBJECT, &graph));
  FNZ_TRY(fnzi_json_need(&r->doc, module, "signature", FNZI_JSON_OBJECT, &signature));
  FNZ_TRY(fnzi_graph_add(r->p, "", &root));
  FNZI_PUSH(r->doc.ctx, &r->bodies, graph);
  for (uint32_t i = 0; i < r->bodies.count; i++) {
    fnzi_pt2_scope s = {.r = r,
                        .graph = i,
                        .node = FNZI_NO_NODE,
                        .batch = {.p = r->p, .arena = r->arena, .graph = i}};
    fnzi_map_init(&s.tensors, r->doc.ctx);
    fnzi_map_init(&s.symbols, r->doc.ctx);
    fnz_status status = graph_read_graph(&s, r->bodies.data[i], i == 0 ? signature : NULL);
    fnzi_map_free(&s.tensors);
    fnzi_map_free(&s.symbols);
    fnzi_batch_end(&s.batch);
    FNZ_TRY(status);
  }
  return fnzi_pt2_read_pairs(r, module);
}
