/* dot.c - a picture of a program for Graphviz: operators as boxes, values as arrows. Views and
 * writes, also former ones, have a colour; the legend explains it. An orange arrow leads from a
 * write to who sees it through another window. */
#include "program/formats/dot.h"
#include "program/formats/formats.h"
#include "program/formats/text_print.h"

#include <stdio.h>

/* Columns: the mark, its colour, its line in the legend. */
#define MARK_ROWS(ROW)                                                                             \
  ROW(PLAIN, "white", "computes")                                                                  \
  ROW(VIEW, "lightblue", "view: shares memory with its argument")                                  \
  ROW(WRITE, "lightsalmon", "writes an argument")                                                  \
  ROW(COPY, "palegreen", "copies elements (a view before, or clone)")                              \
  ROW(SCATTER, "khaki", "puts a window back (was a write)")                                        \
  ROW(STATE, "plum", "final value of an input, parameter or buffer")

/* Ellipses of weights that are only read: at most so many; boxes name them anyway. */
enum { MOST_WEIGHTS = 8, MOST_LABEL = 64 };

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
  char user[32];      /* the box that arrows go to */
  bool hides_weights; /* that are only read: there are too many of them */
  bool *is_kept;      /* per value of graph 0: an input that has an ellipse nevertheless */
  fnz_buffer text;
  fnzi_dot_sights sights;
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

static fnz_status dot_put_type(writer *w, const fnz_geometry *g) {
  fnzi_printer printer = {.ctx = w->ctx, .p = w->p, .out = w->out, .graph = w->graph};
  return fnzi_print_tensor_type(&printer, g);
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

static fnz_status put_row(writer *w, const char *color, const char *text) {
  return fnzi_printf(w->ctx, w->out, "<tr><td align=\"left\" bgcolor=\"%s\">%s</td></tr>", color,
                     text);
}

/* Marks that the program has, one above the other. */
static fnz_status put_legend(writer *w) {
  bool has[MARK_COUNT] = {false}, writes = false;
  for (uint32_t g = 0; g < w->p->graphs.count; g++)
    for (size_t n = 0; n < fnzi_graph_at(w->p, g)->nodes.count; n++)
      has[mark_of(fnzi_node_at(w->p, g, (uint32_t)n))] = true;
  for (uint32_t k = 0; k < fnzi_graph_main(w->p)->noutputs; k++)
    has[MARK_STATE] = has[MARK_STATE] || w->p->outputs[k].target;
  writes = has[MARK_WRITE];
  FNZ_TRY(put(w, "  legend [shape=none, fillcolor=none, label=<<table border=\"0\" "
                 "cellborder=\"1\" cellspacing=\"0\" cellpadding=\"4\">"));
  for (int i = 0; i < MARK_COUNT; i++)
    if (has[i])
      FNZ_TRY(put_row(w, marks[i].color, marks[i].text));
  if (writes)
    FNZ_TRY(put_row(w, "white",
                    "<font color=\"orangered\">orange arrow: sees what was written"
                    "</font>"));
  if (w->hides_weights)
    FNZ_TRY(put_row(w, "white", "weights that are only read are named in boxes"));
  return put(w, "</table>>];\n");
}

/* --- weights ---------------------------------------------------------------------------------- */
/* Marks the inputs that have a final value. */
static fnz_status find_finals(writer *w, fnzi_map *targets) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  uint64_t found;
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const char *target = w->p->outputs[k].target;
    if (target)
      FNZ_TRY(fnzi_map_set(targets, target, strlen(target), k));
  }
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const char *target = w->p->inputs[k].target;
    if (target && fnzi_is_reference(&g->inputs[k]) &&
        fnzi_map_get(targets, target, strlen(target), &found))
      w->is_kept[g->inputs[k].u.value] = true;
  }
  return FNZ_OK;
}

/* Marks the inputs that have an ellipse even if there are many weights: weights that are only read
 * have none then. */
static fnz_status choose_inputs(writer *w, fnzi_arena *arena) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  size_t weights = 0;
  FNZI_NEW(arena, g->values.count, &w->is_kept);
  /* Inputs of graph 0 that a node writes are kept. */
  for (uint32_t n = 0; n < g->nodes.count; n++) {
    const fnzi_node *node = &g->nodes.data[n];
    for (uint32_t i = 0; node->op && i < node->nargs && i < node->op->nparams; i++)
      FNZI_EACH_ARG(each, &node->args[i], node->op->params[i].is_write)
        if (each.arg->tag == FNZ_ARG_VALUE)
          w->is_kept[fnzi_value_memory(w->p, 0, each.arg->u.value)] = true;
  }
  fnzi_map targets;
  fnzi_map_init(&targets, w->ctx);
  fnz_status status = find_finals(w, &targets);
  fnzi_map_free(&targets);
  FNZ_TRY(status);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnz_input_kind kind = w->p->inputs[k].kind;
    bool is_weight =
        kind == FNZ_INPUT_PARAMETER || kind == FNZ_INPUT_BUFFER || kind == FNZ_INPUT_CONSTANT;
    if (!fnzi_is_reference(&g->inputs[k]))
      continue;
    bool *is_kept = &w->is_kept[g->inputs[k].u.value];
    *is_kept = *is_kept || !is_weight;
    weights += !*is_kept;
  }
  w->hides_weights = weights > MOST_WEIGHTS;
  return FNZ_OK;
}

/* Returns whether an input of a graph has no ellipse. */
static bool is_hidden(const writer *w, uint64_t value) {
  return w->hides_weights && w->graph == 0 && !w->is_kept[value];
}

/* --- arrows ---------------------------------------------------------------------------------- */
static fnz_status put_arrows(writer *w, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count) {
    const fnz_arg *arg = each.arg;
    if (arg->tag == FNZ_ARG_GRAPH)
      FNZ_TRY(fnzi_printf(w->ctx, w->out, "    g%lldout0 -> %s [style=dashed];\n",
                          (long long)arg->u.i, w->user));
    if (!fnzi_is_reference(arg))
      continue;
    const fnzi_value *v = fnzi_value_at(w->p, w->graph, arg->u.value);
    if (v->node == FNZI_NO_NODE && is_hidden(w, arg->u.value))
      continue;
    if (v->node == FNZI_NO_NODE)
      FNZ_TRY(
          fnzi_printf(w->ctx, w->out, "    g%uin%llu", w->graph, (unsigned long long)arg->u.value));
    else
      FNZ_TRY(fnzi_printf(w->ctx, w->out, "    g%un%u", w->graph, v->node));
    FNZ_TRY(fnzi_printf(w->ctx, w->out, " -> %s;\n", w->user));
  }
  return FNZ_OK;
}

/* --- boxes ----------------------------------------------------------------------------------- */
static void name_user(writer *w, const char *kind, size_t index) {
  snprintf(w->user, sizeof w->user, "g%u%s%zu", w->graph, kind, index);
}

static fnz_status dot_put_node(writer *w, size_t k) {
  const fnzi_node *n = &fnzi_graph_at(w->p, w->graph)->nodes.data[k];
  name_user(w, "n", k);
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "    %s [label=\"", w->user));
  /* The call with its arguments, cut where it is too long: "%s = slice.Tensor(%x, 0, 1, 3)". */
  w->text.size = 0;
  FNZ_TRY(fnz_node_write(w->ctx, w->p, w->graph, k, false, &w->text));
  char *text = (char *)w->text.data;
  if (w->text.size > MOST_LABEL)
    memcpy(text + MOST_LABEL - 3, "...", 4);
  FNZ_TRY(put_label(w, text));
  FNZI_EACH_ARG(each, n->outputs, n->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE) {
      FNZ_TRY(put(w, "\\n"));
      FNZ_TRY(dot_put_type(w, fnzi_value_at(w->p, w->graph, each.arg->u.value)->geometry));
    }
  FNZ_TRY(put(w, *n->source ? "\\n" : ""));
  /* The end of a path says more than its beginning. */
  const fnz_place place = fnz_source_place(n->source);
  const char *end = place.path + place.path_size, *name = end;
  while (name > place.path && name[-1] != '/')
    name--;
  if (place.path_size) {
    char where[128];
    snprintf(where, sizeof where, place.line ? "%.*s:%ld" : "%.*s",
             end - name > 64 ? 64 : (int)(end - name), name, place.line);
    FNZ_TRY(put_label(w, where));
  }
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "\", fillcolor=%s];\n", marks[mark_of(n)].color));
  return put_arrows(w, n->args, n->nargs);
}

/* One box per output of the program; a region has a single one. */
static fnz_status dot_put_output(writer *w, uint32_t k) {
  const fnz_output_spec *spec = &w->p->outputs[k];
  bool is_state = spec->target != NULL;
  name_user(w, "out", k);
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "    %s [shape=ellipse, fillcolor=%s, label=\"output %u",
                      w->user, marks[is_state ? MARK_STATE : MARK_PLAIN].color, k));
  if (is_state)
    FNZ_TRY(fnzi_printf(w->ctx, w->out, "\\n%s\\n", fnzi_output_kind_names[spec->kind]));
  FNZ_TRY(put_label(w, is_state ? spec->target : ""));
  FNZ_TRY(put(w, "\"];\n"));
  return put_arrows(w, &w->p->graphs.data[0].outputs[k], 1);
}

static fnz_status dot_put_graph(writer *w, uint32_t index) {
  const fnzi_graph *g = fnzi_graph_at(w->p, w->graph = index);
  FNZ_TRY(fnzi_printf(w->ctx, w->out, "  subgraph cluster_g%u {\n    label=\"", index));
  FNZ_TRY(put_label(w, index ? g->name : "program"));
  FNZ_TRY(put(w, "\";\n"));
  FNZI_EACH_ARG(each, g->inputs, g->ninputs)
    if (fnzi_is_reference(each.arg) && !is_hidden(w, each.arg->u.value)) {
      const fnzi_value *v = fnzi_value_at(w->p, w->graph, each.arg->u.value);
      FNZ_TRY(fnzi_printf(w->ctx, w->out, "    g%uin%llu [shape=ellipse, label=\"", w->graph,
                          (unsigned long long)each.arg->u.value));
      FNZ_TRY(put_label(w, v->name));
      FNZ_TRY(put(w, "\\n"));
      if (v->geometry)
        FNZ_TRY(dot_put_type(w, v->geometry));
      FNZ_TRY(put(w, "\"];\n"));
    }
  for (size_t k = 0; k < g->nodes.count; k++)
    FNZ_TRY(dot_put_node(w, k));
  if (w->graph == 0) {
    for (uint32_t k = 0; k < g->noutputs; k++)
      FNZ_TRY(dot_put_output(w, k));
  } else {
    name_user(w, "out", 0);
    FNZ_TRY(fnzi_printf(w->ctx, w->out, "    %s [shape=ellipse, label=\"return\"];\n", w->user));
    FNZ_TRY(put_arrows(w, g->outputs, g->noutputs));
  }
  /* Arrows from writes to who sees them. A region has one box for all its outputs. */
  w->sights.count = 0;
  FNZ_TRY(fnzi_dot_sights_find(w->ctx, w->p, w->graph, &w->sights));
  for (size_t i = 0; i < w->sights.count; i++) {
    const fnzi_dot_sight *s = &w->sights.data[i];
    bool is_output = s->reader == FNZI_NO_NODE;
    name_user(w, is_output ? "out" : "n", !is_output ? s->reader : w->graph ? 0 : s->output);
    FNZ_TRY(fnzi_printf(w->ctx, w->out, "    g%un%u -> %s [color=orangered, penwidth=2];\n",
                        w->graph, s->writer, w->user));
  }
  return put(w, "  }\n");
}

fnz_status fnzi_write_dot(fnz_context *ctx, const fnz_program *p, fnz_buffer *out,
                          struct fnzi_out_pieces *pieces) {
  (void)pieces;
  writer w = {.ctx = ctx, .p = p, .out = out};
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = choose_inputs(&w, &arena);
  if (status == FNZ_OK)
    status = put(&w, "digraph fnz {\n  node [shape=box, style=filled, fillcolor=white, "
                     "fontname=\"monospace\", fontsize=11];\n  fontname=\"monospace\";\n");
  if (status == FNZ_OK)
    status = put_legend(&w);
  for (uint32_t i = 0; i < w.p->graphs.count && status == FNZ_OK; i++)
    status = dot_put_graph(&w, i);
  if (status == FNZ_OK)
    status = put(&w, "}\n");
  fnzi_arena_free(&arena);
  FNZI_VEC_FREE(ctx, &w.sights);
  fnz_buffer_free(ctx, &w.text);
  return status;
}
