/* loops.c - what the nodes of higher-order operators do with their bodies, as eager PyTorch does it
 * on the CPU.
 *
 *   COND              one branch, by the predicate
 *   WHILE_LOOP        condition, body, condition, ...; copies of the operands if there is no
 *                     iteration, else the results of the last one, with their aliases
 *   MAP               a window of each xs per iteration; the results are stacked at the end
 *   SCAN              the same, but the first slice is a copy, and so is each result
 *   ASSOCIATIVE_SCAN  pairs first, then the pairs in the same way, then the places between them
 *                     from the prefixes of pairs: the order decides the bits of floats
 *   CALL              the body, once */
#include "run/frames.h"

/* --- Held arguments --------------------------------------------------------------------------- */

static fnz_status hold_operands(fnzi_run_state *run, fnzi_arena *arena, fnzi_operands operands,
                                fnzi_run_frame_arg **out) {
  FNZI_NEW(arena, operands.count, out);
  for (uint32_t i = 0; i < operands.count; i++) {
    FNZ_TRY(fnzi_run_frame_arg_of(run, &operands.args[i], &(*out)[i]));
    fnzi_run_frame_arg_hold(&(*out)[i]);
  }
  return FNZ_OK;
}

/* A new item as a held argument. */
static fnzi_run_frame_arg new_arg(fnzi_run_item *item) {
  fnzi_run_frame_arg passed = {item, {.tag = FNZ_ARG_VALUE}};
  fnzi_run_frame_arg_hold(&passed);
  return passed;
}

/* --- Next steps ------------------------------------------------------------------------------- */

/* The body with `front` and then the captured values. Takes nothing. */
static fnz_status call_body(fnzi_run_state *run, const fnzi_run_frame_op *r, uint32_t body,
                            const fnzi_run_frame_arg *front, uint32_t nfront, fnzi_run_next *next) {
  uint32_t captured = r->hop.captured.count;
  *next = (fnzi_run_next){.body = r->hop.bodies[body], .count = nfront + captured};
  FNZI_NEW(&run->scratch, next->count, &next->args);
  if (nfront > 0)
    memcpy(next->args, front, nfront * sizeof *front);
  if (captured > 0)
    memcpy(next->args + nfront, r->captured, captured * sizeof *front);
  return FNZ_OK;
}

/* The body takes the first `count` arguments that the node holds. */
static void move(fnzi_run_frame_arg *held, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    held[k].item = NULL;
}

/* The body runs once: it takes everything. */
static fnz_status call_once(fnzi_run_state *run, fnzi_run_frame_op *r, uint32_t body,
                            fnzi_run_next *next) {
  FNZ_TRY(call_body(run, r, body, NULL, 0, next));
  next->is_last = true;
  next->moved = next->count;
  move(r->captured, r->hop.captured.count);
  return FNZ_OK;
}

/* Ends the node with its results (held), which `next` takes. */
static void give(fnzi_run_next *next, fnzi_run_frame_arg *results, size_t count) {
  *next = (fnzi_run_next){.done = true, .count = (uint32_t)count, .args = results};
}

/* --- WHILE_LOOP ------------------------------------------------------------------------------- */

static fnz_status ask_condition(fnzi_run_state *run, fnzi_run_frame_op *r, fnzi_run_next *next) {
  r->in_condition = true;
  return call_body(run, r, 0, r->carried, r->hop.carried.count, next);
}

static fnz_status step_loop(fnzi_run_state *run, const fnzi_run_interpreter *by,
                            fnzi_run_frame_op *r, fnzi_run_frame_arg *given, size_t count,
                            fnzi_run_next *next) {
  bool more = false;
  if (!r->in_condition) {
    fnzi_run_frame_args_drop(by, r->carried, count);
    memcpy(r->carried, given, count * sizeof *given);
    r->iteration++;
    return ask_condition(run, r, next);
  }
  FNZ_TRY(fnzi_run_predicate_holds(run, by, r, &given[0], &more));
  fnzi_run_frame_args_drop(by, given, count);
  r->in_condition = false;
  if (!more) {
    /* Without an iteration the loop returns copies. */
    fnzi_run_frame_arg *results;
    uint32_t carried = r->hop.carried.count;
    FNZI_NEW(&run->scratch, carried, &results);
    for (uint32_t k = 0; k < carried; k++) {
      fnzi_run_item *item = r->carried[k].item;
      if (item != NULL && r->iteration == 0 && !by->immutable)
        FNZ_TRY(by->copy(by->self, item, &item));
      results[k] = (fnzi_run_frame_arg){item, r->carried[k].arg};
      fnzi_run_frame_arg_hold(&results[k]);
    }
    give(next, results, carried);
    return FNZ_OK;
  }
  FNZ_TRY(call_body(run, r, 1, r->carried, r->hop.carried.count, next));
  next->moved = r->hop.carried.count;
  move(r->carried, r->hop.carried.count);
  return FNZ_OK;
}

/* --- MAP and SCAN ----------------------------------------------------------------------------- */

static fnz_status slice(fnzi_run_state *run, const fnzi_run_interpreter *by,
                        const fnzi_run_frame_op *r, uint32_t k, int64_t index,
                        fnzi_run_frame_arg *out) {
  fnzi_run_item *item = r->xs[k].item, *first;
  bool copied = r->hop.kind == FNZI_HOP_SCAN && index == 0 && !by->immutable;
  if (item == NULL)
    return fnzi_fail(run->ctx, FNZ_CLASS_REF, "", "operand %u to go along is undefined", k);
  FNZ_TRY(by->slice(by->self, item, index, &item));
  first = item;
  if (copied)
    FNZ_TRY(by->copy(by->self, first, &item));
  *out = new_arg(item);
  return FNZ_OK;
}

/* The body with the carried values and a slice of each xs. */
static fnz_status next_slice(fnzi_run_state *run, const fnzi_run_interpreter *by,
                             fnzi_run_frame_op *r, fnzi_run_next *next) {
  uint32_t carried = r->hop.carried.count, count = carried + r->hop.xs.count;
  fnzi_run_frame_arg *front;
  FNZI_NEW(&run->scratch, count, &front);
  if (carried > 0)
    memcpy(front, r->carried, carried * sizeof *front);
  for (uint32_t k = carried; k < count; k++)
    FNZ_TRY(slice(run, by, r, k - carried, r->iteration, &front[k]));
  FNZ_TRY(call_body(run, r, 0, front, count, next));
  next->moved = count;
  move(r->carried, carried);
  return FNZ_OK;
}

/* Stacks a result of all iterations. */
static fnz_status stack(fnzi_run_state *run, const fnzi_run_interpreter *by,
                        const fnzi_run_frame_op *r, const fnzi_run_frame_arg *kept, uint32_t result,
                        fnzi_run_frame_arg *out) {
  const uint32_t step = r->hop.kind == FNZI_HOP_ASSOCIATIVE_SCAN ? r->hop.xs.count : r->nkept;
  fnzi_run_item **items, *item;
  const fnz_arg *where = &r->hop.results.args[result];
  *out = (fnzi_run_frame_arg){NULL, {.tag = FNZ_ARG_NONE}};
  if (where->tag != FNZ_ARG_VALUE)
    return FNZ_OK;
  FNZI_NEW(&run->scratch, r->iterations, &items);
  for (int64_t i = 0; i < r->iterations; i++) {
    items[i] = kept[i * (int64_t)step].item;
    if (items[i] == NULL)
      return fnzi_fail(run->ctx, FNZ_CLASS_REF, "", "result %u of iteration %lld is undefined",
                       result, (long long)i);
  }
  FNZ_TRY(by->stack(by->self, items, (size_t)r->iterations, &item));
  *out = new_arg(item);
  return FNZ_OK;
}

static fnz_status end_slices(fnzi_run_state *run, const fnzi_run_interpreter *by,
                             fnzi_run_frame_op *r, fnzi_run_next *next) {
  uint32_t carried = r->hop.carried.count;
  fnzi_run_frame_arg *results;
  FNZI_NEW(&run->scratch, carried + r->nkept, &results);
  for (uint32_t k = 0; k < carried; k++) {
    results[k] = r->carried[k];
    r->carried[k].item = NULL;
  }
  for (uint32_t k = 0; k < r->nkept; k++)
    FNZ_TRY(stack(run, by, r, r->kept + k, carried + k, &results[carried + k]));
  give(next, results, carried + r->nkept);
  return FNZ_OK;
}

static fnz_status step_slices(fnzi_run_state *run, const fnzi_run_interpreter *by,
                              fnzi_run_frame_op *r, fnzi_run_frame_arg *given, size_t count,
                              fnzi_run_next *next) {
  uint32_t carried = r->hop.carried.count;
  fnzi_run_frame_arg *kept = r->kept + r->iteration * (int64_t)r->nkept;
  fnzi_run_frame_args_drop(by, r->carried, carried);
  if (carried > 0)
    memcpy(r->carried, given, carried * sizeof *given);
  for (size_t k = carried; k < count; k++) {
    /* A result of a scan must not change with later iterations. */
    fnzi_run_item *item = given[k].item;
    bool copied = r->hop.kind == FNZI_HOP_SCAN && item != NULL && !by->immutable;
    kept[k - carried] = given[k];
    if (copied) {
      FNZ_TRY(by->copy(by->self, given[k].item, &item));
      kept[k - carried] = new_arg(item);
      fnzi_run_frame_arg_drop(by, &given[k]);
    }
  }
  r->iteration++;
  return r->iteration < r->iterations ? next_slice(run, by, r, next) : end_slices(run, by, r, next);
}

static fnz_status start_slices(fnzi_run_state *run, const fnzi_run_interpreter *by,
                               fnzi_arena *arena, fnzi_run_frame_op *r, fnzi_run_next *next) {
  r->nkept = r->hop.results.count - r->hop.carried.count;
  if (r->iterations == 0)
    return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, "",
                     "%s goes along a dimension of size 0, so that its results are unknown",
                     fnzi_node_target(r->hop.node));
  size_t capacity;
  if (!fnzi_mul_size((size_t)r->iterations, r->nkept, &capacity))
    return fnzi_no_memory(run->ctx);
  FNZI_NEW(arena, capacity, &r->kept);
  return next_slice(run, by, r, next);
}

/* --- ASSOCIATIVE_SCAN ----------------------------------------------------------------------------
 *
 * Level 0 is the slices, level l + 1 the combined pairs of level l. Going up again, place 2j + 1 of
 * a level is place j of the one above, and place 2j the combination of place j - 1 above with
 * itself. */

static int64_t places(const fnzi_run_frame_op *r, uint32_t level) {
  return r->iterations >> level;
}

static fnzi_run_frame_arg *loops_place(const fnzi_run_frame_op *r, uint32_t level, int64_t i) {
  return r->levels[level] + i * (int64_t)r->hop.xs.count;
}

static fnz_status combine(fnzi_run_state *run, const fnzi_run_frame_op *r,
                          const fnzi_run_frame_arg *left, const fnzi_run_frame_arg *right,
                          fnzi_run_next *next) {
  uint32_t n = r->hop.xs.count;
  fnzi_run_frame_arg *front;
  FNZI_NEW(&run->scratch, 2 * (size_t)n, &front);
  memcpy(front, left, n * sizeof *front);
  memcpy(front + n, right, n * sizeof *front);
  return call_body(run, r, 0, front, 2 * n, next);
}

static fnz_status end_tree(fnzi_run_state *run, const fnzi_run_interpreter *by,
                           fnzi_run_frame_op *r, fnzi_run_next *next) {
  uint32_t n = r->hop.xs.count;
  fnzi_run_frame_arg *results;
  FNZI_NEW(&run->scratch, n, &results);
  for (uint32_t k = 0; k < n; k++) {
    results[k] = r->xs[k];
    if (r->iterations < 2)
      fnzi_run_frame_arg_hold(&results[k]);
    else
      FNZ_TRY(stack(run, by, r, r->levels[0] + k, k, &results[k]));
  }
  give(next, results, n);
  return FNZ_OK;
}

/* The next pair going down, or the next even place going up. */
static fnz_status next_place(fnzi_run_state *run, const fnzi_run_interpreter *by,
                             fnzi_run_frame_op *r, fnzi_run_next *next) {
  uint32_t n = r->hop.xs.count;
  if (!r->up && r->at == places(r, r->level) / 2) {
    r->level++;
    r->at = 0;
    r->up = places(r, r->level) < 2;
  }
  if (!r->up)
    return combine(run, r, loops_place(r, r->level, 2 * r->at),
                   loops_place(r, r->level, 2 * r->at + 1), next);
  for (; r->level > 0; r->level--, r->at = 0) {
    int64_t count = places(r, r->level - 1);
    for (int64_t j = 0; r->at == 0 && 2 * j + 1 < count; j++) {
      fnzi_run_frame_arg *to = loops_place(r, r->level - 1, 2 * j + 1);
      for (uint32_t k = 0; k < n; k++) {
        fnzi_run_frame_arg old = to[k];
        to[k] = loops_place(r, r->level, j)[k];
        fnzi_run_frame_arg_hold(&to[k]);
        fnzi_run_frame_arg_drop(by, &old);
      }
    }
    r->at += r->at == 0;
    if (2 * r->at < count)
      return combine(run, r, loops_place(r, r->level, r->at - 1),
                     loops_place(r, r->level - 1, 2 * r->at), next);
  }
  return end_tree(run, by, r, next);
}

static fnz_status start_tree(fnzi_run_state *run, const fnzi_run_interpreter *by, fnzi_arena *arena,
                             fnzi_run_frame_op *r, fnzi_run_next *next) {
  uint32_t n = r->hop.xs.count;
  if (r->iterations < 2)
    return end_tree(run, by, r, next);
  for (uint32_t level = 0; places(r, level) > 0; level++) {
    size_t capacity;
    if (!fnzi_mul_size((size_t)places(r, level), n, &capacity))
      return fnzi_no_memory(run->ctx);
    FNZI_NEW(arena, capacity, &r->levels[level]);
  }
  for (int64_t i = 0; i < r->iterations; i++)
    for (uint32_t k = 0; k < n; k++)
      FNZ_TRY(slice(run, by, r, k, i, &loops_place(r, 0, i)[k]));
  return next_place(run, by, r, next);
}

/* --- All kinds -------------------------------------------------------------------------------- */

fnz_status fnzi_run_frame_op_start(fnzi_run_state *run, const fnzi_run_interpreter *by,
                                   const fnzi_hop *hop, fnzi_arena *arena, fnzi_run_frame_op *r,
                                   fnzi_run_next *next) {
  *r = (fnzi_run_frame_op){.hop = *hop};
  FNZ_TRY(hold_operands(run, arena, hop->captured, &r->captured));
  FNZ_TRY(hold_operands(run, arena, hop->carried, &r->carried));
  FNZ_TRY(hold_operands(run, arena, hop->xs, &r->xs));
  for (uint32_t k = 0; k < r->hop.xs.count; k++) {
    fnzi_run_item *item = r->xs[k].item;
    if (item == NULL)
      return fnzi_fail(run->ctx, FNZ_CLASS_REF, "", "operand %u to go along is undefined", k);
    const fnz_geometry *g = by->geometry(by->self, item);
    int64_t size = g->rank > 0 ? g->sizes[0] : -1;
    if (size < 0 || (k > 0 && size != r->iterations))
      return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, "", "%s goes along %lld and %lld slices",
                       fnzi_node_target(r->hop.node), (long long)r->iterations, (long long)size);
    r->iterations = size;
  }
  switch (hop->kind) {
  case FNZI_HOP_COND: {
    fnzi_run_frame_arg pred;
    bool says = false;
    FNZ_TRY(fnzi_run_frame_arg_of(run, r->hop.pred, &pred));
    FNZ_TRY(fnzi_run_predicate_holds(run, by, r, &pred, &says));
    return call_once(run, r, says ? 0 : 1, next);
  }
  case FNZI_HOP_WHILE_LOOP:
    return ask_condition(run, r, next);
  case FNZI_HOP_MAP:
  case FNZI_HOP_SCAN:
    return start_slices(run, by, arena, r, next);
  case FNZI_HOP_ASSOCIATIVE_SCAN:
    return start_tree(run, by, arena, r, next);
  default:
    return call_once(run, r, 0, next);
  }
}

fnz_status fnzi_run_frame_op_step(fnzi_run_state *run, const fnzi_run_interpreter *by,
                                  fnzi_run_frame_op *r, fnzi_run_frame_arg *given, size_t count,
                                  fnzi_run_next *next) {
  switch (r->hop.kind) {
  case FNZI_HOP_WHILE_LOOP:
    return step_loop(run, by, r, given, count, next);
  case FNZI_HOP_MAP:
  case FNZI_HOP_SCAN:
    return step_slices(run, by, r, given, count, next);
  case FNZI_HOP_ASSOCIATIVE_SCAN: {
    fnzi_run_frame_arg *to =
        r->up ? loops_place(r, r->level - 1, 2 * r->at) : loops_place(r, r->level + 1, r->at);
    fnzi_run_frame_args_drop(by, to, count);
    memcpy(to, given, count * sizeof *given);
    r->at++;
    return next_place(run, by, r, next);
  }
  default:
    give(next, given, count);
    return FNZ_OK;
  }
}

void fnzi_run_frame_op_end(const fnzi_run_interpreter *by, fnzi_run_frame_op *r) {
  fnzi_run_frame_args_drop(by, r->captured, r->hop.captured.count);
  fnzi_run_frame_args_drop(by, r->carried, r->hop.carried.count);
  fnzi_run_frame_args_drop(by, r->xs, r->hop.xs.count);
  fnzi_run_frame_args_drop(by, r->kept, (size_t)r->iterations * r->nkept);
  for (uint32_t level = 0; level < 64 && r->levels[level] != NULL; level++)
    fnzi_run_frame_args_drop(by, r->levels[level], (size_t)places(r, level) * r->hop.xs.count);
}
