/* pt2_vmap.c - nodes of torch.vmap regions: they are read here, and program/batching rewrites them.
 *
 * Needs: the tables of the graph, as every node.
 * Gives: failures the place of the node in the file. */
#include "program/formats/pt2.h"

/* The node of the file that is rewritten. */
typedef struct rewrite {
  fnzi_pt2_maker make;
  const fnzi_json *outputs;
} rewrite;

static fnz_status vmap_define(void *user, fnz_arg **results, size_t *count) {
  const rewrite *w = user;
  fnz_arg *next;
  *count = w->outputs->count;
  FNZI_NEW(w->make.s->r->arena, *count, results);
  next = *results;
  fnzi_pt2_next_node(&w->make);
  for (const fnzi_json *o = w->outputs->u.first; o; o = o->next)
    FNZ_TRY(fnzi_pt2_define_arg(w->make.s, o, next++));
  return FNZ_OK;
}

static fnz_status vmap_add(void *user, const fnz_op *op, const fnz_arg *args, size_t nargs,
                           fnz_arg *results, size_t count) {
  const rewrite *w = user;
  return fnzi_pt2_put_node(&w->make, op, args, nargs, results, count);
}

static fnz_status make(void *user, const char *op, const fnz_arg *args, size_t nargs,
                       const fnz_geometry *g, fnz_arg *out) {
  const rewrite *w = user;
  return fnzi_pt2_make(&w->make, (fnzi_pt2_call){op, args, nargs, g, "batch"}, NULL, out);
}

fnz_status fnzi_pt2_vmap_mark(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_json *inputs,
                              const fnzi_json *outputs, const fnzi_node *node) {
  rewrite w = {.make = {.s = s, .json = json, .like = node, .stem = "vmap"}, .outputs = outputs};
  const fnzi_batch_maker maker = {&w, vmap_define, vmap_add, make};
  const char *target = fnzi_node_target(node);
  fnz_arg *args;
  fnz_status status = fnzi_batch_check_mark(&s->batch, target, inputs->count);
  FNZ_TRY(fnzi_json_at(&s->r->doc, status, json));
  FNZI_NEW(s->r->arena, inputs->count, &args);
  fnz_arg *next = args;
  /* All are by position. */
  const fnzi_json *arg;
  s->op = NULL;
  for (const fnzi_json *input = inputs->u.first; input; input = input->next) {
    FNZ_TRY(fnzi_json_need(&s->r->doc, input, "arg", FNZI_JSON_OBJECT, &arg));
    FNZ_TRY(fnzi_pt2_read_arg(s, arg, next++));
  }
  status = fnzi_batch_mark(&s->batch, &maker, target, args, inputs->count);
  return fnzi_json_at(&s->r->doc, status, json);
}

fnz_status fnzi_pt2_vmap_node(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_json *outputs,
                              const fnzi_node *node, fnz_arg *args) {
  rewrite w = {.make = {.s = s, .json = json, .like = node, .stem = node->op->base},
               .outputs = outputs};
  const fnzi_batch_maker maker = {&w, vmap_define, vmap_add, make};
  fnz_status status = fnzi_batch_call(&s->batch, &maker, node->op, args);
  return fnzi_json_at(&s->r->doc, status, json);
}

fnz_status fnzi_pt2_vmap_none(fnzi_pt2_scope *s, const fnzi_json *json, const fnzi_node *node,
                              const fnz_arg *args, size_t nargs) {
  fnz_status status = fnzi_batch_check_none(&s->batch, fnzi_node_target(node), args, nargs);
  return fnzi_json_at(&s->r->doc, status, json);
}
