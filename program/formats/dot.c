/* dot.c - a picture of a program for Graphviz: operators as boxes, values as arrows. Views and
 * writes, also former ones, have a colour; the legend explains it. */
#include "program/formats/text.h"
#include "program/formats/formats.h"

#include <stdio.h>

/* Columns: the mark, its colour, its line in the legend. */
#define MARK_ROWS(ROW)                                                                             \
  ROW(PLAIN, "white", "computes")                                                                  \
  ROW(VIEW, "lightblue", "view: shares memory with its argument")                                  \
  ROW(WRITE, "lightsalmon", "writes an argument")                                                  \
  ROW(COPY, "palegreen", "copies a window (was a view)")                                           \
  ROW(SCATTER, "khaki", "puts a window back (was a write)")                                        \
  ROW(STATE, "plum", "final value of an input, parameter or buffer")

typedef enum mark {
#define MARK_ENUM(id, color, text) MARK_##id,
  MARK_ROWS(MARK_ENUM)
#undef MARK_ENUM
      MARK_COUNT
} mark;

static const struct {
  const char *color, *text;
} marks[MARK_COUNT] = {
#define MARK_TABLE(id, color, text) {color, text},
    MARK_ROWS(MARK_TABLE)
#undef MARK_TABLE
};

typedef struct writer {
  fnz_context *ctx;
  const fnz_program *p;
  fnz_buffer *out;
  uint32_t graph;
  char user[32]; /* the box that arrows go to */
} writer;

static fnz_status put(writer *w, const char *text) {
  return fnzi_put_text(w->ctx, w->out, text);
}

static fnz_status put_label(writer *w, const char *s) {
  for (; *s; s++) {
    const char *plain = *s == '\n' ? "\\n" : NULL;
    if (*s == '"' || *s == '\\')
      FNZ_TRY(put(w, "\\"));
    FNZ_TRY(plain ? put(w, plain) : fnzi_put(w->ctx, w->out, s, 1));
  }
  return FNZ_OK;
}

static fnz_status put_type(writer *w, const fnz_geometry *g) {
  FNZ_TRY(put(w, fnz_dtype_get_info(g->dtype)->name));
  for (uint32_t i = 0; i < g->rank; i++)
    FNZ_TRY(fnzi_printf(w->ctx, w->out, "%s%lld", i ? "," : "[", (long long)g->sizes[i]));
  return put(w, g->rank ? "]" : "[]");
}

/* --- marks ----------------------------------------------------------------------------------- */
static mark mark_of(const fnzi_node *n) {
  if (!n->op)
    return MARK_PLAIN;
  if (fnz_op_is_mutating(n->op))
    return MARK_WRITE;
  if (fnz_op_is_view(n->op))
    return MARK_VIEW;
  if (!fnzi_op_is_copy(n->op))
    return MARK_PLAIN;
  size_t size = strlen(n->op->base), tail = strlen("_scatter");
  return size > tail && strcmp(n->op->base + size - tail, "_scatter") == 0 ? MARK_SCATTER
                                                                           : MARK_COPY;
}

static fnz_status put_legend(writer *w) {
  FNZ_TRY(put(w, "  subgraph cluster_legend {\n    label=\"legend\";\n"));
  for (int i = 0; i < MARK_COUNT; i++)
    FNZ_TRY(fnzi_printf(w->ctx, w->out, "    legend%d [label=\"%s\", fillcolor=%s];\n", i,
                        marks[i].text, marks[i].color));
  return put(w, "  }\n");
}

/* --- arrows ---------------------------------------------------------------------------------- */
static fnz_status put_arrow(writer *w, const fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_GRAPH)
    return fnzi_printf(w->ctx, w->out, "    g%lldout0 -> %s [style=dashed];\n", (long long)arg->u.i,
                       w->user);
  if (!fnzi_is_reference(arg))
    return FNZ_OK;
  const fnzi_value *v = fnzi_value_at(w->p, w->graph, arg->u.value);
  if (v->node == FNZI_NO_NODE)
    FNZ_TRY(
        fnzi_printf(w->ctx, w->out, "    g%uin%llu", w->graph, (unsigned long long)arg->u.value));
  else
    FNZ_TRY(fnzi_printf(w->ctx, w->out, "    g%un%u", w->graph, v->node));
  FNZ_TRY(fnzi_printf(w->ctx, w->out, " -> %s [label=\"", w->user));
  FNZ_TRY(put_label(w, v->name));
  return put(w, "\"];\n");
}

static fnz_status put_arrows(writer *w, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count)
    FNZ_TRY(put_arrow(w, each.arg));
  return FNZ_OK;
}

/* --- boxes ----------------------------------------------------------------------------------- */
static void name_user(writer *w, const char *kind, size_t index) {
  snprintf(w->user, sizeof w->user, "g%u%s%zu", w->graph, kind, index);
}

static fnz_status put_node(writer *w, size_t k) {
  const fnzi_node *n = &fnzi_graph_at(w->p, w->graph)->nodes.data[k];
  name_user(w, "n", k);
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "    %s [label=\"", w->user));
  FNZ_TRY(put_label(w, fnzi_node_target(n)));
  FNZI_EACH_ARG(each, n->outputs, n->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE) {
      FNZ_TRY(put(w, "\\n"));
      FNZ_TRY(put_type(w, fnzi_value_at(w->p, w->graph, each.arg->u.value)->geometry));
    }
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "\", fillcolor=%s];\n", marks[mark_of(n)].color));
  return put_arrows(w, n->args, n->nargs);
}

/* One box per output of the program; a region has a single one. */
static fnz_status put_output(writer *w, uint32_t k) {
  const fnz_output_spec *spec = &w->p->outputs[k];
  bool is_state = spec->target != NULL;
  name_user(w, "out", k);
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "    %s [shape=ellipse, fillcolor=%s, label=\"%s", w->user,
                      marks[is_state ? MARK_STATE : MARK_PLAIN].color,
                      fnzi_output_kind_names[spec->kind]));
  FNZ_TRY(put(w, "\\n"));
  FNZ_TRY(put_label(w, spec->target ? spec->target : ""));
  FNZ_TRY(put(w, "\"];\n"));
  return put_arrows(w, &w->p->graphs.data[0].outputs[k], 1);
}

static fnz_status put_outputs(writer *w, const fnzi_graph *g) {
  if (w->graph == 0) {
    for (uint32_t k = 0; k < g->noutputs; k++)
      FNZ_TRY(put_output(w, k));
    return FNZ_OK;
  }
  name_user(w, "out", 0);
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "    %s [shape=ellipse, label=\"return\"];\n", w->user));
  return put_arrows(w, g->outputs, g->noutputs);
}

static fnz_status put_graph(writer *w, uint32_t index) {
  const fnzi_graph *g = fnzi_graph_at(w->p, w->graph = index);
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "  subgraph cluster_g%u {\n    label=\"", index));
  FNZ_TRY(put_label(w, index ? g->name : "program"));
  FNZ_TRY(put(w, "\";\n"));
  FNZI_EACH_ARG(each, g->inputs, g->ninputs)
    if (fnzi_is_reference(each.arg)) {
      const fnzi_value *v = fnzi_value_at(w->p, w->graph, each.arg->u.value);
      FNZ_TRY(fnzi_printf(w->ctx, w->out, "    g%uin%llu [shape=ellipse, label=\"", w->graph,
                          (unsigned long long)each.arg->u.value));
      FNZ_TRY(put_label(w, v->name));
      FNZ_TRY(put(w, "\\n"));
      if (v->geometry)
        FNZ_TRY(put_type(w, v->geometry));
      FNZ_TRY(put(w, "\"];\n"));
    }
  for (size_t k = 0; k < g->nodes.count; k++)
    FNZ_TRY(put_node(w, k));
  FNZ_TRY(put_outputs(w, g));
  return put(w, "  }\n");
}

fnz_status fnzi_write_dot(fnz_context *ctx, const fnz_program *p, fnz_buffer *out,
                          struct fnzi_out_pieces *pieces) {
  (void)pieces;
  writer w = {.ctx = ctx, .p = p, .out = out};
  FNZ_TRY(put(&w, "digraph fnz {\n  node [shape=box, style=filled, fillcolor=white, "
                  "fontname=\"monospace\"];\n"));
  FNZ_TRY(put_legend(&w));
  for (uint32_t i = 0; i < p->graphs.count; i++)
    FNZ_TRY(put_graph(&w, i));
  return put(&w, "}\n");
}
