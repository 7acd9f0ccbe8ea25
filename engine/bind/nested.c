/* nested.c - the thunk of a region: the memory of its bodies' buffers when they run, and the moves
 * before and after.
 *
 * needs   the surrounding binding, with storages, and bindings of its bodies (bind_bodies.c) */
#include "engine/bind/bind.h"
#include "engine/plan/planner.h"

/* --- Links ------------------------------------------------------------------------------------ */
typedef struct linking {
  fnz_workspace *ws;
  fnzi_stp_binding *b; /* that the region is of */
  const fnzi_pln_region *r;
  fnzi_stp_nested *nested;
} linking;

static const fnzi_krn_storage *scratch_of(const linking *l) {
  return l->r->buffer == FNZI_PLN_NONE ? NULL : &l->b->storages[l->r->buffer];
}

static const fnzi_krn_storage *storage_of(const linking *l, fnzi_pln_location location) {
  return location.buffer == FNZI_PLN_NONE ? scratch_of(l) : &l->b->storages[location.buffer];
}

static int64_t slice_bytes(const fnz_geometry *map) {
  return fnzi_krn_stride_bytes(map->strides[0], fnzi_dtype(map->dtype)->bytes);
}

static int64_t offset_bytes(const fnz_geometry *map) {
  return fnzi_krn_stride_bytes(map->offset, fnzi_dtype(map->dtype)->bytes);
}

static fnzi_stp_link input_link(const linking *l, uint32_t k) {
  const fnzi_hop *hop = &l->r->hop;
  bool sliced;
  fnzi_pln_location location = l->b->plan.locations[fnzi_hop_operand(hop, k, &sliced)->u.value];
  if (k < hop->carried.count)
    location = l->r->results[k];
  return (fnzi_stp_link){.from = storage_of(l, location),
                         .step = sliced ? slice_bytes(location.map) : 0};
}

static fnzi_stp_link output_link(const linking *l, uint32_t which, uint32_t j) {
  if (l->r->hop.kind == FNZI_HOP_WHILE_LOOP && which == 0)
    return (fnzi_stp_link){.from = scratch_of(l)};
  fnzi_pln_location location = l->r->results[j];
  bool sliced = fnzi_pln_is_stacked(l->r, j) && location.buffer != FNZI_PLN_NONE;
  return (fnzi_stp_link){.from = storage_of(l, location),
                         .step = sliced ? slice_bytes(location.map) : 0};
}

/* Connects a slice or a result of an associative scan with the levels of its tree. Returns false
 * for other buffers. */
static bool link_tree(const linking *l, const fnzi_pln_buffer *buffer, fnzi_krn_storage *to) {
  uint32_t n = l->nested->noperands;
  if (!n || buffer->kind == FNZI_PLN_TEMP ||
      (buffer->kind == FNZI_PLN_CONST && buffer->input >= 2 * n))
    return false;
  uint32_t k = buffer->kind == FNZI_PLN_OUT ? buffer->output : buffer->input;
  fnzi_stp_scan_operand *tree = &l->nested->operands[k % n];
  if (buffer->kind == FNZI_PLN_OUT)
    tree->out = to;
  else if (k < n)
    tree->left = to;
  else
    tree->right = to;
  return true;
}

static fnz_status link_body(linking *l, uint32_t which) {
  fnzi_stp_binding *body = l->nested->bodies[which];
  size_t count = body->plan.buffers.count, sliced = 0, others = count;
  fnzi_stp_link *links;
  FNZI_NEW(&l->b->arena, count, &links);
  for (size_t i = 0; i < count; i++) {
    const fnzi_pln_buffer *buffer = &body->plan.buffers.data[i];
    fnzi_stp_link link = {.from = scratch_of(l), .offset = (int64_t)(l->r->arena + buffer->offset)};
    if (link_tree(l, buffer, &body->storages[i]))
      continue;
    if (buffer->kind == FNZI_PLN_CONST || buffer->kind == FNZI_PLN_STATE)
      link = input_link(l, buffer->input);
    else if (buffer->kind == FNZI_PLN_OUT)
      link = output_link(l, which, buffer->output);
    link.to = &body->storages[i];
    links[link.step ? sliced++ : --others] = link;
  }
  memmove(&links[sliced], &links[others], (count - others) * sizeof *links);
  l->nested->links[which] = links;
  l->nested->nlinks[which] = sliced + count - others;
  l->nested->nsliced = sliced;
  return FNZ_OK;
}

/* --- Moves ------------------------------------------------------------------------------------ */
static fnz_status add_move(linking *l, fnzi_pln_location from, fnzi_pln_location to,
                           fnzi_stp_move *moves, size_t *count) {
  bool same = to.buffer != FNZI_PLN_NONE && fnzi_pln_location_equal(from, to);
  if (same || fnz_geometry_numel(to.map) == 0)
    return FNZ_OK;
  fnzi_stp_move *move = &moves[*count];
  *move = (fnzi_stp_move){.from = storage_of(l, from), .to = storage_of(l, to)};
  ++*count;
  return fnzi_stp_move_make(&l->b->arena, from.map, to.map, move);
}

/* --- Associative scans ------------------------------------------------------------------------ */

static fnzi_stp_link level_link(const linking *l, size_t at, fnzi_pln_location location,
                                size_t bytes) {
  if (at != SIZE_MAX)
    return (fnzi_stp_link){.from = scratch_of(l), .offset = (int64_t)at, .step = (int64_t)bytes};
  return (fnzi_stp_link){.from = storage_of(l, location),
                         .offset = offset_bytes(location.map),
                         .step = slice_bytes(location.map)};
}

static fnz_status make_tree(linking *l, uint32_t k) {
  const fnzi_pln_region *r = l->r;
  fnzi_stp_scan_operand *tree = &l->nested->operands[k];
  fnzi_pln_location xs = l->b->plan.locations[r->hop.xs.args[k].u.value], result = r->results[k],
                    rows = {.buffer = FNZI_PLN_NONE}; /* row-major, in the memory of the region */
  const fnz_geometry *map = xs.map;
  tree->bytes =
      (size_t)fnz_geometry_numel(map) * fnzi_dtype(map->dtype)->bytes / (size_t)r->iterations;
  for (uint32_t level = 0; level < FNZI_PLN_LEVELS && fnzi_pln_level_size(r->iterations, level) > 0;
       level++) {
    tree->down[level] = level_link(l, r->down[level][k], xs, tree->bytes);
    tree->up[level] = fnzi_pln_level_size(r->iterations, level) > 1
                          ? level_link(l, r->up[level][k], result, tree->bytes)
                          : tree->down[level];
  }
  if (r->down[0][k] != SIZE_MAX) {
    FNZ_TRY(fnzi_pln_row_major_at(&l->b->arena, map, r->down[0][k], &rows.map));
    FNZ_TRY(add_move(l, xs, rows, l->nested->initial_moves, &l->nested->ninitial_moves));
  }
  if (result.buffer == FNZI_PLN_NONE)
    return FNZ_OK;
  if (r->iterations < 2)
    return add_move(l, xs, result, l->nested->initial_moves, &l->nested->ninitial_moves);
  if (r->up[0][k] == SIZE_MAX)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_row_major_at(&l->b->arena, map, r->up[0][k], &rows.map));
  return add_move(l, rows, result, l->nested->final_moves, &l->nested->nfinal_moves);
}

/* --- Predicates ------------------------------------------------------------------------------- */
static void find_predicate(linking *l) {
  const fnzi_hop *hop = &l->r->hop;
  fnzi_pln_location location;
  if (hop->kind == FNZI_HOP_WHILE_LOOP) {
    fnzi_stp_binding *asks = l->nested->bodies[0];
    location = asks->plan.outputs[0];
    l->nested->predicate = &asks->storages[location.buffer];
  } else if (hop->kind == FNZI_HOP_COND && hop->pred->tag == FNZ_ARG_VALUE) {
    location = l->b->plan.locations[hop->pred->u.value];
    l->nested->predicate = storage_of(l, location);
  } else {
    l->nested->is_true = hop->kind != FNZI_HOP_COND || hop->pred->u.i != 0;
    return;
  }
  l->nested->predicate_offset = offset_bytes(location.map);
  l->nested->predicate_dtype = location.map->dtype;
}

/* --- The thunk of a region
 * ------------------------------------------------------------------------
 */

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b) {
  return a + b < a ? UINT64_MAX : a + b;
}

/* Counts the bodies that the region enters at most, with those within them. */
static uint64_t count_bodies(const fnzi_stp_nested *n, uint32_t nbodies) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < nbodies; i++) {
    uint64_t each = plus(1, n->bodies[i]->most_bodies);
    most = each > most ? each : most;
  }
  switch (n->kind) {
  case FNZI_HOP_WHILE_LOOP:
    return UINT64_MAX;
  case FNZI_HOP_MAP:
  case FNZI_HOP_SCAN:
    return times(most, (uint64_t)n->niterations);
  case FNZI_HOP_ASSOCIATIVE_SCAN:
    return times(most, times(2, (uint64_t)n->niterations));
  default:
    return most;
  }
}

static fnz_status make(linking *l) {
  const fnzi_pln_region *r = l->r;
  fnzi_stp_nested *nested = l->nested;
  const fnzi_stp_binding *outermost = l->b->outermost;
  bool fails_after_write, repeats = r->hop.kind == FNZI_HOP_WHILE_LOOP || r->iterations > 1;
  nested->kind = r->hop.kind;
  nested->niterations = r->iterations;
  if (nested->kind == FNZI_HOP_ASSOCIATIVE_SCAN) {
    uint32_t n = l->r->hop.xs.count;
    FNZI_NEW(&l->b->arena, n, &l->nested->operands);
    FNZI_NEW(&l->b->arena, 2 * (size_t)n, &l->nested->initial_moves);
    FNZI_NEW(&l->b->arena, n, &l->nested->final_moves);
    l->nested->noperands = n;
    for (uint32_t k = 0; k < n; k++)
      FNZ_TRY(make_tree(l, k));
  } else
    FNZI_NEW(&l->b->arena, r->hop.carried.count, &nested->initial_moves);
  for (uint32_t j = 0; nested->kind != FNZI_HOP_ASSOCIATIVE_SCAN && j < r->hop.carried.count; j++)
    FNZ_TRY(add_move(l, l->b->plan.locations[r->hop.carried.args[j].u.value], r->results[j],
                     nested->initial_moves, &nested->ninitial_moves));
  for (uint32_t i = 0; i < r->hop.nbodies; i++) {
    nested->bodies[i] = &outermost->nested[r->bodies[i]];
    FNZ_TRY(link_body(l, i));
    for (size_t t = 0; t < nested->bodies[i]->thunks.count && !nested->may_fail; t++)
      nested->may_fail = !fnzi_bnd_never_fails(&nested->bodies[i]->thunks.data[t]);
    FNZ_TRY(fnzi_bnd_undo_fails_after_write(l->ws->ctx, nested->bodies[i], repeats,
                                            &fails_after_write));
    nested->fails_after_write = nested->fails_after_write || fails_after_write;
    l->b->depth =
        nested->bodies[i]->depth >= l->b->depth ? nested->bodies[i]->depth + 1 : l->b->depth;
  }
  nested->fails_after_write =
      nested->fails_after_write || (nested->ninitial_moves && nested->may_fail);
  find_predicate(l);
  l->b->most_bodies = plus(l->b->most_bodies, count_bodies(nested, r->hop.nbodies));
  return FNZ_OK;
}

fnz_status fnzi_bnd_nested_thunk(fnz_workspace *ws, fnzi_stp_binding *b,
                                 const fnzi_pln_step *step) {
  fnzi_stp_thunk thunk = {.kind = FNZI_STP_THUNK_INTERPRET, .node = step->last};
  linking l = {.ws = ws, .b = b};
  bool planned = step->region != FNZI_PLN_NONE;
  if (planned) {
    l.r = &b->outermost->bodies.regions.data[step->region];
    planned = !l.r->why;
  }
  if (planned) {
    FNZI_NEW(&b->arena, 1, &l.nested);
    FNZ_TRY(make(&l));
    thunk.kind = FNZI_STP_THUNK_REGION;
    thunk.u.nested = l.nested;
  }
  b->has_interpreted = b->has_interpreted || !planned;
  FNZI_PUSH(ws->ctx, &b->thunks, thunk);
  return FNZ_OK;
}
