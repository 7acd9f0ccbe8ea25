/* deny.c - operators that the caller does not want in the result.
 *
 * needs   a finished program, and what was noted of how it was made
 * gives   nothing when none of them is there; else a refusal that names the operator, the node of
 *         the source that needs it, and why */
#include "functionalize/pass.h"

#include <stdio.h>

/* A name without overload means all of them. */
static bool is_denied(const fnz_functionalize_options *o, const char *target) {
  size_t base = strcspn(target, ".");
  for (size_t i = 0; i < o->ndeny; i++) {
    bool all = strlen(o->deny[i]) == base && strncmp(o->deny[i], target, base) == 0;
    if (all || strcmp(o->deny[i], target) == 0)
      return true;
  }
  return false;
}

static const fnzi_why *why_of(const fnzi_asked *asked, uint32_t graph, uint32_t node) {
  for (size_t i = 0; asked && i < asked->made.count; i++)
    if (asked->made.data[i].graph == graph && asked->made.data[i].node == node)
      return &asked->made.data[i].why;
  return NULL;
}

static void put_place(const fnz_program *from, const fnzi_node *node, char out[160]) {
  size_t graph, index;
  snprintf(out, 160, "the end of the program");
  if (node && fnzi_find_node(from, node, &graph, &index))
    fnzi_node_place(from, (uint32_t)graph, (uint32_t)index, out);
}

static const char *const reasons[] = {
    [FNZI_CAUSE_NODE] = "it computes that with it",
    [FNZI_CAUSE_READ] = "a view is read there, and without aliasing that takes a copy",
    [FNZI_CAUSE_WRITE] = "what is written there through a view has to be put back into its base",
};

static fnz_status refuse(fnz_context *ctx, const fnz_program *from, const char *target,
                         const fnzi_why *why) {
  char place[160];
  if (!why)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the result needs %s, which is denied; allow it or change the program",
                     target);
  put_place(from, why->node ? why->node : why->reader, place);
  return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, place,
                   "the result needs %s, which is denied: %s; allow it or change the program",
                   target, reasons[why->cause]);
}

fnz_status fnzi_check_denied(fnz_context *ctx, const fnz_program *from, const fnz_program *to,
                             const fnz_functionalize_options *options, const fnzi_asked *asked) {
  for (uint32_t g = 0; options && options->ndeny && g < to->graphs.count; g++) {
    const fnzi_graph *graph = fnzi_graph_at(to, g);
    for (uint32_t n = 0; n < graph->nodes.count; n++)
      if (is_denied(options, graph->nodes.data[n].target))
        return refuse(ctx, from, graph->nodes.data[n].target, why_of(asked, g, n));
  }
  return FNZ_OK;
}
