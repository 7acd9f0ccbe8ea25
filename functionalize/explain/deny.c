/* deny.c - refuses a result that has operators which the caller denies.
 *
 * needs   a finished program, and the notes on its nodes
 * gives   a refusal that names the operator, the node of the source that needs it, and why */
#include "functionalize/explain/explain.h"

#include <stdio.h>

/* --- names ------------------------------------------------------------------------------------ */
/* A denied name, without the namespace aten. */
typedef struct denied {
  const char *name;
  size_t size;
  bool whole; /* the empty overload, ".default", not all overloads */
} denied;

static denied parse_name(const char *name) {
  static const char empty[] = ".default";
  const size_t tail = sizeof empty - 1;
  if (strncmp(name, "aten::", 6) == 0)
    name += 6;
  else if (strncmp(name, "aten.", 5) == 0)
    name += 5;
  size_t size = strlen(name);
  bool is_empty = size > tail && strcmp(name + size - tail, empty) == 0;
  size -= is_empty ? tail : 0;
  return (denied){name, size, is_empty};
}

/* A name without overload denies all overloads. */
static bool matches(const denied *d, const char *target) {
  return strncmp(d->name, target, d->size) == 0 &&
         (!target[d->size] || (!d->whole && strcspn(target, ".") == d->size));
}

static bool is_denied(const fnz_functionalize_options *o, const char *target) {
  for (size_t i = 0; i < o->ndeny; i++) {
    const denied d = parse_name(o->deny[i]);
    if (matches(&d, target))
      return true;
  }
  return false;
}

/* An operator of the table, the context or the program, or the target of another node. */
static bool is_known(const fnz_context *ctx, const fnz_program *p, const denied *d) {
  static const char *const others[] = {"higher_order.", "_operator.", "math.", "torch."};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strncmp(d->name, others[i], strlen(others[i])) == 0)
      return true;
  for (size_t i = 0; i < fnz_op_count(); i++)
    if (matches(d, fnz_op_name(fnz_op_at(i))))
      return true;
  for (size_t i = 0; i < fnz_op_declared_count(ctx); i++)
    if (matches(d, fnz_op_name(fnz_op_declared_at(ctx, i))))
      return true;
  for (size_t i = 0; i < p->custom_ops.count; i++) {
    const fnz_op *op = p->custom_ops.data[i], *twin = fnz_op_functional_twin(op);
    if (matches(d, fnz_op_name(op)) || (twin && matches(d, fnz_op_name(twin))))
      return true;
  }
  for (size_t i = 0; i < fnzi_builtin_count(); i++) {
    const char *schema = fnzi_builtin_at(i);
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(schema, "("), schema);
    if (matches(d, name))
      return true;
  }
  return false;
}

static fnz_status refuse_unknown(fnz_context *ctx, const char *name) {
  fnz_buffer near = {NULL, 0, 0};
  fnz_status status = fnz_op_suggest(ctx, name, &near);
  if (status == FNZ_OK)
    status = fnzi_fail(ctx, FNZ_CLASS_REF, NULL, "deny: there is no operator \"%s\"%s%s%s", name,
                       near.size ? "; did you mean " : "", near.size ? near.data : "",
                       near.size ? "?" : "; fnz ops lists all");
  fnz_buffer_free(ctx, &near);
  return status;
}

fnz_status fnzi_expl_deny_check_names(fnz_context *ctx, const fnz_program *p,
                                      const fnz_functionalize_options *o) {
  for (size_t i = 0; i < o->ndeny; i++) {
    const denied d = parse_name(o->deny[i]);
    if (!d.size || !is_known(ctx, p, &d))
      return refuse_unknown(ctx, o->deny[i]);
  }
  return FNZ_OK;
}

/* --- refusing --------------------------------------------------------------------------------- */
/* The node of the source that needs it; the end of the graph where no node does. */
static void put_place(const fnz_program *from, const fnz_program *to, uint32_t graph,
                      const fnz_origin *o, char out[160]) {
  if (o->node != SIZE_MAX)
    fnzi_node_place(from, (uint32_t)o->graph, (uint32_t)o->node, out);
  else if (graph)
    snprintf(out, 160, "results of graph %.100s", fnzi_graph_at(to, graph)->name);
  else
    snprintf(out, 160, "the end of the program");
}

static const char *reason_for(const fnz_origin *o, const fnzi_node *node) {
  if (o->reason == FNZ_REASON_VIEW_READ)
    return "a view is read there, and without aliasing that takes a copy";
  if (o->reason == FNZ_REASON_WRITE_BACK)
    return "what is written there through a view has to be put back into its base";
  if (o->reason == FNZ_REASON_PART && node->noutputs && node->outputs[0].tag == FNZ_ARG_SYMBOL)
    return "a size is computed with it there";
  if (o->reason == FNZ_REASON_OWN)
    return "a result of a body has to be memory of its own";
  return o->node != SIZE_MAX ? "it computes that with it"
                             : "final values are written into inputs there";
}

static fnz_status refuse(fnz_context *ctx, const fnz_program *from, const fnz_program *to,
                         const fnz_origins *origins, uint32_t graph, uint32_t index) {
  const fnz_origin *o = fnz_origins_at(origins, graph, index);
  const fnzi_node *node = fnzi_node_at(to, graph, index);
  char place[160];
  put_place(from, to, graph, o, place);
  return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, place,
                   "the result needs %s, which is denied: %s; allow it or change the program",
                   fnzi_node_target(node), reason_for(o, node));
}

static bool find_denied(const fnz_functionalize_options *o, const fnz_program *to, uint32_t *graph,
                        uint32_t *index) {
  for (*graph = 0; *graph < to->graphs.count; ++*graph) {
    const fnzi_graph *g = fnzi_graph_at(to, *graph);
    for (*index = 0; *index < g->nodes.count; ++*index)
      if (is_denied(o, fnzi_node_target(&g->nodes.data[*index])))
        return true;
  }
  return false;
}

fnz_status fnzi_expl_deny_check(fnz_context *ctx, const fnz_program *from, const fnz_program *to,
                                const fnz_functionalize_options *options,
                                const fnzi_rec_notes *notes) {
  uint32_t graph, index;
  fnz_origins *origins;
  if (!options->ndeny || !find_denied(options, to, &graph, &index))
    return FNZ_OK;
  FNZ_TRY(fnzi_expl_origins_make(ctx, from, to, notes, &origins));
  fnz_status status = refuse(ctx, from, to, origins, graph, index);
  fnz_origins_destroy(ctx, origins);
  return status;
}
