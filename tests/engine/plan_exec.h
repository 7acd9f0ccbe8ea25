/* plan_exec.h - runs a plan on bytes, without kernels: a computed value is random bytes, so that
 * each read of a step can be compared with the program's value, wherever the plan put it.
 *
 * Operators that only move elements are evaluated by the CPU backend on dense copies. A step that
 * computes is as hostile as its contract allows: results are filled with rubbish before operands
 * are read, except for pointwise ones, which read and write four elements at a time.
 *
 * With a route there are two memories, of the CPU and of a device: each step runs in one of them,
 * and only the route's copies get to the other. */
#ifndef FNZ_TESTS_ENGINE_PLAN_EXEC_H
#define FNZ_TESTS_ENGINE_PLAN_EXEC_H

#include "engine/device/device.h"
#include "kernels/backends.h"
#include "views/views.h"

#include <fnz/fnz.h>

#include <stdio.h>
#include <stdlib.h>

enum { EXEC_BLOCK = 4, EXEC_MESSAGE = 256 };

typedef struct exec {
  fnz_context *ctx;
  const fnzi_pln_plan *plan;
  const fnzi_graph *graph;
  fnz_backend *cpu;
  fnzi_arena arena;
  unsigned char **means;          /* per value: its elements in row-major order */
  unsigned char **memory;         /* per buffer; with a route that of the step that runs, */
  const fnzi_dev_schedule *route; /* NULL: there is one memory */
  const bool *stays;              /* per output: it is not copied to the CPU */
  unsigned char **host, **device; /* which is one of these */
  unsigned char **came;           /* per buffer of inputs: its content at the start */
  uint64_t state;                 /* of the random bytes */
  size_t reads;                   /* compared */
  char message[EXEC_MESSAGE];     /* "" while all is right */
} exec;

static inline void exec_random(exec *e, void *out, size_t bytes) {
  unsigned char *to = out;
  for (size_t i = 0; i < bytes; i++) {
    e->state = e->state * 6364136223846793005u + 1442695040888963407u;
    to[i] = (unsigned char)(e->state >> 33);
  }
}

static inline const fnz_geometry *exec_geometry(const exec *e, uint64_t value) {
  return e->graph->values.data[value].geometry;
}

static inline size_t exec_bytes(const fnz_geometry *g) {
  return (size_t)fnz_geometry_numel(g) * fnzi_dtype(g->dtype)->bytes;
}

/* Address of element i in row-major order. */
static inline unsigned char *exec_at(const exec *e, fnzi_pln_location location, int64_t i) {
  int64_t at = location.map->offset;
  size_t cell = fnzi_dtype(location.map->dtype)->bytes;
  for (uint32_t d = location.map->rank; d-- > 0; i /= location.map->sizes[d])
    at += i % location.map->sizes[d] * location.map->strides[d];
  if (at < 0 || ((size_t)at + 1) * cell > e->plan->buffers.data[location.buffer].bytes)
    abort();
  return e->memory[location.buffer] + (size_t)at * cell;
}

static inline void exec_write(exec *e, fnzi_pln_location location, const unsigned char *from) {
  size_t cell = fnzi_dtype(location.map->dtype)->bytes;
  for (int64_t i = 0; i < fnz_geometry_numel(location.map); i++)
    memcpy(exec_at(e, location, i), from + (size_t)i * cell, cell);
}

static inline void exec_gather(exec *e, fnzi_pln_location location, unsigned char *out) {
  size_t cell = fnzi_dtype(location.map->dtype)->bytes;
  for (int64_t i = 0; i < fnz_geometry_numel(location.map); i++)
    memcpy(out + (size_t)i * cell, exec_at(e, location, i), cell);
}

static inline bool exec_holds(exec *e, fnzi_pln_location location, uint64_t value, size_t step) {
  size_t cell = fnzi_dtype(location.map->dtype)->bytes;
  e->reads++;
  for (int64_t i = 0; i < fnz_geometry_numel(location.map); i++)
    if (memcmp(exec_at(e, location, i), e->means[value] + (size_t)i * cell, cell) != 0) {
      if (e->message[0] == 0)
        snprintf(e->message, EXEC_MESSAGE, "step %zu of %zu: element %lld of %%%s is overwritten",
                 step, e->plan->steps.count, (long long)i, e->graph->values.data[value].name);
      return false;
    }
  return true;
}

/* --- What the program means --------------------------------------------------------------- */
static inline bool exec_moves_only(const fnz_op *op) {
  static const char *const movers[] = {
      "clone",           "contiguous",    "dropout",        "copy",     "cat",
      "concat",          "concatenate",   "stack",          "_to_copy", "slice_inverse",
      "feature_dropout", "alpha_dropout", "lift_fresh_copy"};
  if (op == NULL)
    return false;
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
    if (strcmp(op->base, movers[i]) == 0)
      return true;
  size_t n = strlen(op->base);
  bool scatters = n > 8 && strcmp(op->base + n - 8, "_scatter") == 0;
  return fnzi_view_find(op) != NULL || (scatters && strncmp(op->base, "masked", 6) != 0);
}

typedef struct exec_values {
  exec *e;
  uint64_t list[4096];
  size_t count;
} exec_values;

static inline void exec_note(exec_values *v, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE && exec_geometry(v->e, each.arg->u.value) && v->count < 4096)
      v->list[v->count++] = each.arg->u.value;
}

static inline fnz_geometry exec_rows(const fnz_geometry *g, int64_t *strides) {
  fnz_geometry rows = *g;
  rows.offset = 0;
  rows.strides = strides;
  rows.symbols = NULL;
  rows.is_conj = rows.is_neg = false;
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  return rows;
}

typedef struct exec_lowering {
  exec *e;
  fnz_handle handles[4096];
  size_t count;
} exec_lowering;

static inline fnz_status exec_lower(exec_lowering *l, fnz_arg *arg) {
  exec *e = l->e;
  if (arg->tag == FNZ_ARG_LIST) {
    fnz_arg *copy;
    FNZI_NEW(&e->arena, arg->count, &copy);
    memcpy(copy, arg->u.list, arg->count * sizeof *copy);
    for (uint32_t i = 0; i < arg->count; i++)
      if (copy[i].tag != FNZ_ARG_LIST)
        FNZ_TRY(exec_lower(l, &copy[i]));
    arg->u.list = copy;
    return FNZ_OK;
  }
  if (arg->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  int64_t strides[FNZ_MAX_RANK];
  fnz_geometry rows = exec_rows(exec_geometry(e, arg->u.value), strides);
  fnz_handle made = 0;
  FNZ_TRY(e->cpu->upload(e->cpu->self, e->ctx, &rows, e->means[arg->u.value], &made));
  l->handles[l->count++] = made;
  arg->u.value = made;
  return FNZ_OK;
}

static inline bool exec_apply(exec *e, const fnzi_node *node, const exec_values *results) {
  static exec_lowering l;
  fnz_handle out[4096];
  size_t count = 0;
  fnz_arg *args;
  void *room;
  l = (exec_lowering){.e = e};
  if (fnzi_arena_alloc(&e->arena, node->nargs, sizeof *args, &room) != FNZ_OK)
    return false;
  args = room;
  memcpy(args, node->args, node->nargs * sizeof *args);
  bool ok = true;
  for (uint32_t i = 0; ok && i < node->nargs; i++)
    ok = exec_lower(&l, &args[i]) == FNZ_OK;
  fnz_request call = {node->op, args, node->nargs, NULL, ""};
  ok = ok && e->cpu->apply(e->cpu->self, e->ctx, &call, out, 4096, &count) == FNZ_OK;
  for (size_t k = 0; ok && k < count && k < results->count; k++)
    ok = e->cpu->download(e->cpu->self, e->ctx, out[k], e->means[results->list[k]]) == FNZ_OK;
  ok = ok && count == results->count;
  for (size_t k = 0; k < count; k++)
    e->cpu->release(e->cpu->self, out[k]);
  for (size_t k = 0; k < l.count; k++)
    e->cpu->release(e->cpu->self, l.handles[k]);
  return ok;
}

static inline fnz_status exec_mean(exec *e) {
  static exec_values results;
  for (size_t v = 0; v < e->graph->values.count; v++)
    if (exec_geometry(e, v) && !e->means[v])
      FNZI_NEW(&e->arena, exec_bytes(exec_geometry(e, v)) + 1, &e->means[v]);
  for (size_t n = 0; n < e->graph->nodes.count; n++) {
    const fnzi_node *node = &e->graph->nodes.data[n];
    results = (exec_values){.e = e};
    exec_note(&results, node->outputs, node->noutputs);
    bool done = exec_moves_only(node->op) && exec_apply(e, node, &results);
    for (size_t k = 0; !done && k < results.count; k++)
      exec_random(e, e->means[results.list[k]], exec_bytes(exec_geometry(e, results.list[k])));
  }
  return FNZ_OK;
}

/* --- Steps -------------------------------------------------------------------------------- */
static inline void exec_move(exec *e, const fnzi_pln_step *s) {
  size_t cell = fnzi_dtype(s->from.map->dtype)->bytes;
  unsigned char block[EXEC_BLOCK * 16];
  int64_t numel = fnz_geometry_numel(s->to.map);
  if (fnz_geometry_numel(s->from.map) != numel || fnzi_dtype(s->to.map->dtype)->bytes != cell)
    snprintf(e->message, EXEC_MESSAGE, "a move between places of other sizes");
  for (int64_t i = 0; i < numel && !e->message[0]; i += EXEC_BLOCK) {
    for (int64_t k = i; k < numel && k < i + EXEC_BLOCK; k++)
      memcpy(block + (size_t)(k - i) * cell, exec_at(e, s->from, k), cell);
    for (int64_t k = i; k < numel && k < i + EXEC_BLOCK; k++)
      memcpy(exec_at(e, s->to, k), block + (size_t)(k - i) * cell, cell);
  }
}

static inline bool exec_is_point(const fnz_op *op) {
  const fnzi_kernel *row = op ? fnzi_kernel_row(op) : NULL;
  return row && row->memory == FNZI_MEMORY_POINT;
}

/* Element of an operand that belongs to element i of the result: sizes broadcast. */
static inline int64_t exec_broadcast(const fnz_geometry *result, const fnz_geometry *operand,
                                     int64_t i) {
  int64_t at = 0, step = 1;
  if (operand->rank > result->rank)
    return fnz_geometry_numel(operand) ? i % fnz_geometry_numel(operand) : 0;
  for (uint32_t d = 0; d < operand->rank; d++) {
    uint32_t o = operand->rank - 1 - d, r = result->rank - 1 - d;
    int64_t index = i % result->sizes[r];
    i /= result->sizes[r];
    at += (operand->sizes[o] == 1 ? 0 : index % operand->sizes[o]) * step;
    step *= operand->sizes[o];
  }
  return at;
}

/* The operand elements of element `i` of a result are still there. */
static inline void exec_read_element(exec *e, uint64_t value, const fnz_geometry *result, int64_t i,
                                     size_t step) {
  fnzi_pln_location from = e->plan->locations[value];
  size_t part = fnzi_dtype(from.map->dtype)->bytes;
  if (fnz_geometry_numel(from.map) == 0)
    return;
  int64_t j = exec_broadcast(result, from.map, i);
  if (memcmp(exec_at(e, from, j), e->means[value] + (size_t)j * part, part) != 0 && !e->message[0])
    snprintf(e->message, EXEC_MESSAGE,
             "step %zu: a pointwise operator overwrites element %lld of its operand %%%s "
             "before it reads it",
             step, (long long)j, e->graph->values.data[value].name);
}

static inline void exec_write_elements(exec *e, uint64_t result, int64_t i, int64_t count) {
  fnzi_pln_location to = e->plan->locations[result];
  size_t cell = fnzi_dtype(to.map->dtype)->bytes;
  int64_t numel = fnz_geometry_numel(to.map);
  for (int64_t k = i; k < numel && k < i + count; k++)
    memcpy(exec_at(e, to, k), e->means[result] + (size_t)k * cell, cell);
}

static inline void exec_point(exec *e, const exec_values *args, uint64_t result, size_t step) {
  const fnz_geometry *map = e->plan->locations[result].map;
  int64_t numel = fnz_geometry_numel(map);
  for (int64_t i = 0; i < numel; i += EXEC_BLOCK) {
    for (size_t a = 0; a < args->count; a++)
      for (int64_t k = i; k < numel && k < i + EXEC_BLOCK; k++)
        exec_read_element(e, args->list[a], map, k, step);
    exec_write_elements(e, result, i, EXEC_BLOCK);
  }
}

static inline bool exec_is_in(const exec_values *values, uint64_t value) {
  for (size_t k = 0; k < values->count; k++)
    if (values->list[k] == value)
      return true;
  return false;
}

/* --- Groups ------------------------------------------------------------------------------- */
/* The rows by which a group goes: dimensions of the operand of a node that is not pointwise. */
typedef struct exec_space {
  const fnz_geometry *g;
  int64_t row; /* elements of a row; 1: elements are by themselves */
} exec_space;

/* Elements per row, for a result that has a number for each row; else the length in a norm, or the
 * last dimension in a softmax. */
static inline int64_t exec_row(const exec *e, const fnzi_node *node) {
  const fnz_geometry *x = exec_geometry(e, node->args[0].u.value);
  const fnz_geometry *y = exec_geometry(e, node->outputs[node->noutputs - 1].u.value);
  int64_t row = 1;
  if (fnz_geometry_numel(x) != fnz_geometry_numel(y))
    return fnz_geometry_numel(x) / fnz_geometry_numel(y);
  if (strstr(node->op->base, "softmax"))
    return x->sizes[x->rank - 1];
  for (uint32_t d = 0; node->args[1].tag == FNZ_ARG_LIST && d < node->args[1].count; d++)
    row *= node->args[1].u.list[d].u.i;
  return row;
}

static inline exec_space exec_space_of(const exec *e, const fnzi_pln_step *s) {
  exec_space space = {exec_geometry(e, e->graph->nodes.data[s->first].outputs[0].u.value), 1};
  for (uint32_t n = s->first; n <= s->last; n++) {
    const fnzi_node *node = &e->graph->nodes.data[n];
    if (exec_is_point(node->op) || exec_moves_only(node->op))
      continue;
    space.g = exec_geometry(e, node->args[0].u.value);
    space.row = exec_row(e, node);
  }
  return space;
}

/* The operands of elements from `i` on are still there: for a result of the whole space these
 * elements, else their rows; if a node reads whole rows, all of its other operands. */
static inline void exec_read_node(exec *e, const exec_space *space, const fnzi_node *node,
                                  const exec_values *made, int64_t i, int64_t count, size_t step) {
  static exec_values args;
  const fnz_geometry *result = exec_geometry(e, node->outputs[0].u.value);
  bool rows = !exec_is_point(node->op) && !exec_moves_only(node->op);
  int64_t all = fnz_geometry_numel(result) == fnz_geometry_numel(space->g) || rows ? 1 : space->row;
  args = (exec_values){.e = e};
  exec_note(&args, node->args, node->nargs);
  for (size_t a = 0; a < args.count; a++) {
    if (exec_is_in(made, args.list[a]))
      continue;
    if (rows && a > 0)
      exec_holds(e, e->plan->locations[args.list[a]], args.list[a], step);
    for (int64_t k = i; k < i + count && !(rows && a > 0); k += all)
      exec_read_element(e, args.list[a], rows ? space->g : result, k / all, step);
  }
}

/* From the last element, or row, to the first; all that comes from outside is read before anything
 * is written. */
static inline void exec_group(exec *e, const fnzi_pln_step *s, size_t step) {
  static exec_values results;
  exec_space space = exec_space_of(e, s);
  int64_t numel = fnz_geometry_numel(space.g), block = space.row > 1 ? space.row : EXEC_BLOCK;
  results = (exec_values){.e = e};
  for (uint32_t n = s->first; n <= s->last; n++)
    exec_note(&results, e->graph->nodes.data[n].outputs, e->graph->nodes.data[n].noutputs);
  for (int64_t i = (numel - 1) / block * block; i >= 0 && numel > 0; i -= block) {
    int64_t count = numel - i < block ? numel - i : block;
    for (uint32_t n = s->first; n <= s->last; n++)
      exec_read_node(e, &space, &e->graph->nodes.data[n], &results, i, count, step);
    for (size_t k = 0; k < results.count; k++) {
      bool whole = fnz_geometry_numel(exec_geometry(e, results.list[k])) == numel;
      if (e->plan->locations[results.list[k]].buffer != FNZI_PLN_NONE)
        exec_write_elements(e, results.list[k], whole ? i : i / space.row, whole ? count : 1);
    }
  }
}

static inline void exec_rubbish(exec *e, fnzi_pln_location location) {
  size_t cell = fnzi_dtype(location.map->dtype)->bytes;
  for (int64_t i = 0; i < fnz_geometry_numel(location.map); i++)
    exec_random(e, exec_at(e, location, i), cell);
}

/* An element of the base that nothing needs becomes rubbish too. */
static inline void exec_update(exec *e, fnzi_pln_location to, uint64_t base, uint64_t result) {
  size_t cell = fnzi_dtype(to.map->dtype)->bytes;
  for (int64_t i = 0; i < fnz_geometry_numel(to.map); i++) {
    size_t at = (size_t)i * cell;
    if (memcmp(exec_at(e, to, i), e->means[base] + at, cell) == 0)
      memcpy(exec_at(e, to, i), e->means[result] + at, cell);
    else
      exec_random(e, exec_at(e, to, i), cell);
  }
}

/* Running statistics of batch norm: an element of the old ones is read before the new one is
 * written (kernels/cpu/norm.c). */
static inline bool exec_is_running(const fnzi_node *node, size_t result) {
  const char *name = node->op ? node->op->name : "";
  return (strcmp(name, "_native_batch_norm_legit_functional") == 0 && result >= 3) ||
         (strcmp(name, "_batch_norm_with_update_functional") == 0 && result >= 4);
}

/* A node with bodies may write a result exactly where an operand of it is. */
static inline bool exec_is_taken(const exec *e, const fnzi_node *node, const exec_values *results,
                                 uint64_t value) {
  const fnzi_pln_location *at = e->plan->locations;
  for (size_t k = 0; k < results->count && !node->op; k++)
    if (at[results->list[k]].buffer == at[value].buffer &&
        at[results->list[k]].map->offset == at[value].map->offset)
      return true;
  return false;
}

/* Operands are looked at before results are written, and again after that. */
static inline void exec_write_results(exec *e, const fnzi_node *node, const exec_values *args,
                                      const exec_values *results, uint64_t base, size_t step) {
  for (size_t k = 0; k < results->count; k++)
    if ((k > 0 || base == UINT64_MAX) && !exec_is_running(node, k))
      exec_rubbish(e, e->plan->locations[results->list[k]]);
  if (base != UINT64_MAX)
    exec_update(e, e->plan->locations[results->list[0]], base, results->list[0]);
  for (size_t a = base == UINT64_MAX ? 0 : 1; a < args->count; a++)
    if (!exec_is_taken(e, node, results, args->list[a]))
      exec_holds(e, e->plan->locations[args->list[a]], args->list[a], step);
  for (size_t k = base == UINT64_MAX ? 0 : 1; k < results->count; k++) {
    exec_write(e, e->plan->locations[results->list[k]], e->means[results->list[k]]);
    exec_holds(e, e->plan->locations[results->list[k]], results->list[k], step);
  }
}

/* Operands of element i of an operator on lists. */
static inline void exec_items(exec *e, const fnzi_node *node, uint32_t item, exec_values *out) {
  *out = (exec_values){.e = e};
  for (uint32_t k = 0; k < node->nargs; k++) {
    const fnz_arg *arg = &node->args[k];
    if (arg->tag == FNZ_ARG_LIST && item < arg->count)
      arg = &arg->u.list[item];
    exec_note(out, arg, 1);
  }
}

/* One after the other. */
static inline void exec_list(exec *e, const fnzi_node *node, const exec_values *results,
                             size_t step) {
  static exec_values items;
  for (size_t i = 0; i < results->count; i++) {
    exec_items(e, node, (uint32_t)i, &items);
    exec_point(e, &items, results->list[i], step);
  }
}

static inline void exec_call(exec *e, const fnzi_pln_step *s, size_t step) {
  static exec_values args, results;
  const fnzi_node *node = &e->graph->nodes.data[s->last];
  const fnz_op *element = node->op ? fnzi_foreach_element(node->op) : NULL;
  args = (exec_values){.e = e};
  results = (exec_values){.e = e};
  exec_note(&args, node->args, node->nargs);
  exec_note(&results, node->outputs, node->noutputs);
  for (size_t a = s->in_place; a < args.count; a++)
    exec_holds(e, e->plan->locations[args.list[a]], args.list[a], step);
  if (exec_is_point(node->op) && results.count == 1 && !s->in_place)
    exec_point(e, &args, results.list[0], step);
  else if (element && exec_is_point(element))
    exec_list(e, node, &results, step);
  else
    exec_write_results(e, node, &args, &results, s->in_place ? args.list[0] : UINT64_MAX, step);
}

/* --- The whole ---------------------------------------------------------------------------- */
static inline fnz_status exec_memory(exec *e) {
  const fnzi_pln_plan *plan = e->plan;
  unsigned char *arena;
  FNZI_NEW(&e->arena, plan->buffers.count, &e->memory);
  FNZI_NEW(&e->arena, plan->buffers.count, &e->came);
  e->host = e->memory;
  FNZI_NEW(&e->arena, plan->arena_bytes + 64, &arena);
  exec_random(e, arena, plan->arena_bytes + 64);
  for (size_t b = 0; b < plan->buffers.count; b++) {
    const fnzi_pln_buffer *buffer = &plan->buffers.data[b];
    if (buffer->kind == FNZI_PLN_TEMP) {
      e->memory[b] = arena + buffer->offset;
      if (buffer->first != FNZI_PLN_NONE && buffer->offset + buffer->bytes > plan->arena_bytes)
        snprintf(e->message, EXEC_MESSAGE, "buffer %zu leaves the arena", b);
      continue;
    }
    FNZI_NEW(&e->arena, buffer->bytes + 1, &e->memory[b]);
    exec_random(e, e->memory[b], buffer->bytes);
    FNZI_NEW(&e->arena, buffer->bytes + 1, &e->came[b]);
    memcpy(e->came[b], e->memory[b], buffer->bytes);
  }
  return FNZ_OK;
}

/* The device's has what inputs hold, and elsewhere other rubbish. */
static inline fnz_status exec_device(exec *e) {
  const fnzi_pln_plan *plan = e->plan;
  unsigned char *arena;
  FNZI_NEW(&e->arena, plan->buffers.count, &e->device);
  FNZI_NEW(&e->arena, plan->arena_bytes + 64, &arena);
  exec_random(e, arena, plan->arena_bytes + 64);
  for (size_t b = 0; b < plan->buffers.count; b++) {
    const fnzi_pln_buffer *buffer = &plan->buffers.data[b];
    bool is_input = buffer->kind == FNZI_PLN_CONST || buffer->kind == FNZI_PLN_STATE;
    e->device[b] = arena + (buffer->kind == FNZI_PLN_TEMP ? buffer->offset : 0);
    if (buffer->kind == FNZI_PLN_TEMP)
      continue;
    FNZI_NEW(&e->arena, buffer->bytes + 1, &e->device[b]);
    exec_random(e, e->device[b], buffer->bytes);
    if (is_input)
      memcpy(e->device[b], e->host[b], buffer->bytes);
    if (buffer->kind == FNZI_PLN_STATE) /* the CPU's need not be what the device's is */
      exec_random(e, e->host[b], buffer->bytes);
  }
  return FNZ_OK;
}

static inline fnz_status exec_copy(exec *e, fnzi_pln_location location, bool to_host) {
  unsigned char *room;
  FNZI_NEW(&e->arena, exec_bytes(location.map) + 1, &room);
  e->memory = to_host ? e->device : e->host;
  exec_gather(e, location, room);
  e->memory = to_host ? e->host : e->device;
  exec_write(e, location, room);
  return FNZ_OK;
}

static inline fnz_status exec_copies(exec *e, size_t step, bool after) {
  const fnzi_dev_placement *w = e->route ? &e->route->steps[step] : NULL;
  for (uint32_t k = 0; w && k < (after ? w->after : w->before); k++)
    FNZ_TRY(exec_copy(e, e->plan->locations[w->values[after ? w->before + k : k]], !after));
  if (w)
    e->memory = w->on_host ? e->host : e->device;
  return FNZ_OK;
}

static inline fnz_status exec_bring(exec *e) {
  for (uint32_t k = 0; e->route && k < e->route->noutputs; k++)
    FNZ_TRY(exec_copy(e, e->plan->outputs[e->route->outputs[k]], true));
  return FNZ_OK;
}

static inline fnz_status exec_inputs(exec *e) {
  FNZI_NEW(&e->arena, e->graph->values.count, &e->means);
  for (uint32_t k = 0; k < e->graph->ninputs; k++) {
    const fnz_arg *arg = &e->graph->inputs[k];
    if (arg->tag != FNZ_ARG_VALUE || !exec_geometry(e, arg->u.value))
      continue;
    FNZI_NEW(&e->arena, exec_bytes(exec_geometry(e, arg->u.value)) + 1, &e->means[arg->u.value]);
    exec_gather(e, e->plan->locations[arg->u.value], e->means[arg->u.value]);
  }
  return FNZ_OK;
}

static inline void exec_ends(exec *e) {
  for (uint32_t k = 0; k < e->graph->noutputs; k++) {
    const fnz_arg *arg = &e->graph->outputs[k];
    e->memory = e->route && e->stays[k] ? e->device : e->host;
    if (arg->tag == FNZ_ARG_VALUE && exec_geometry(e, arg->u.value) && e->message[0] == 0)
      exec_holds(e, e->plan->outputs[k], arg->u.value, e->plan->steps.count);
  }
  for (size_t b = 0; b < e->plan->buffers.count; b++)
    if (e->plan->buffers.data[b].kind == FNZI_PLN_CONST && e->message[0] == 0 &&
        (memcmp(e->host[b], e->came[b], e->plan->buffers.data[b].bytes) != 0 ||
         (e->route && memcmp(e->device[b], e->came[b], e->plan->buffers.data[b].bytes) != 0)))
      snprintf(e->message, EXEC_MESSAGE, "an input is overwritten that is only read");
}

/* Steps that run at once come the last one first; a device's run as they are. */
static inline size_t exec_order(const exec *e, size_t at) {
  size_t first = at;
  while (!e->route && e->plan->steps.data[first].sets == 0 && first > 0)
    first--;
  size_t sets = e->plan->steps.data[first].sets;
  return e->route || at >= first + sets ? at : first + sets - 1 - (at - first);
}

static inline fnz_status exec_steps(exec *e) {
  FNZ_TRY(exec_memory(e));
  FNZ_TRY(exec_inputs(e));
  FNZ_TRY(exec_mean(e));
  if (e->route)
    FNZ_TRY(exec_device(e));
  for (size_t at = 0; at < e->plan->steps.count && e->message[0] == 0; at++) {
    size_t s = exec_order(e, at);
    FNZ_TRY(exec_copies(e, s, false));
    if (e->plan->steps.data[s].kind == FNZI_PLN_MOVE)
      exec_move(e, &e->plan->steps.data[s]);
    else if (e->plan->steps.data[s].kind == FNZI_PLN_GROUP)
      exec_group(e, &e->plan->steps.data[s], s);
    else
      exec_call(e, &e->plan->steps.data[s], s);
    FNZ_TRY(exec_copies(e, s, true));
  }
  FNZ_TRY(exec_bring(e));
  if (e->message[0] == 0)
    exec_ends(e);
  return FNZ_OK;
}

/* Runs it; e->message says what was wrong. */
static inline fnz_status exec_plan_on(fnz_context *ctx, fnz_backend *cpu, const fnzi_pln_plan *plan,
                                      const fnzi_dev_schedule *route, const bool *stays, exec *e) {
  *e = (exec){.ctx = ctx, .plan = plan, .cpu = cpu, .state = 12345, .route = route, .stays = stays};
  e->graph = fnzi_graph_main(plan->program);
  fnzi_arena_init(&e->arena, ctx);
  fnz_status status = exec_steps(e);
  fnzi_arena_free(&e->arena);
  return status;
}

static inline fnz_status exec_plan(fnz_context *ctx, fnz_backend *cpu, const fnzi_pln_plan *plan,
                                   exec *e) {
  return exec_plan_on(ctx, cpu, plan, NULL, NULL, e);
}

#endif
