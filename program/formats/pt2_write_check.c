/* pt2_write_check.c - refuses programs that .pt2 files cannot hold: everything that would be read
 * back differently, or not at all. */
#include "program/formats/pt2_write.h"

#include <stdlib.h>

/* Returns the node of the caller's program that computes the same result. The writer inserts nodes
 * for guards into a copy of the program, so that indices differ. */
static size_t asked_node(const fnzi_pt2_out *o, uint32_t graph, uint32_t node) {
  if (node == FNZI_NO_NODE || o->p == o->asked)
    return node == FNZI_NO_NODE ? SIZE_MAX : node;
  const fnzi_graph *to = fnzi_graph_at(o->p, graph), *from = fnzi_graph_at(o->asked, graph);
  size_t count = from->values.count < to->values.count ? from->values.count : to->values.count;
  for (size_t v = 0; v < count; v++)
    if (to->values.data[v].node == node && from->values.data[v].node != FNZI_NO_NODE)
      return from->values.data[v].node;
  return SIZE_MAX;
}

fnz_status fnzi_pt2_go_on(const fnzi_pt2_out *o, fnz_status status, uint32_t graph, uint32_t node) {
  if (!o->refused || (status != FNZ_BAD_INPUT && status != FNZ_UNSUPPORTED))
    return status;
  o->refused(o->user, graph, asked_node(o, graph, node), &o->ctx->error);
  return FNZ_OK;
}

fnz_status fnzi_pt2_cannot(const fnzi_pt2_out *o, const char *where, const char *what) {
  return fnzi_fail(o->ctx, FNZ_CLASS_UNSUPPORTED, where, "%s cannot be expressed in a .pt2 file",
                   what);
}

/* --- arguments -------------------------------------------------------------------------------- */
fnz_status fnzi_pt2_refuse_arg(fnzi_pt2_out *o, uint32_t graph, const fnz_arg *arg,
                               const char *why) {
  o->text.size = 0;
  FNZ_TRY(fnzi_write_use(o->ctx, o->p, graph, arg, &o->text));
  return fnzi_fail(o->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s%s%s%.200s cannot be expressed in a .pt2 file: %s",
                   o->argument ? "argument \"" : "", o->argument ? o->argument : "",
                   o->argument ? "\", " : "", o->text.data, why);
}

/* Returns whether it is a name with or without an index. */
static bool is_device(const char *device) {
  char number[FNZI_INT_TEXT];
  const char *colon = strchr(device, ':');
  if (!colon)
    return *device != 0;
  fnzi_int_text(strtoll(colon + 1, NULL, 10), number);
  return colon > device && strcmp(colon + 1, number) == 0;
}

/* Returns whether the name reads back as itself: the writer adds "aten" and "default" where they
 * are left out, and the reader drops them. */
static bool is_operator(const char *name) {
  static const char left_out[] = ".default";
  const char *colons = strstr(name, "::"), *base = colons ? colons + 2 : name;
  size_t space = colons ? (size_t)(colons - name) : 0, size = strlen(base);
  size_t tail = sizeof left_out - 1;
  if (colons && (!space || memchr(name, '.', space) || strncmp(name, "aten::", 6) == 0))
    return false;
  if (!size || base[0] == '.' || base[size - 1] == '.' || strstr(base, "::"))
    return false;
  return size < tail || strcmp(base + size - tail, left_out) != 0;
}

fnz_status fnzi_pt2_check_arg(fnzi_pt2_out *o, uint32_t graph, const fnz_arg *arg) {
  /* NULL if a .pt2 file can express it. */
  const char *why =
      arg->tag == FNZ_ARG_DEFAULT ? "a default has no notation there; write its value"
      : arg->tag == FNZ_ARG_DEVICE && !is_device(arg->u.s)
          ? "a device is \"NAME\" or \"NAME:NUMBER\""
      : arg->tag == FNZ_ARG_OPERATOR && !is_operator(arg->u.s)
          ? "an operator is \"NAME.OVERLOAD\", with \"NAMESPACE::\" before it unless that is aten, "
            "and without the overload \"default\""
          : NULL;
  return why ? fnzi_pt2_refuse_arg(o, graph, arg, why) : FNZ_OK;
}

/* --- devices ---------------------------------------------------------------------------------- */
typedef struct place {
  const fnzi_pt2_out *o;
  uint32_t graph, node;
} place;

static fnz_status check_node(const place *at) {
  const fnzi_node *n = fnzi_node_at(at->o->p, at->graph, at->node);
  char where[160];
  for (uint32_t a = 0; a < n->nargs; a++) {
    /* A device other than the CPU is refused. PyTorch reads a string as one, too. */
    const fnz_arg *arg = &n->args[a];
    const fnzi_param *param = n->op ? &n->op->params[a] : NULL;
    bool is_named = arg->tag == FNZ_ARG_DEVICE ||
                    (arg->tag == FNZ_ARG_STRING && param && param->type == FNZI_TYPE_DEVICE);
    if (is_named && strcmp(arg->u.s, "cpu") != 0 && strncmp(arg->u.s, "cpu:", 4) != 0) {
      fnzi_node_place(at->o->p, at->graph, at->node, where);
      return fnzi_fail(at->o->ctx, FNZ_CLASS_UNSUPPORTED, where,
                       "it is for device %s, and only the original .pt2 file records which tensors "
                       "are there; convert that file",
                       n->args[a].u.s);
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_pt2_check_devices(const fnzi_pt2_out *o) {
  place at = {.o = o};
  for (; !o->x && at.graph < o->p->graphs.count; at.graph++)
    for (at.node = 0; at.node < fnzi_graph_at(o->p, at.graph)->nodes.count; at.node++)
      FNZ_TRY(fnzi_pt2_go_on(o, check_node(&at), at.graph, at.node));
  return FNZ_OK;
}
