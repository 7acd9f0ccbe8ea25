/* sharing.c - compares the memory and strides of the inputs and outputs of two programs.
 *
 * needs   the record of a run on aliasing memory, or a signature that has these facts
 * gives   equal if the same inputs and outputs are one tensor, the same ones lie in one memory,
 *         with the same windows, and all outputs have the same strides. Strides along dimensions of
 * one element, and of tensors without elements, reach no element and may differ */
#include "run/verify/sharing.h"
#include "run/verify/verify.h"
#include "program/region_ops.h"
#include "views/views.h"

#include <stdio.h>

/* --- What a signature says -------------------------------------------------------------------- */

bool fnzi_ver_writes(const fnz_program *p) {
  for (uint32_t k = 0; k < p->graphs.count; k++)
    for (size_t i = 0; i < fnzi_graph_at(p, k)->nodes.count; i++)
      if (fnzi_run_node_writes(&fnzi_graph_at(p, k)->nodes.data[i]))
        return true;
  return false;
}

bool fnzi_ver_sharing_is_said(const fnz_program *p) {
  for (size_t k = 0; k < fnzi_graph_main(p)->noutputs; k++)
    if (fnzi_output_is_mutation(&p->outputs[k]) || p->outputs[k].window ||
        p->outputs[k].sharing != FNZ_SHARING_NEW)
      return true;
  return false;
}

/* The signature that sights are read from. */
typedef struct saying {
  fnzi_ver_sights *s;
  const fnzi_graph *graph;
  fnzi_ver_sight *outputs; /* per output of graph 0 */
  uint32_t *input_of;      /* per value: 1 + the input that it is, 0 for none */
  fnzi_map targets;        /* target -> input */
} saying;

/* An output with memory of its own; one that others name as theirs has a window. */
static fnzi_ver_sight new_sight(const saying *a, size_t k) {
  const fnz_output_spec *spec = &a->s->program->outputs[k];
  uint64_t value = a->graph->outputs[k].u.value;
  const fnzi_value *v = &a->graph->values.data[value];
  /* An output that says nothing is a value of its own, or the very input whose value it is. */
  fnzi_ver_sight own =
      a->input_of[value] != 0
          ? a->s->inputs[a->input_of[value] - 1]
          : (fnzi_ver_sight){v, v, v->geometry, NULL, fnzi_is_hop(&a->graph->nodes.data[v->node])};
  return spec->window == NULL ? own
                              : (fnzi_ver_sight){spec, spec, spec->window, NULL, own.may_share};
}

static fnzi_ver_sight said_sight(const saying *a, size_t k) {
  const fnz_output_spec *spec = &a->s->program->outputs[k];
  const fnzi_value *v = &a->graph->values.data[a->graph->outputs[k].u.value];
  const fnz_geometry *g = spec->window ? spec->window : v->geometry;
  switch (spec->sharing) {
  case FNZ_SHARING_INPUT:
    return a->s->inputs[spec->of];
  case FNZ_SHARING_INPUT_VIEW:
    return (fnzi_ver_sight){spec, a->s->inputs[spec->of].memory, g, NULL, false};
  case FNZ_SHARING_OUTPUT:
    return a->outputs[spec->of];
  case FNZ_SHARING_OUTPUT_VIEW:
    return (fnzi_ver_sight){spec, new_sight(a, spec->of).memory, g, NULL, false};
  case FNZ_SHARING_OWN:
    return (fnzi_ver_sight){spec, spec, g, NULL, false};
  case FNZ_SHARING_NEW:
  case FNZ_SHARING_COUNT:
    break;
  }
  return new_sight(a, k);
}

static void say_outputs(const saying *a) {
  for (size_t k = 0; k < a->graph->noutputs; k++)
    if (a->graph->outputs[k].tag == FNZ_ARG_VALUE)
      a->outputs[k] = said_sight(a, k);
}

static fnz_status say_inputs(saying *a) {
  const fnz_program *p = a->s->program;
  for (uint32_t k = 0; k < a->graph->ninputs; k++) {
    bool is_user = p->inputs[k].kind == FNZ_INPUT_USER,
         is_value = fnzi_is_reference(&a->graph->inputs[k]);
    const char *target = !is_user   ? p->inputs[k].target
                         : is_value ? a->graph->values.data[a->graph->inputs[k].u.value].name
                                    : NULL;
    if (target != NULL)
      FNZ_TRY(fnzi_map_set(&a->targets, target, strlen(target), k));
    if (a->graph->inputs[k].tag != FNZ_ARG_VALUE)
      continue;
    uint64_t v = a->graph->inputs[k].u.value;
    a->input_of[v] = k + 1;
    if (a->s->on_memory)
      continue;
    const fnzi_weight *weight = target == NULL || is_user ? NULL : fnzi_weight_find(p, target);
    const void *memory = &p->inputs[fnzi_memory_of(p, k)];
    if (weight != NULL && weight->blob != NULL)
      memory = weight->blob;
    a->s->inputs[k] =
        (fnzi_ver_sight){&p->inputs[k], memory, a->graph->values.data[v].geometry, NULL, false};
  }
  return FNZ_OK;
}

/* A final value gives its input sizes, strides and offset, and other memory if it is set. That the
 * value is negated or conjugated says nothing of the input. */
static fnz_status say_finals(const saying *a, fnzi_arena *arena) {
  for (size_t k = 0; k < a->graph->noutputs; k++) {
    const fnz_output_spec *spec = &a->s->program->outputs[k];
    uint64_t input;
    fnz_geometry *g;
    if (spec->kind == FNZ_OUTPUT_MEMORY_MUTATION || !fnzi_output_is_mutation(spec) ||
        a->outputs[k].tensor == NULL || spec->target == NULL ||
        !fnzi_map_get(&a->targets, spec->target, strlen(spec->target), &input))
      continue;
    fnzi_ver_sight *to = &a->s->inputs[input];
    if (spec->set)
      to->memory = a->outputs[k].memory;
    if (!spec->metadata || !to->g)
      continue;
    FNZI_NEW(arena, 1, &g);
    *g = *a->outputs[k].g;
    g->is_conj = to->g->is_conj;
    g->is_neg = to->g->is_neg;
    to->g = g;
  }
  return FNZ_OK;
}

/* Outputs name inputs as they are in the end, and final values name outputs: hence twice. */
static fnz_status say_all(fnzi_arena *arena, fnzi_ver_sights *s) {
  saying a = {.s = s, .graph = fnzi_graph_main(s->program)};
  size_t number = 0;
  FNZI_NEW(arena, a.graph->noutputs, &a.outputs);
  FNZI_NEW(arena, a.graph->values.count, &a.input_of);
  fnzi_map_init(&a.targets, arena->ctx);
  fnz_status status = say_inputs(&a);
  if (status == FNZ_OK) {
    say_outputs(&a);
    status = say_finals(&a, arena);
    say_outputs(&a);
  }
  fnzi_map_free(&a.targets);
  for (size_t k = 0; k < a.graph->noutputs; k++)
    if (fnzi_output_is_result(&s->program->outputs[k]))
      s->results[number++] = a.outputs[k];
  return status;
}

/* --- What a run shows ------------------------------------------------------------------------- */

fnz_status fnzi_ver_sights_open(fnzi_arena *arena, const fnz_program *p, bool on_memory,
                                fnzi_ver_sights *out) {
  const fnzi_graph *g = fnzi_graph_main(p);
  *out = (fnzi_ver_sights){.program = p, .ninputs = g->ninputs, .on_memory = on_memory};
  out->is_said = !on_memory || fnzi_ver_sharing_is_said(p);
  out->is_unknown = p->says_no_sharing && out->is_said;
  FNZI_NEW(arena, g->noutputs, &out->numbers);
  for (size_t k = 0; k < g->noutputs; k++) {
    out->numbers[k] = (uint32_t)out->nresults;
    out->nresults += fnzi_output_is_result(&p->outputs[k]);
  }
  FNZI_NEW(arena, out->ninputs, &out->inputs);
  FNZI_NEW(arena, out->nresults, &out->results);
  return FNZ_OK;
}

fnz_status fnzi_ver_sights_finish(fnzi_arena *arena, fnzi_ver_sights *s) {
  return s->is_said ? say_all(arena, s) : FNZ_OK;
}

fnz_status fnzi_ver_sights_see(fnzi_arena *arena, fnzi_ver_sights *s, const fnzi_run_shown *shown) {
  fnz_geometry *g;
  int64_t *numbers;
  size_t rank = shown->geometry->rank;
  if (!shown->is_input && (s->is_said || !fnzi_output_is_result(&s->program->outputs[shown->k])))
    return FNZ_OK;
  fnzi_ver_sight *to = shown->is_input ? &s->inputs[shown->k] : &s->results[s->numbers[shown->k]];
  FNZI_NEW(arena, 1, &g);
  FNZI_NEW(arena, 2 * rank, &numbers);
  *g = *shown->geometry;
  if (rank > 0) {
    memcpy(numbers, g->sizes, rank * sizeof *numbers);
    memcpy(numbers + rank, g->strides, rank * sizeof *numbers);
  }
  g->sizes = numbers;
  g->strides = numbers + rank;
  const fnz_arg *arg = &fnzi_graph_main(s->program)->outputs[shown->k];
  const fnz_geometry *recorded =
      shown->is_input ? NULL : fnzi_value_at(s->program, 0, arg->u.value)->geometry;
  *to = (fnzi_ver_sight){shown->tensor, shown->memory, g, recorded, false};
  return FNZ_OK;
}

/* A functional program keeps views, so it was run on memory, but it says no more than others of
 * what its bodies give. */
void fnzi_ver_sights_doubt(fnzi_ver_sights *s) {
  const fnzi_graph *g = fnzi_graph_main(s->program);
  for (size_t k = 0; !s->is_said && k < g->noutputs; k++) {
    const fnzi_value *v =
        g->outputs[k].tag == FNZ_ARG_VALUE ? &g->values.data[g->outputs[k].u.value] : NULL;
    if (v && v->node != FNZI_NO_NODE && fnzi_output_is_result(&s->program->outputs[k]) &&
        fnzi_is_hop(&g->nodes.data[v->node]))
      s->results[s->numbers[k]].may_share = true;
  }
}

/* --- Comparing -------------------------------------------------------------------------------- */

/* Inputs of the first program have the ranks 0, 1, ...; output.K has the rank `ninputs` + K. */
typedef struct ranks {
  const fnzi_ver_sights *of;
  fnzi_map tensors, memories; /* -> the least rank that is this tensor, or lies in this memory */
} ranks;

typedef struct standing {
  uint64_t tensor, memory;
} standing;

typedef struct comparing {
  fnz_context *ctx;
  ranks a, b;
  uint32_t *match;    /* per input of the first program: that of the second; UINT32_MAX for none */
  char *not_compared; /* FNZI_VER_NOTE bytes */
} comparing;

/* The map borrows the key. */
static fnz_status least(fnzi_map *map, const void *const *key, uint64_t rank, uint64_t *out) {
  if (fnzi_map_get(map, key, sizeof *key, out))
    return FNZ_OK;
  *out = rank;
  return fnzi_map_set(map, key, sizeof *key, rank);
}

static fnz_status stand(ranks *r, const fnzi_ver_sight *sight, uint64_t rank, standing *out) {
  FNZ_TRY(least(&r->tensors, &sight->tensor, rank, &out->tensor));
  return least(&r->memories, &sight->memory, rank, &out->memory);
}

static void put_name(const comparing *c, uint64_t rank, char out[96]) {
  const fnzi_ver_sights *s = c->a.of;
  if (rank >= s->ninputs)
    snprintf(out, 96, "output.%llu", (unsigned long long)(rank - s->ninputs));
  else
    snprintf(out, 96, "input %%%.80s",
             fnzi_value_at(s->program, 0, fnzi_graph_main(s->program)->inputs[rank].u.value)->name);
}

static void put_standing(const comparing *c, const standing *at, uint64_t rank, char out[128]) {
  char name[96];
  put_name(c, at->tensor != rank ? at->tensor : at->memory, name);
  if (at->tensor != rank)
    snprintf(out, 128, "is %s itself", name);
  else if (at->memory != rank)
    snprintf(out, 128, "lies in the memory of %s", name);
  else
    snprintf(out, 128, "has memory of its own");
}

static void put_window(const fnz_geometry *g, bool offset, char out[192]) {
  char shape[FNZI_SHAPE_TEXT];
  fnzi_shape_text(g, shape);
  int at = snprintf(out, 192, "%.60s stride(", shape);
  for (uint32_t d = 0; d < g->rank && at < 140; d++)
    at += snprintf(out + at, 192 - (size_t)at, "%s%lld", d ? "," : "", (long long)g->strides[d]);
  at += snprintf(out + at, 192 - (size_t)at, ")");
  if (offset)
    snprintf(out + at, 192 - (size_t)at, " offset(%lld)", (long long)g->offset);
}

/* The same elements in the same order; if `is_shared`, counted from the same place, and read in the
 * same way. */
static bool same_window(const fnz_geometry *a, const fnz_geometry *b, bool is_shared) {
  if (a->dtype != b->dtype || !fnzi_same_sizes(a, b) ||
      (is_shared && (a->is_conj != b->is_conj || a->is_neg != b->is_neg)))
    return false;
  return fnz_geometry_numel(a) == 0 ||
         (fnzi_same_strides(a, b) && (!is_shared || a->offset == b->offset));
}

static void skip(const comparing *c, uint64_t rank, const char *what, const char *why) {
  char name[96];
  if (c->not_compared[0] != '\0')
    return;
  put_name(c, rank, name);
  snprintf(c->not_compared, FNZI_VER_NOTE, "%s of %.70s, %s", what, name, why);
}

/* Memory of its own that a tensor leaves gaps in, or reads twice, is dense in a functional program,
 * where no tensor is a window. */
static fnz_status compare_windows(const comparing *c, uint64_t rank, const fnzi_ver_sight *a,
                                  const fnzi_ver_sight *b, bool is_shared) {
  char name[96], first[192], second[192];
  if (a->g == NULL || b->g == NULL || same_window(a->g, b->g, is_shared))
    return FNZ_OK;
  /* Eager gives a *_copy other strides than its node records; the recorded strides count. */
  if (!is_shared && b->recorded != NULL && same_window(a->g, b->recorded, false))
    return FNZ_OK;
  if (!is_shared && (!fnzi_is_dense(a->g) || !fnzi_is_dense(b->g)))
    return skip(c, rank, "strides", "which do not fill its memory"), FNZ_OK;
  put_name(c, rank, name);
  put_window(a->g, is_shared, first);
  put_window(b->g, is_shared, second);
  return fnzi_fail(c->ctx, FNZ_CLASS_DIFFERENT, "", "%s is %s in the original and %s here", name,
                   first, second);
}

static const fnzi_ver_sight *sight_at(const fnzi_ver_sights *s, const uint32_t *match,
                                      size_t ninputs, uint64_t rank) {
  return rank >= ninputs ? &s->results[rank - ninputs]
                         : &s->inputs[match != NULL ? match[rank] : rank];
}

/* Offsets count from the first input or output that lies in the memory: of an output with memory of
 * its own, the two programs may count from elsewhere. */
static fnz_geometry from_first(const fnz_geometry *g, const fnzi_ver_sight *first) {
  fnz_geometry out = *g;
  if (first->g != NULL)
    out.offset -= first->g->offset;
  return out;
}

static fnz_status compare_shared(const comparing *c, uint64_t rank, uint64_t first,
                                 const fnzi_ver_sight *a, const fnzi_ver_sight *b) {
  size_t ninputs = c->a.of->ninputs;
  fnzi_ver_sight x = *a, y = *b;
  if (a->g == NULL || b->g == NULL)
    return FNZ_OK;
  /* A file records windows as if indices that depend on data counted from the start. */
  if (a->recorded != NULL && c->a.of->program->instantiated && same_window(a->recorded, b->g, true))
    return FNZ_OK;
  fnz_geometry one = from_first(a->g, sight_at(c->a.of, NULL, ninputs, first));
  fnz_geometry other = from_first(b->g, sight_at(c->b.of, c->match, ninputs, first));
  x.g = &one;
  y.g = &other;
  return compare_windows(c, rank, &x, &y, true);
}

/* The memory of weights is that of the file's data, whatever a signature says. */
static bool is_weight(const comparing *c, uint64_t rank) {
  const fnzi_ver_sights *s = c->a.of;
  return rank < s->ninputs && s->program->inputs[rank].kind != FNZ_INPUT_USER;
}

/* Compares one input or output. */
static fnz_status sharing_compare_one(comparing *c, uint64_t rank, const fnzi_ver_sight *a,
                                      const fnzi_ver_sight *b) {
  standing first = {rank, rank}, second = {rank, rank};
  if (a->tensor == NULL || b->tensor == NULL)
    return FNZ_OK;
  FNZ_TRY(stand(&c->a, a, rank, &first));
  FNZ_TRY(stand(&c->b, b, rank, &second));
  /* If a program was instantiated for these sizes, the memory and strides of a tensor without
   * elements do not matter. */
  if (c->a.of->program->instantiated && a->g != NULL && fnz_geometry_numel(a->g) == 0)
    return FNZ_OK;
  bool is_said = !c->a.of->is_unknown && !c->b.of->is_unknown;
  bool same = first.tensor == second.tensor && first.memory == second.memory;
  /* A functional form that keeps views was run on memory. A view that shows a whole output is that
   * output in it; the signature says that they are two tensors, and a .pt2 file leaves this out. */
  if (!same && first.memory == second.memory && c->b.of->on_memory &&
      c->b.of->program->says_no_sharing) {
    skip(c, rank, "identity", "of which a .pt2 file says nothing");
    return compare_shared(c, rank, first.memory, a, b);
  }
  if (!same && !is_said)
    skip(c, rank, "memory", "of which a .pt2 file says nothing");
  else if (!same && (a->may_share || b->may_share))
    skip(c, rank, "memory", "which a body gives");
  else if (!same && !is_weight(c, rank)) {
    char name[96], there[128], here[128];
    put_name(c, rank, name);
    put_standing(c, &first, rank, there);
    put_standing(c, &second, rank, here);
    return fnzi_fail(c->ctx, FNZ_CLASS_DIFFERENT, "", "%s %s in the original and %s here", name,
                     there, here);
  }
  if (same && first.tensor != rank)
    return FNZ_OK;
  return same && first.memory != rank ? compare_shared(c, rank, first.memory, a, b)
                                      : compare_windows(c, rank, a, b, false);
}

/* The views of an output lead from its input to its window. */
static fnz_status check_views(fnz_context *ctx, const fnzi_ver_sights *s, size_t k) {
  const fnz_output_spec *spec = &s->program->outputs[k];
  fnz_status status = FNZ_OK;
  fnzi_arena arena;
  if (spec->nviews == 0)
    return FNZ_OK;
  const fnz_geometry *at = s->inputs[spec->of].g; /* only an output with views names an input */
  if (at == NULL || at->symbols != NULL || fnz_geometry_numel(spec->window) == 0)
    return FNZ_OK;
  fnzi_arena_init(&arena, ctx);
  for (uint32_t i = 0; status == FNZ_OK && i < spec->nviews; i++) {
    const fnz_view_call *v = &spec->views[i];
    const fnzi_view *view = fnzi_view_find(v->op);
    const fnzi_op_call call = {v->op, v->args, v->nargs};
    fnz_geometry *windows;
    size_t count = 0;
    status = view == NULL ? fnzi_fail(ctx, FNZ_CLASS_DIFFERENT, "", "%s is no view", v->op->name)
                          : fnzi_view_forward((fnzi_int_space){NULL, &arena}, view, &call, at,
                                              &windows, &count);
    at = status == FNZ_OK && v->index < count ? &windows[v->index] : at;
  }
  if (!fnzi_ver_is_limit(status) && (status != FNZ_OK || !same_window(at, spec->window, true)))
    status =
        fnzi_fail(ctx, FNZ_CLASS_DIFFERENT, "",
                  "the views that output %zu says it was made by do not lead to its window", k);
  fnzi_arena_free(&arena);
  return status;
}

static fnz_status match_inputs(comparing *c, fnzi_arena *arena) {
  const fnzi_ver_sights *a = c->a.of, *b = c->b.of;
  const fnzi_graph *g = fnzi_graph_main(b->program);
  fnzi_map names;
  fnz_status status = FNZ_OK;
  FNZI_NEW(arena, a->ninputs, &c->match);
  fnzi_map_init(&names, c->ctx);
  for (uint32_t k = 0; status == FNZ_OK && k < b->ninputs; k++) {
    const char *name =
        fnzi_is_reference(&g->inputs[k]) ? g->values.data[g->inputs[k].u.value].name : NULL;
    if (name != NULL)
      status = fnzi_map_set(&names, name, strlen(name), k);
  }
  g = fnzi_graph_main(a->program);
  for (uint32_t k = 0; k < a->ninputs; k++) {
    uint64_t found = UINT32_MAX;
    const char *name =
        fnzi_is_reference(&g->inputs[k]) ? g->values.data[g->inputs[k].u.value].name : NULL;
    if (name == NULL || !fnzi_map_get(&names, name, strlen(name), &found))
      found = UINT32_MAX;
    c->match[k] = (uint32_t)found;
  }
  fnzi_map_free(&names);
  return status;
}

static fnz_status compare_all(comparing *c) {
  const fnzi_ver_sights *a = c->a.of, *b = c->b.of;
  for (uint32_t k = 0; k < a->ninputs; k++)
    if (c->match[k] != UINT32_MAX)
      FNZ_TRY(sharing_compare_one(c, k, &a->inputs[k], &b->inputs[c->match[k]]));
  for (size_t k = 0; k < a->nresults && k < b->nresults; k++)
    FNZ_TRY(sharing_compare_one(c, a->ninputs + k, &a->results[k], &b->results[k]));
  for (size_t k = 0; b->is_said && k < fnzi_graph_main(b->program)->noutputs; k++)
    FNZ_TRY(check_views(c->ctx, b, k));
  return FNZ_OK;
}

fnz_status fnzi_ver_sights_compare(fnz_context *ctx, const fnzi_ver_sights *a,
                                   const fnzi_ver_sights *b, char not_compared[FNZI_VER_NOTE]) {
  comparing c = {.ctx = ctx, .a.of = a, .b.of = b, .not_compared = not_compared};
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnzi_map_init(&c.a.tensors, ctx);
  fnzi_map_init(&c.a.memories, ctx);
  fnzi_map_init(&c.b.tensors, ctx);
  fnzi_map_init(&c.b.memories, ctx);
  fnz_status status = match_inputs(&c, &arena);
  if (status == FNZ_OK)
    status = compare_all(&c);
  fnzi_map_free(&c.a.tensors);
  fnzi_map_free(&c.a.memories);
  fnzi_map_free(&c.b.tensors);
  fnzi_map_free(&c.b.memories);
  fnzi_arena_free(&arena);
  return status;
}
