/* lint.c - fnz_lint_run(): replaces findings about the text of the functional program by the copies
 * of a run. */
#include "functionalize/api.h"
#include "functionalize/explain/explain.h"

#include <fnz/engine.h>

#include <stdio.h>

typedef struct linting {
  fnz_context *ctx;
  const fnz_program *program; /* as read */
  const fnz_functionalize_options *options;
  const fnz_plan_options *plan;
  fnz_findings *findings;
  fnz_program *functional;
  fnz_origins *origins;
  fnz_costs *costs;
} linting;

static bool is_refused(const fnz_finding *f) {
  return f->kind == FNZ_FINDING_REFUSED;
}

static fnz_status keep_string(linting *l, const char **text) {
  return fnzi_arena_string(&l->findings->arena, *text, strlen(*text), text);
}

/* Copies the cost, whose program ends before the findings. */
static fnz_status keep_cost(linting *l, const fnz_cost *from, const fnz_cost **out) {
  fnz_cost *to;
  FNZI_NEW(&l->findings->arena, 1, &to);
  *to = *from;
  const char **texts[] = {&to->source, &to->module, &to->last_module,
                          &to->rule,   &to->why,    &to->remedy};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    FNZ_TRY(keep_string(l, texts[i]));
  *out = to;
  return FNZ_OK;
}

/* A finding about nodes of the program as read, from a cost that is about the functional one. */
static fnz_status make_finding(linting *l, const fnz_cost *cost, fnz_finding *f) {
  char where[192];
  *f = (fnz_finding){.kind = FNZ_FINDING_COPY,
                     .node = SIZE_MAX,
                     .view = SIZE_MAX,
                     .reader = SIZE_MAX,
                     .output = SIZE_MAX};
  if (cost->node != SIZE_MAX) {
    /* A view or a reader that is the node itself says nothing. */
    const fnz_origin *o = fnz_origins_at(l->origins, cost->graph, cost->node);
    bool is_view = o->view == o->node && o->view_graph == o->graph;
    bool is_reader = o->reader == o->node && o->reader_graph == o->graph;
    f->graph = o->graph;
    f->node = o->node;
    f->view = is_view ? SIZE_MAX : o->view;
    f->view_graph = o->view_graph;
    f->reader = is_reader ? SIZE_MAX : o->reader;
    f->reader_graph = o->reader_graph;
    f->output = is_reader ? SIZE_MAX : o->output;
  }
  if (cost->output != SIZE_MAX && !cost->graph)
    f->output = cost->output;
  if (f->node != SIZE_MAX)
    fnzi_node_place(l->program, (uint32_t)f->graph, (uint32_t)f->node, where);
  else if (cost->output != SIZE_MAX && cost->graph)
    snprintf(where, sizeof where, "result %zu of graph %.100s", cost->output,
             fnzi_graph_at(l->functional, (uint32_t)cost->graph)->name);
  else if (f->output != SIZE_MAX)
    snprintf(where, sizeof where, "output %zu", f->output);
  else
    snprintf(where, sizeof where, "the end of the program");
  FNZ_TRY(keep_cost(l, cost, &f->cost));
  f->where = where;
  FNZ_TRY(keep_string(l, &f->where));
  f->what = f->cost->why;
  f->remedy = f->cost->remedy;
  return FNZ_OK;
}

/* Refusals stay first, the costs follow, then the rest without findings about the text. */
static fnz_status replace(linting *l) {
  fnz_findings *to = l->findings, all = {.no_run = NULL};
  size_t count = to->all.count, at = 0;
  FNZI_RESERVE(l->ctx, &all.all, count + fnz_costs_count(l->costs));
  while (at < count && is_refused(&to->all.data[at]))
    all.all.data[all.all.count++] = to->all.data[at++];
  fnz_status status = FNZ_OK;
  for (size_t i = 0; status == FNZ_OK && i < fnz_costs_count(l->costs); i++) {
    const fnz_cost *cost = fnz_costs_at(l->costs, i);
    if (cost->kind == FNZ_COST_COPY)
      status = make_finding(l, cost, &all.all.data[all.all.count++]);
  }
  if (status != FNZ_OK) {
    FNZI_VEC_FREE(l->ctx, &all.all);
    return status;
  }
  for (; at < count; at++)
    if (to->all.data[at].kind != FNZ_FINDING_SCATTER && to->all.data[at].kind != FNZ_FINDING_COPY)
      all.all.data[all.all.count++] = to->all.data[at];
  FNZI_VEC_FREE(l->ctx, &to->all);
  to->all.data = all.all.data;
  to->all.count = all.all.count;
  to->all.capacity = all.all.capacity;
  to->no_run = NULL;
  return FNZ_OK;
}

static fnz_status lint_run(linting *l) {
  fnz_costs_options costs = FNZ_COSTS_OPTIONS_INIT;
  if (l->findings->all.count && is_refused(l->findings->all.data)) {
    l->findings->no_run = "a program that is refused does not run";
    return FNZ_OK;
  }
  FNZ_TRY(
      fnzi_functionalize_explained(l->ctx, l->program, l->options, &l->origins, &l->functional));
  costs.original = l->program;
  costs.origins = l->origins;
  costs.plan = l->plan;
  fnz_status status = fnz_costs_find(l->ctx, l->functional, &costs, &l->costs);
  if (status == FNZ_OK)
    return replace(l);
  /* Without a plan the findings stay as they are, and say why. */
  const fnz_error *error = fnz_last_error(l->ctx);
  bool is_given = l->plan && (l->plan->inputs || l->plan->sizes); /* then they are wrong */
  if (status != FNZ_UNSUPPORTED && (status != FNZ_BAD_INPUT || is_given))
    return status;
  return fnzi_arena_format(&l->findings->arena, &l->findings->no_run, "%s%s%s", error->where,
                           *error->where ? ": " : "", error->message);
}

fnz_status fnz_lint_run(fnz_context *ctx, const fnz_program *program,
                        const fnz_functionalize_options *options, const fnz_plan_options *plan,
                        fnz_findings **out) {
  linting l = {.ctx = ctx, .program = program, .options = options, .plan = plan};
  *out = NULL;
  FNZ_TRY(fnz_lint(ctx, program, options, &l.findings));
  fnz_status status = lint_run(&l);
  fnz_costs_destroy(l.costs);
  fnz_origins_destroy(l.origins);
  fnz_program_destroy(l.functional);
  if (status == FNZ_OK)
    *out = l.findings;
  else
    fnz_findings_destroy(l.findings);
  return status;
}
