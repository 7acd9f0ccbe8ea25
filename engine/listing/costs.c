/* costs.c - finds the bytes that a run copies. Each move of a plan that a rule forced, and each
 * piece that is moved into a join, is counted. Those with one reason in one source line are one
 * entry, over all repeated layers of the model. */
#include "engine/listing/listing.h"
#include "functionalize/explain/explain.h"
#include "kernels/backends.h"
#include "program/formats/module_stack.h"
#include "run/run.h"

#include <fnz/engine.h>
#include <fnz/numbers.h>

#include <stdlib.h>

/* The bytes that a node adds to an entry. */
typedef struct part {
  size_t graph, node, entry;
  uint64_t bytes;
} part;

struct fnz_costs {
  fnzi_arena arena;
  struct {
    fnz_cost *data;
    size_t count, capacity;
  } entries;
  struct {
    part *data;
    size_t count, capacity;
  } parts;
  fnz_cost_sums sums;
  const char *sizes;
};

void fnz_costs_destroy(fnz_costs *costs) {
  if (!costs)
    return;
  fnz_context *ctx = costs->arena.ctx;
  FNZI_VEC_FREE(ctx, &costs->entries);
  FNZI_VEC_FREE(ctx, &costs->parts);
  fnzi_arena_free(&costs->arena);
  fnzi_free(ctx, costs, sizeof *costs);
}

size_t fnz_costs_count(const fnz_costs *costs) {
  return costs->entries.count;
}

const fnz_cost *fnz_costs_at(const fnz_costs *costs, size_t index) {
  return index < costs->entries.count ? &costs->entries.data[index] : NULL;
}

const char *fnz_costs_sizes(const fnz_costs *costs) {
  return costs->sizes;
}

fnz_status fnz_costs_get_sums(fnz_context *ctx, const fnz_costs *costs, fnz_cost_sums *out) {
  fnz_cost_sums sums = costs->sums;
  FNZ_TRY(fnzi_sized_check(ctx, out, sizeof sums));
  fnzi_report_give(&sums, out);
  return FNZ_OK;
}

static int by_node(const void *a, const void *b) {
  const part *x = a, *y = b;
  if (x->graph != y->graph)
    return x->graph < y->graph ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

uint64_t fnz_costs_of_node(const fnz_costs *costs, size_t graph, size_t node,
                           const fnz_cost **entry) {
  const size_t count = costs->parts.count;
  const part key = {.graph = graph, .node = node}, *end = count ? costs->parts.data + count : NULL;
  const part *p = count ? bsearch(&key, costs->parts.data, count, sizeof key, by_node) : NULL;
  uint64_t bytes = 0;
  *entry = p ? &costs->entries.data[p->entry] : NULL;
  while (p && p > costs->parts.data && by_node(p - 1, &key) == 0)
    p--;
  for (; p && p < end && by_node(p, &key) == 0; p++)
    bytes += p->bytes;
  return bytes;
}

/* --- One copy --------------------------------------------------------------------------------- */
typedef struct finder {
  fnz_context *ctx;
  const fnz_program *program; /* the caller's */
  const fnz_costs_options *options;
  const fnzi_pln_plan *plan;
  fnz_costs *out;
  fnzi_map keys;    /* from put_key() to the index of an entry */
  fnzi_map modules; /* "ENTRY MODULE" of each module that was counted */
  fnz_buffer text;
} finder;

/* Returns the output of the program that needs a move after the last node; SIZE_MAX for other
 * moves.
 */
static size_t output_of(const finder *f, const fnzi_pln_step *s) {
  const fnzi_pln_plan *plan = f->plan;
  if (s->last != FNZI_PLN_NONE || s->to.buffer == FNZI_PLN_NONE)
    return SIZE_MAX;
  const fnzi_pln_buffer *to = &plan->buffers.data[s->to.buffer];
  if (to->kind == FNZI_PLN_OUT)
    return to->output;
  for (size_t k = 0; k < plan->noutputs; k++)
    if (plan->outputs[k].buffer == s->to.buffer && to->kind == FNZI_PLN_STATE)
      return k;
  return SIZE_MAX;
}

/* Returns the node of the caller's program that needs the move, or that computes the value of a
 * move after the last node. SIZE_MAX: there is none. If sizes are symbolic, the plan is for another
 * program, whose nodes have other indices but the same names. fnzi_value.node is an index in the
 * program before it was arranged and decomposed, because both reorder nodes but not values. */
static size_t node_of(const finder *f, const fnzi_pln_step *s) {
  const fnzi_pln_plan *plan = f->plan;
  bool is_at_end = s->last == FNZI_PLN_NONE;
  uint32_t index, node = is_at_end ? fnzi_value_at(plan->program, 0, s->value)->node
                                   : fnzi_listing_whole_node(plan, s->last);
  if (node == FNZI_NO_NODE)
    return SIZE_MAX;
  if (plan->whole == f->program)
    return node;
  const fnzi_node *whole = fnzi_node_at(plan->whole, plan->graph, node);
  return fnzi_expl_counterpart(plan->whole, plan->graph, whole, f->program, &index) ? index
                                                                                    : SIZE_MAX;
}

/* Sets c->module to the path of the innermost module that called the node in the original. */
static fnz_status find_module(const finder *f, fnz_cost *c) {
  const fnz_costs_options *o = f->options;
  fnzi_arena scratch;
  fnzi_module m = {.path = ""};
  const char *stack;
  const fnz_origin *from = o->origins ? fnz_origins_at(o->origins, c->graph, c->node) : NULL;
  if (!o->original || !from || from->node == SIZE_MAX)
    return FNZ_OK;
  const fnzi_node *node = fnzi_node_at(o->original, (uint32_t)from->graph, (uint32_t)from->node);
  fnzi_arena_init(&scratch, f->ctx);
  fnz_status status = fnzi_module_stack(&scratch, fnzi_node_metadata(node), &stack);
  while (status == FNZ_OK && stack && fnzi_module_next(&stack, &m))
    continue;
  if (status == FNZ_OK)
    status = fnzi_arena_string(&f->out->arena, m.path, m.path_size, &c->module);
  fnzi_arena_free(&scratch);
  return status;
}

static fnz_status describe(finder *f, const fnzi_pln_step *s, fnz_cost *c) {
  const fnzi_listing_cause *cause = fnzi_listing_cause_of(f->plan, s);
  const uint64_t bytes = fnzi_pln_map_bytes(s->to.map);
  *c = (fnz_cost){.kind = fnzi_listing_is_copy(s) ? FNZ_COST_COPY : FNZ_COST_JOIN,
                  .bytes = bytes,
                  .largest = bytes,
                  .times = 1,
                  .graph = f->plan->graph,
                  .node = node_of(f, s),
                  .output = output_of(f, s),
                  .source = "",
                  .module = "",
                  .rule = cause->rule,
                  .remedy = cause->remedy};
  f->text.size = 0;
  FNZ_TRY(fnzi_listing_because(f->ctx, f->plan, s, &f->text));
  FNZ_TRY(fnzi_arena_string(&f->out->arena, f->text.data, f->text.size, &c->why));
  if (c->node != SIZE_MAX) {
    const fnzi_node *node = fnzi_node_at(f->program, (uint32_t)c->graph, (uint32_t)c->node);
    FNZ_TRY(find_module(f, c));
    FNZ_TRY(fnzi_arena_string(&f->out->arena, node->source, strlen(node->source), &c->source));
  }
  c->last_module = c->module;
  return FNZ_OK;
}

/* --- Groups ----------------------------------------------------------------------------------- */
/* Writes the key of an entry to f->text: kind, rule, operator, remedy and source line. If there is
 * no source line, the pattern of the module; if that is missing too, each node has its own entry.
 */
static fnz_status put_key(finder *f, const fnz_cost *c) {
  const char *target = "";
  f->text.size = 0;
  if (c->node != SIZE_MAX)
    target = fnzi_node_target(fnzi_node_at(f->program, (uint32_t)c->graph, (uint32_t)c->node));
  FNZ_TRY(fnzi_printf(f->ctx, &f->text, "%d %s %d %zu %s\n%s\n", (int)c->kind, c->rule,
                      c->output != SIZE_MAX, c->graph, target, c->remedy));
  const fnz_place place = fnz_source_place(c->source);
  if (!place.line && !*c->module)
    return fnzi_printf(f->ctx, &f->text, "%zu %zu", c->node, c->output);
  if (place.line) {
    FNZ_TRY(fnzi_put(f->ctx, &f->text, place.path, place.path_size));
    return fnzi_printf(f->ctx, &f->text, ":%ld", place.line);
  }
  /* '#' in place of each number, so that repeated layers have equal text. */
  for (const char *path = c->module; *path;) {
    size_t digits = strspn(path, "0123456789"),
           size = digits ? digits : strcspn(path, "0123456789");
    FNZ_TRY(digits ? fnzi_put_text(f->ctx, &f->text, "#") : fnzi_put(f->ctx, &f->text, path, size));
    path += size;
  }
  return FNZ_OK;
}

static fnz_status add(finder *f, const fnzi_pln_step *s) {
  fnz_costs *out = f->out;
  fnz_cost c;
  uint64_t found;
  FNZ_TRY(describe(f, s, &c));
  FNZ_TRY(put_key(f, &c));
  if (!fnzi_map_get(&f->keys, f->text.data, f->text.size, &found)) {
    const char *key;
    found = out->entries.count;
    FNZ_TRY(fnzi_arena_string(&out->arena, f->text.data, f->text.size, &key));
    FNZ_TRY(fnzi_map_set(&f->keys, key, f->text.size, found));
    FNZI_PUSH(f->ctx, &out->entries, c);
  } else {
    fnz_cost *to = &out->entries.data[found];
    to->bytes += c.bytes;
    to->largest = to->largest < c.bytes ? c.bytes : to->largest;
    to->times++;
  }
  const char *key; /* counts each module once for each entry */
  uint64_t before;
  FNZ_TRY(fnzi_arena_format(&f->out->arena, &key, "%zu %s", found, c.module));
  if (*c.module && !fnzi_map_get(&f->modules, key, strlen(key), &before)) {
    f->out->entries.data[found].modules++;
    f->out->entries.data[found].last_module = c.module;
    FNZ_TRY(fnzi_map_set(&f->modules, key, strlen(key), 1));
  }
  const part one = {c.graph, c.node, found, c.bytes};
  FNZI_PUSH(f->ctx, &out->parts, one);
  *(c.kind == FNZ_COST_COPY ? &out->sums.copied : &out->sums.joined) += c.bytes;
  out->sums.copies += c.kind == FNZ_COST_COPY;
  return FNZ_OK;
}

static fnz_status add_plan(finder *f, const fnzi_pln_plan *plan) {
  f->plan = plan;
  for (size_t i = 0; i < plan->steps.count; i++) {
    const fnzi_pln_step *s = &plan->steps.data[i];
    bool is_cost = s->kind == FNZI_PLN_MOVE && s->rule != FNZI_PLN_UPDATE;
    if (is_cost && fnzi_pln_map_bytes(s->to.map))
      FNZ_TRY(add(f, s));
    f->out->sums.interpreted += s->kind == FNZI_PLN_APPLY;
  }
  return FNZ_OK;
}

/* --- All copies ------------------------------------------------------------------------------- */
/* Orders entries by falling bytes, then in the order of the program. */
static int by_bytes(const void *a, const void *b) {
  const fnz_cost *x = *(const fnz_cost *const *)a, *y = *(const fnz_cost *const *)b;
  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  return x < y ? -1 : x > y;
}

/* Sorts the entries, and the parts by node. */
static fnz_status sort(fnz_context *ctx, fnz_costs *out) {
  const size_t count = out->entries.count;
  const fnz_cost **order;
  size_t *places;
  FNZI_NEW(&out->arena, count, &order);
  FNZI_NEW(&out->arena, count, &places);
  for (size_t i = 0; i < count; i++)
    order[i] = &out->entries.data[i];
  qsort(order, count, sizeof *order, by_bytes);
  fnz_costs sorted = {.sizes = NULL};
  FNZI_RESERVE(ctx, &sorted.entries, count);
  for (size_t i = 0; i < count; i++) {
    places[order[i] - out->entries.data] = i;
    sorted.entries.data[sorted.entries.count++] = *order[i];
  }
  for (size_t i = 0; i < out->parts.count; i++)
    out->parts.data[i].entry = places[out->parts.data[i].entry];
  if (out->parts.count)
    qsort(out->parts.data, out->parts.count, sizeof *out->parts.data, by_node);
  FNZI_VEC_FREE(ctx, &out->entries);
  out->entries.data = sorted.entries.data;
  out->entries.count = sorted.entries.count;
  out->entries.capacity = sorted.entries.capacity;
  return FNZ_OK;
}

static fnz_status find_in(finder *f, fnzi_stp_binding *b) {
  fnzi_listing_figures figures;
  const fnzi_pln_bodies *bodies = &b->bodies;
  FNZ_TRY(add_plan(f, &b->plan));
  for (size_t i = 0; i < bodies->list.count; i++)
    if (!bodies->regions.data[bodies->list.data[i].region].why)
      FNZ_TRY(add_plan(f, &b->nested[i].plan));
  for (size_t i = 0; i < bodies->regions.count; i++)
    f->out->sums.interpreted += bodies->regions.data[i].why != NULL;
  fnzi_listing_figures_of(&b->plan, &figures);
  f->out->sums.moved = figures.read + figures.written;
  return sort(f->ctx, f->out);
}

/* The `user` argument of fill(). */
typedef struct filling {
  const fnz_program *program;
  const fnz_costs_options *options;
  fnz_costs *costs;
} filling;

/* A fnzi_listing_printer that finds costs and prints nothing. Allocates from the caller's context,
 * because `ctx` is the workspace's, which is destroyed before the costs. */
static fnz_status fill(fnz_context *ctx, fnzi_stp_binding *b, const char *sizes, const void *user,
                       fnz_buffer *out) {
  const filling *to = user;
  finder f = {.ctx = to->costs->arena.ctx,
              .program = to->program,
              .options = to->options,
              .out = to->costs};
  (void)out;
  if (b->mode == FNZI_STP_INTERPRETED)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "data decide the size of a final value, so the interpreter runs the program "
                     "without a plan");
  fnzi_listing_name_origins(b);
  fnzi_map_init(&f.keys, f.ctx);
  fnzi_map_init(&f.modules, f.ctx);
  fnz_status status = find_in(&f, b);
  if (status == FNZ_OK && sizes)
    status = fnzi_arena_string(&f.out->arena, sizes, strlen(sizes), &f.out->sizes);
  fnzi_map_free(&f.keys);
  fnzi_map_free(&f.modules);
  fnz_buffer_free(f.ctx, &f.text);
  return status;
}

/* Fails if no kernel computes the node. A plan could be made without one, but not run. */
static fnz_status check_node(fnz_context *ctx, fnz_backend *cpu, const fnz_program *p,
                             uint32_t graph, uint32_t node) {
  const fnz_op *op = fnzi_node_at(p, graph, node)->op;
  fnz_kernel_facts facts;
  char where[160];
  if (!op || fnzi_run_is_number_op(op) || fnzi_op_is_item(op))
    return FNZ_OK;
  FNZ_TRY(fnz_backend_get_kernel(ctx, cpu, op, &facts));
  if (facts.way)
    return FNZ_OK;
  fnzi_node_place(p, graph, node, where);
  return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, where,
                   "the engine has no kernel for %s; register one, or use another operator",
                   fnz_op_name(op));
}

static fnz_status check_kernels(fnz_context *ctx, const fnz_program *p) {
  fnz_backend *cpu;
  FNZ_TRY(fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = FNZ_OK;
  for (uint32_t g = 0; status == FNZ_OK && g < p->graphs.count; g++)
    for (uint32_t n = 0; status == FNZ_OK && n < fnzi_graph_at(p, g)->nodes.count; n++)
      status = check_node(ctx, cpu, p, g, n);
  fnz_backend_destroy(cpu);
  return status;
}

fnz_status fnz_costs_find(fnz_context *ctx, const fnz_program *program,
                          const fnz_costs_options *options, fnz_costs **out) {
  fnz_costs_options o = FNZ_COSTS_OPTIONS_INIT;
  fnz_plan_options plan = FNZ_PLAN_OPTIONS_INIT;
  fnz_buffer nothing = {.data = NULL};
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof o, &o));
  FNZ_TRY(check_kernels(ctx, program));
  FNZ_TRY(fnzi_options_take(ctx, o.plan, sizeof plan, &plan));
  plan.device = NULL;
  fnz_costs *costs = fnzi_resize(ctx, NULL, 0, sizeof *costs);
  if (!costs)
    return fnzi_no_memory(ctx);
  *costs = (fnz_costs){.sums = FNZ_COST_SUMS_INIT, .sizes = ""};
  fnzi_arena_init(&costs->arena, ctx);
  const filling to = {program, &o, costs};
  fnz_status status = fnzi_listing_new_binding(ctx, program, &plan, fill, &to, &nothing);
  fnz_buffer_free(ctx, &nothing);
  if (status == FNZ_OK)
    *out = costs;
  else
    fnz_costs_destroy(costs);
  return status;
}
