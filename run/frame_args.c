/* frame_args.c - values that are passed between frames, and predicates. */
#include "run/numbers.h"
#include "run/frames.h"

fnz_status fnzi_run_frame_arg_of(fnzi_run_state *run, const fnz_arg *arg, fnzi_run_frame_arg *out) {
  *out = (fnzi_run_frame_arg){NULL, *arg};
  if (arg->tag == FNZ_ARG_VALUE)
    out->item = run->items[arg->u.value];
  if (arg->tag != FNZ_ARG_SYMBOL)
    return FNZ_OK;
  /* A number that is not known yet stays FNZ_ARG_DEFAULT: it may not be needed. */
  uint32_t symbol = run->graph->values.data[arg->u.value].symbol;
  fnz_arg solved;
  bool known;
  out->arg = run->numbers[arg->u.value];
  if (out->arg.tag != FNZ_ARG_DEFAULT || symbol == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_run_symbol_number(run, arg->u.value, &known, &solved));
  const fnzi_symbol *example = &run->program->symbols.data[symbol];
  if (known)
    out->arg = solved;
  else if (example->has_hint)
    out->arg = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = example->hint};
  return FNZ_OK;
}

void fnzi_run_frame_arg_hold(fnzi_run_frame_arg *passed) {
  if (passed->item != NULL)
    passed->item->users++;
}

void fnzi_run_frame_arg_drop(const fnzi_run_interpreter *by, fnzi_run_frame_arg *passed) {
  fnzi_run_item *item = passed->item;
  passed->item = NULL;
  if (item != NULL && --item->users == 0)
    by->end(by->self, item);
}

void fnzi_run_frame_args_drop(const fnzi_run_interpreter *by, fnzi_run_frame_arg *passed,
                              size_t count) {
  for (size_t i = 0; passed != NULL && i < count; i++)
    fnzi_run_frame_arg_drop(by, &passed[i]);
}

void fnzi_run_item_bind(fnzi_run_state *run, uint64_t value, fnzi_run_item *item) {
  item->users++;
  run->items[value] = item;
}

fnz_status fnzi_run_stack_geometry(fnzi_run_state *run, const fnz_geometry *slice, size_t count,
                                   fnz_geometry *out) {
  int64_t *numbers, numel = (int64_t)count;
  uint32_t rank = slice->rank + 1;
  if (slice->rank >= FNZ_MAX_RANK)
    return fnzi_fail(run->ctx, FNZ_CLASS_LIMIT, "", "a stack of %u dimensions", rank);
  FNZI_NEW(&run->scratch, 2 * (size_t)rank, &numbers);
  numbers[0] = numel;
  for (uint32_t d = 0; d < slice->rank; d++) {
    numbers[d + 1] = slice->sizes[d];
    if (!fnzi_mul_i64(numel, slice->sizes[d] == 0 ? 1 : slice->sizes[d], &numel))
      return fnzi_fail(run->ctx, FNZ_CLASS_OVERFLOW, "", "the sizes of a stack leave 64 bits");
  }
  *out = (fnz_geometry){
      .dtype = slice->dtype, .rank = rank, .sizes = numbers, .strides = numbers + rank};
  fnzi_contiguous_strides(numbers, rank, numbers + rank);
  return FNZ_OK;
}

/* --- Predicates ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

enum { HASH_ITERATIONS = 6 }; /* the most of a loop over hashes */

static fnz_status number_says(fnzi_run_state *run, const fnz_arg *number, bool *out) {
  *out = number->tag == FNZ_ARG_FLOAT ? number->u.f != 0 : number->u.i != 0;
  if (number->tag == FNZ_ARG_BOOL || number->tag == FNZ_ARG_INT || number->tag == FNZ_ARG_FLOAT)
    return FNZ_OK;
  return fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, "",
                   "the predicate is a number that depends on data and is not known here");
}

static fnz_status item_says(fnzi_run_state *run, const fnzi_run_interpreter *by,
                            const fnzi_run_frame_op *r, fnzi_run_item *item, bool *out) {
  fnz_handle value;
  fnz_arg number;
  unsigned char cells[16 * sizeof(fnzi_cell)] = {0}; /* of the widest dtype, by bytes */
  fnzi_cell hash;
  fnz_dtype dtype = by->geometry(by->self, item)->dtype;
  if (fnz_geometry_numel(by->geometry(by->self, item)) != 1)
    return fnzi_fail(run->ctx, FNZ_CLASS_TYPE, "",
                     "the predicate has %lld elements; it must have one",
                     (long long)fnz_geometry_numel(by->geometry(by->self, item)));
  FNZ_TRY(by->value(by->self, item, &value));
  FNZ_TRY(run->backend->download(run->backend->self, run->ctx, value, cells));
  memcpy(&hash, cells, sizeof hash);
  if (run->hashes) {
    /* Over hashes the hash chooses the branch, so that two programs take the same one if their
     * predicates have the same hash; a loop continues three times out of four. */
    uint64_t h = mix(hash.of + mix(hash.at) + mix(run->options->seed) + (uint64_t)r->iteration);
    bool loops = r->hop.kind == FNZI_HOP_WHILE_LOOP;
    *out = loops ? r->iteration < HASH_ITERATIONS && (h & 3) != 0 : (h & 1) != 0;
    if (run->options->decide == NULL || (loops && r->iteration >= HASH_ITERATIONS))
      return FNZ_OK;
    return run->options->decide(run->options->decider, run, h, out);
  }
  if (!fnzi_run_decode_number(dtype, cells, &number))
    return fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "a predicate of %s; it must be bool or a number", fnzi_dtype(dtype)->name);
  return number_says(run, &number, out);
}

fnz_status fnzi_run_predicate_holds(fnzi_run_state *run, const fnzi_run_interpreter *by,
                                    const fnzi_run_frame_op *r, const fnzi_run_frame_arg *passed,
                                    bool *out) {
  if (passed->item != NULL)
    return item_says(run, by, r, passed->item, out);
  if (passed->arg.tag == FNZ_ARG_VALUE)
    return fnzi_fail(run->ctx, FNZ_CLASS_REF, "", "the predicate is undefined");
  return number_says(run, &passed->arg, out);
}
