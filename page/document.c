/* document.c - the document that the page shows: both programs, what links them, memories, and the
 * plan of a run. docs/view.md lists its members.
 *
 * Texts that occur often are numbers of tables. Nodes are lists without keys, because there may be
 * 10^5 of them. */
#include "engine/plan/bytes.h"
#include "page/page.h"
#include "program/formats/json_out.h"

enum { VERSION = 1, MOST_SPANS = 128 };

typedef struct writer {
  fnzi_json_out json;
  fnzi_page_tables tables;
  const fnzi_page_contents *of;
  const fnz_program *p; /* the program that is being written */
  uint32_t graph, *bases, *traced_bases;
  uint32_t *maker; /* per value of the graph: 1 + the number of its node; 0 for an input */
  fnz_buffer text;
} writer;

/* --- Pieces ----------------------------------------------------------------------------------- */
static fnz_status put_number(writer *w, uint32_t number) {
  return fnzi_json_out_int(&w->json, number == FNZI_PAGE_NONE ? -1 : (int64_t)number);
}

static fnz_status put_string(writer *w, const char *s) {
  return fnzi_json_out_string(&w->json, s, strlen(s));
}

/* `"%add", 3`: a value's name and the number of its type. */
static fnz_status put_value(writer *w, const fnz_arg *arg) {
  uint32_t type;
  FNZ_TRY(fnzi_page_value(&w->tables, w->p, w->graph, arg, &type, &w->text));
  FNZ_TRY(fnzi_json_out_string(&w->json, (const char *)w->text.data, w->text.size));
  return put_number(w, type);
}

/* --- Nodes ------------------------------------------------------------------------------------ */
/* A node of the traced program, of an origin. */
static fnz_status put_origin_node(writer *w, size_t graph, size_t node) {
  return put_number(w, node == SIZE_MAX ? FNZI_PAGE_NONE : w->traced_bases[graph] + (uint32_t)node);
}

static fnz_status put_node(writer *w, uint32_t number) {
  const fnzi_node *n = fnzi_node_at(w->p, w->graph, number);
  fnzi_page_tables *t = &w->tables;
  uint32_t op, source = FNZI_PAGE_NONE, module;
  FNZ_TRY(fnzi_page_text_number(t, &t->operators, n->op, fnzi_node_target(n), &op));
  if (*n->source)
    FNZ_TRY(fnzi_page_text_number(t, &t->sources, n->source, n->source, &source));
  FNZ_TRY(fnzi_page_module(t, n, &module));
  FNZ_TRY(fnzi_json_open(&w->json, '['));
  w->text.size = 0;
  FNZ_TRY(fnz_node_write(w->json.ctx, w->p, w->graph, number, false, &w->text));
  FNZ_TRY(fnzi_json_out_string(&w->json, (const char *)w->text.data, w->text.size));
  FNZ_TRY(put_number(w, op));
  FNZ_TRY(fnzi_json_open(&w->json, '['));
  FNZI_EACH_ARG(each, n->outputs, n->noutputs)
    if (fnzi_is_reference(each.arg))
      FNZ_TRY(put_value(w, each.arg));
  FNZ_TRY(fnzi_json_close(&w->json, ']'));
  FNZ_TRY(put_number(w, source));
  FNZ_TRY(put_number(w, module));
  FNZ_TRY(fnzi_json_open(&w->json, '['));
  FNZI_EACH_ARG(each, n->args, n->nargs)
    if (fnzi_is_reference(each.arg) && w->maker[each.arg->u.value])
      FNZ_TRY(put_number(w, w->maker[each.arg->u.value] - 1));
  FNZ_TRY(fnzi_json_close(&w->json, ']'));
  if (w->p == w->of->functional) {
    /* Reason, node, view, reader, output. */
    const fnz_origin *o = fnz_origins_at(w->of->origins, w->graph, number);
    FNZ_TRY(put_number(w, o->reason));
    FNZ_TRY(put_origin_node(w, o->graph, o->node));
    FNZ_TRY(put_origin_node(w, o->view_graph, o->view));
    FNZ_TRY(put_origin_node(w, o->reader_graph, o->reader));
    FNZ_TRY(put_number(w, o->output == SIZE_MAX ? FNZI_PAGE_NONE : (uint32_t)o->output));
  }
  return fnzi_json_close(&w->json, ']');
}

/* --- Graphs ----------------------------------------------------------------------------------- */
/* Name, type, kind, target. The name of a constant is "". */
static fnz_status put_end(writer *w, const fnz_arg *value, const char *kind, const char *target) {
  FNZ_TRY(fnzi_json_open(&w->json, '['));
  if (fnzi_is_reference(value)) {
    FNZ_TRY(put_value(w, value));
  } else {
    FNZ_TRY(put_string(w, ""));
    FNZ_TRY(put_number(w, FNZI_PAGE_NONE));
  }
  FNZ_TRY(put_string(w, kind));
  FNZ_TRY(put_string(w, target ? target : ""));
  return fnzi_json_close(&w->json, ']');
}

static fnz_status put_input(writer *w, uint32_t k) {
  const fnz_input_spec spec = w->graph == 0 ? w->p->inputs[k] : (fnz_input_spec){.target = NULL};
  return put_end(w, &fnzi_graph_at(w->p, w->graph)->inputs[k], fnz_input_kind_name(spec.kind),
                 spec.target);
}

static fnz_status put_output(writer *w, uint32_t k) {
  const fnz_output_spec spec = w->graph == 0 ? w->p->outputs[k] : (fnz_output_spec){.target = NULL};
  return put_end(w, &fnzi_graph_at(w->p, w->graph)->outputs[k], fnz_output_kind_name(spec.kind),
                 spec.target);
}

typedef fnz_status put_fn(writer *w, uint32_t k);

static fnz_status put_list(writer *w, const char *key, uint32_t count, put_fn *put) {
  FNZ_TRY(fnzi_json_open_as(&w->json, key, '['));
  for (uint32_t k = 0; k < count; k++) {
    FNZ_TRY(put(w, k));
    FNZ_TRY(fnzi_put_text(w->json.ctx, w->json.out, "\n")); /* for people and for diff */
  }
  return fnzi_json_close(&w->json, ']');
}

static fnz_status put_graph(writer *w, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(w->p, graph);
  w->graph = graph;
  FNZI_NEW(&w->tables.arena, g->values.count, &w->maker);
  for (size_t v = 0; v < g->values.count; v++) {
    uint32_t node = g->values.data[v].node;
    w->maker[v] = node == FNZI_NO_NODE ? 0 : w->bases[w->graph] + node + 1;
  }
  FNZ_TRY(fnzi_json_open(&w->json, '{'));
  FNZ_TRY(fnzi_json_out_text(&w->json, "name", g->name));
  FNZ_TRY(put_list(w, "inputs", g->ninputs, put_input));
  FNZ_TRY(put_list(w, "nodes", (uint32_t)g->nodes.count, put_node));
  FNZ_TRY(put_list(w, "outputs", g->noutputs, put_output));
  return fnzi_json_close(&w->json, '}');
}

static fnz_status put_program(writer *w, const char *key, const fnz_program *p) {
  w->p = p;
  FNZ_TRY(fnzi_page_bases(&w->tables.arena, p, &w->bases));
  return put_list(w, key, (uint32_t)p->graphs.count, put_graph);
}

/* --- Memories --------------------------------------------------------------------------------- */
static const char *const event_names[] = {
#define EVENT_NAME(id, name) name,
    FNZI_PAGE_EVENT_ROWS(EVENT_NAME)
#undef EVENT_NAME
};

static fnz_status put_memory(writer *w, const fnzi_page_memory *m,
                             const fnzi_page_event *const *events, size_t count) {
  const fnz_arg value = {.tag = FNZ_ARG_VALUE, .u.value = m->value};
  uint32_t type;
  w->graph = m->graph;
  FNZ_TRY(fnzi_page_value(&w->tables, w->p, m->graph, &value, &type, &w->text));
  FNZ_TRY(fnzi_json_open(&w->json, '{'));
  FNZ_TRY(fnzi_json_out_text(&w->json, "name", (const char *)w->text.data));
  FNZ_TRY(fnzi_json_key(&w->json, "graph"));
  FNZ_TRY(put_number(w, m->graph));
  FNZ_TRY(fnzi_json_key(&w->json, "type"));
  FNZ_TRY(put_number(w, type));
  FNZ_TRY(fnzi_json_key(&w->json, "node"));
  FNZ_TRY(put_number(w, m->node));
  /* Node, kind and type of each, in one list. */
  FNZ_TRY(fnzi_json_open_as(&w->json, "events", '['));
  for (size_t i = 0; i < count; i++) {
    uint32_t shown = FNZI_PAGE_NONE;
    uint64_t found;
    if (fnzi_map_get(&w->tables.types.by_address, &events[i]->window, sizeof(void *), &found))
      shown = (uint32_t)found;
    FNZ_TRY(put_number(w, events[i]->node));
    FNZ_TRY(put_number(w, events[i]->kind));
    FNZ_TRY(put_number(w, shown));
  }
  FNZ_TRY(fnzi_json_close(&w->json, ']'));
  return fnzi_json_close(&w->json, '}');
}

static fnz_status put_memories(writer *w) {
  const fnzi_page_memories *m = w->of->memories;
  const fnzi_page_event **events;
  size_t *first;
  w->p = w->of->traced;
  /* Events, memory after memory, each in the order of nodes. */
  FNZI_NEW(&w->tables.arena, m->all.count + 2, &first);
  FNZI_NEW(&w->tables.arena, m->events.count, &events);
  for (size_t i = 0; i < m->events.count; i++)
    first[m->events.data[i].memory + 2]++;
  for (size_t k = 2; k < m->all.count + 2; k++)
    first[k] += first[k - 1];
  for (size_t i = 0; i < m->events.count; i++)
    events[first[m->events.data[i].memory + 1]++] = &m->events.data[i];
  FNZ_TRY(fnzi_json_open_as(&w->json, "events", '['));
  for (size_t k = 0; k < FNZI_PAGE_EVENT_COUNT; k++)
    FNZ_TRY(put_string(w, event_names[k]));
  FNZ_TRY(fnzi_json_close(&w->json, ']'));
  FNZ_TRY(fnzi_json_open_as(&w->json, "memories", '['));
  for (size_t k = 0; k < m->all.count; k++)
    if (m->all.data[k].is_shown) {
      FNZ_TRY(put_memory(w, &m->all.data[k], events + first[k], first[k + 1] - first[k]));
      FNZ_TRY(fnzi_put_text(w->json.ctx, w->json.out, "\n"));
    }
  return fnzi_json_close(&w->json, ']');
}

/* --- Tables ----------------------------------------------------------------------------------- */
static fnz_status put_operator(writer *w, uint32_t k) {
  return put_string(w, w->tables.operators.texts.data[k]);
}

/* Its place, and the whole text. */
static fnz_status put_source(writer *w, uint32_t k) {
  const char *text = w->tables.sources.texts.data[k];
  const fnz_place place = fnz_source_place(text);
  FNZ_TRY(fnzi_json_open(&w->json, '['));
  FNZ_TRY(fnzi_json_out_string(&w->json, place.path_size ? place.path : "", place.path_size));
  FNZ_TRY(fnzi_json_out_int(&w->json, place.line));
  FNZ_TRY(put_string(w, text));
  return fnzi_json_close(&w->json, ']');
}

static fnz_status put_module(writer *w, uint32_t k) {
  FNZ_TRY(fnzi_json_open(&w->json, '['));
  FNZ_TRY(put_string(w, w->tables.modules.texts.data[k]));
  FNZ_TRY(put_string(w, w->tables.classes.data[k]));
  return fnzi_json_close(&w->json, ']');
}

/* Text, bytes of its elements, whether the spans are exact, and its bytes in its memory: first, and
 * behind the last, of each span. */
static fnz_status put_type(writer *w, uint32_t k) {
  const fnz_geometry *g = w->tables.geometries.data[k];
  fnzi_pln_bytes bytes = {.count = 0};
  int64_t size = 0;
  if (g) {
    size = fnz_geometry_numel(g) * (int64_t)fnz_dtype_get_info(g->dtype)->bytes;
    FNZ_TRY(fnzi_pln_bytes_of(&w->tables.arena, g, MOST_SPANS, &bytes));
  }
  FNZ_TRY(fnzi_json_open(&w->json, '['));
  FNZ_TRY(put_string(w, w->tables.types.texts.data[k]));
  FNZ_TRY(fnzi_json_out_int(&w->json, size));
  FNZ_TRY(fnzi_json_out_int(&w->json, !bytes.inexact));
  for (uint32_t i = 0; i < bytes.count; i++) {
    FNZ_TRY(fnzi_json_out_int(&w->json, bytes.spans[i].low));
    FNZ_TRY(fnzi_json_out_int(&w->json, bytes.spans[i].high));
  }
  return fnzi_json_close(&w->json, ']');
}

static fnz_status put_reason(writer *w, uint32_t k) {
  FNZ_TRY(fnzi_json_open(&w->json, '['));
  FNZ_TRY(put_string(w, fnz_reason_name((fnz_reason)k)));
  FNZ_TRY(put_string(w, fnz_reason_words((fnz_reason)k)));
  return fnzi_json_close(&w->json, ']');
}

/* --- The whole -------------------------------------------------------------------------------- */
static fnz_status put_all(writer *w) {
  fnzi_json_out *json = &w->json;
  FNZ_TRY(fnzi_page_bases(&w->tables.arena, w->of->traced, &w->traced_bases));
  FNZ_TRY(fnzi_json_open(json, '{'));
  FNZ_TRY(fnzi_json_out_number(json, "version", VERSION));
  FNZ_TRY(fnzi_json_out_text(json, "title", w->of->title));
  FNZ_TRY(fnzi_json_out_text(json, "torch", fnz_program_torch_version(w->of->traced)));
  FNZ_TRY(fnzi_json_out_flag(json, "symbolic", fnzi_program_has_symbols(w->of->traced)));
  /* null, or at how many choices of sizes both forms are equal: 0 where sizes are fixed. */
  FNZ_TRY(fnzi_json_key(&w->json, "equal"));
  if (!w->of->is_equal)
    FNZ_TRY(fnzi_json_out_null(&w->json));
  else
    FNZ_TRY(fnzi_json_out_int(&w->json, (int64_t)w->of->is_equal->sizes));
  FNZ_TRY(put_program(w, "traced", w->of->traced));
  FNZ_TRY(put_program(w, "functional", w->of->functional));
  FNZ_TRY(put_memories(w));
  const fnzi_page_tables *t = &w->tables;
  FNZ_TRY(put_list(w, "types", (uint32_t)t->types.texts.count, put_type));
  FNZ_TRY(put_list(w, "operators", (uint32_t)t->operators.texts.count, put_operator));
  FNZ_TRY(put_list(w, "sources", (uint32_t)t->sources.texts.count, put_source));
  FNZ_TRY(put_list(w, "modules", (uint32_t)t->modules.texts.count, put_module));
  FNZ_TRY(put_list(w, "reasons", FNZ_REASON_COUNT, put_reason));
  FNZ_TRY(fnzi_json_out_text(&w->json, "no_plan", w->of->no_plan));
  FNZ_TRY(fnzi_json_key(&w->json, "plan"));
  if (!w->of->plan->size)
    FNZ_TRY(fnzi_json_out_null(&w->json));
  else
    FNZ_TRY(fnzi_json_out_raw(&w->json, (const char *)w->of->plan->data, w->of->plan->size));
  return fnzi_json_close(json, '}');
}

fnz_status fnzi_page_document(fnz_context *ctx, const fnzi_page_contents *contents,
                              fnz_buffer *out) {
  writer w = {.json = {.ctx = ctx, .out = out}, .of = contents};
  fnzi_page_tables_init(&w.tables, ctx);
  fnz_status status = put_all(&w);
  fnzi_page_tables_free(&w.tables);
  fnz_buffer_free(ctx, &w.text);
  return status;
}
