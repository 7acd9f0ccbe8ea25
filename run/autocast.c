/* autocast.c - casts arguments of operators in autocast regions, as PyTorch does on the CPU.
 *
 * A composite operator without AUTOCAST in facts.def is refused: in PyTorch it may call operators
 * that autocast casts for, and these calls are not known here. */
#include "run/autocast.h"

#include "program/shapes/sizes.h"

fnz_dtype fnzi_run_autocast_dtype(const fnzi_hop *hop, fnz_dtype outer) {
  if (hop->autocast.device == NULL || strcmp(hop->autocast.device, "cpu") != 0)
    return outer; /* autocast of another device does not cast tensors of the CPU */
  fnz_dtype dtype = hop->autocast.dtype == FNZ_DTYPE_COUNT ? FNZ_BF16 : hop->autocast.dtype;
  bool casts = hop->autocast.enabled && (dtype == FNZ_BF16 || dtype == FNZ_F16);
  return casts ? dtype : FNZ_DTYPE_COUNT;
}

/* --- One node --------------------------------------------------------------------------------- */

/* A value of the frame that a cast replaces while a node runs. */
typedef struct swap {
  uint64_t value;
  fnzi_run_item *old;
} swap;

typedef struct casting {
  fnzi_run_state *run;
  const fnzi_run_interpreter *by;
  fnz_dtype to;
  struct {
    swap *data;
    size_t count, capacity;
  } swaps;
} casting;

static fnz_dtype dtype_of(const casting *c, const fnz_arg *arg) {
  const fnzi_run_item *item = arg->tag == FNZ_ARG_VALUE ? c->run->items[arg->u.value] : NULL;
  return item == NULL ? FNZ_DTYPE_COUNT : c->by->geometry(c->by->self, item)->dtype;
}

static fnz_status cast(casting *c, const fnz_arg *arg) {
  fnz_dtype dtype = dtype_of(c, arg);
  if (!fnzi_autocast_casts(dtype) || dtype == c->to)
    return FNZ_OK;
  swap s = {arg->u.value, c->run->items[arg->u.value]};
  fnzi_run_item *item;
  FNZ_TRY(c->by->cast(c->by->self, s.old, c->to, &item));
  FNZI_PUSH(c->run->ctx, &c->swaps, s);
  fnzi_run_item_bind(c->run, s.value, item);
  return FNZ_OK;
}

fnz_status fnzi_run_autocast_node(fnzi_run_state *run, const fnzi_run_interpreter *by,
                                  const fnzi_node *node, fnz_dtype dtype) {
  casting c = {.run = run, .by = by};
  fnzi_autocast what = node->op == NULL || fnzi_is_size_node(node) ? FNZI_AUTOCAST_PLAIN
                                                                   : fnzi_autocast_of(node->op);
  bool any_single = false, any_lower = false;
  FNZI_EACH_ARG(each, node->args, node->nargs) {
    const fnz_dtype of = dtype_of(&c, each.arg);
    any_single = any_single || of == FNZ_F32;
    any_lower = any_lower || of == FNZ_F16 || of == FNZ_BF16;
  }
  const bool any = any_single || any_lower;
  if (what == FNZI_AUTOCAST_UNKNOWN && any)
    return fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s calls other operators, and the casts of autocast inside it are not known; "
                     "export the program with decompositions",
                     node->op->name);
  if (!any || what == FNZI_AUTOCAST_UNKNOWN || what == FNZI_AUTOCAST_PLAIN ||
      (what == FNZI_AUTOCAST_WIDEST && !any_single))
    return by->node(by->self, node);
  c.to = what == FNZI_AUTOCAST_LOWER ? dtype : FNZ_F32;
  fnz_status status = FNZ_OK;
  FNZI_EACH_ARG(each, node->args, node->nargs)
    if (status == FNZ_OK)
      status = cast(&c, each.arg);
  if (status == FNZ_OK)
    status = by->node(by->self, node);
  /* The frame gets its values back. */
  for (size_t i = 0; i < c.swaps.count; i++) {
    const swap *s = &c.swaps.data[i];
    fnzi_run_frame_arg made = {c.run->items[s->value], {.tag = FNZ_ARG_VALUE}};
    c.run->items[s->value] = s->old;
    fnzi_run_frame_arg_drop(c.by, &made);
  }
  FNZI_VEC_FREE(c.run->ctx, &c.swaps);
  return status;
}
