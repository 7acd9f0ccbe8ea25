/* write_number.c - one number written to chosen places of a tensor with several elements in one
 * place: element by element, the chosen ones.
 *
 * Along strides of 0 all elements of a place are one. */
#include "run/eager/eager.h"

typedef struct chosen {
  fnzi_eag_op *s;
  fnzi_eag_tensor *target, *mask, *number; /* number NULL: it is an argument */
  fnz_arg plain;
  const int64_t *index; /* of the current element */
} chosen;

/* --- What is chosen --------------------------------------------------------------------------- */

/* `args` hold handles. */
static fnz_status apply(chosen *c, const char *name, const fnz_arg *args, size_t nargs,
                        const fnz_geometry *result, fnz_handle *out) {
  const fnz_op *op = fnzi_ops_find(name);
  fnzi_run_state *run = &c->s->in->run;
  fnz_request call = {op, args, nargs, &result, ""};
  return fnzi_run_lower_apply(run, &call, out, 1);
}

static fnz_status all_of(chosen *c, const fnz_geometry *like, int64_t number, fnz_handle *out) {
  fnz_arg *sizes, args[3] = {{.tag = FNZ_ARG_LIST, .count = like->rank},
                             {.tag = FNZ_ARG_INT, .u.i = number},
                             {.tag = FNZ_ARG_DTYPE, .u.i = FNZ_BOOL}};
  FNZI_NEW(&c->s->in->run.scratch, like->rank, &sizes);
  for (uint32_t d = 0; d < like->rank; d++)
    sizes[d] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = like->sizes[d]};
  args[0].u.list = sizes;
  return apply(c, "full", args, 3, like, out);
}

/* A value (owned) as a tensor of its own. */
static fnz_status keep(chosen *c, const fnz_geometry *g, fnz_handle owned, fnzi_eag_tensor **out) {
  fnzi_eag_window w;
  fnzi_eag_window_of(g, &w);
  fnz_status status = fnzi_eag_tensor_store(c->s->in, &w, owned, out);
  fnzi_run_release(&c->s->in->run, owned);
  return status;
}

/* The operator writes true into a mask that is false everywhere. */
static fnz_status apply_to_mask(chosen *c, int number, const fnz_geometry *mask,
                                const fnz_handle *hands, fnz_handle *out) {
  fnzi_eag_op *s = c->s;
  const fnz_op *twin = fnz_op_functional_twin(s->op);
  fnz_arg *args;
  fnz_request call = {twin, s->args, twin->nparams, &mask, ""};
  FNZ_TRY(fnzi_eag_lower(s->in, &call, &args));
  args[0].u.value = hands[0];
  if (args[number].tag == FNZ_ARG_VALUE)
    args[number].u.value = hands[1];
  else
    args[number] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = 1};
  return fnzi_run_apply(&s->in->run, &call, out, 1);
}

static fnz_status make_mask(chosen *c, int number) {
  int64_t rows[FNZ_MAX_RANK];
  const fnz_geometry *g = c->target->g, one = {.dtype = FNZ_BOOL};
  const fnz_geometry mask = {
      .dtype = FNZ_BOOL, .rank = g->rank, .sizes = g->sizes, .strides = rows};
  fnz_handle hands[2] = {0}, made = 0;
  fnzi_contiguous_strides(g->sizes, g->rank, rows);
  fnz_status status = all_of(c, &mask, 0, &hands[0]);
  if (status == FNZ_OK)
    status = all_of(c, &one, 1, &hands[1]);
  if (status == FNZ_OK)
    status = apply_to_mask(c, number, &mask, hands, &made);
  for (int i = 0; i < 2; i++)
    if (hands[i] != 0)
      fnzi_run_release(&c->s->in->run, hands[i]);
  return status == FNZ_OK ? keep(c, &mask, made, &c->mask) : status;
}

/* The mask argument of the operator, without a copy. */
static fnz_status look_at_mask(chosen *c, const fnz_arg *arg) {
  fnzi_eag_tensor *mask;
  fnzi_eag_window w;
  FNZ_TRY(fnzi_eag_op_tensor(c->s, arg, &mask));
  fnzi_eag_window_of(mask->g, &w);
  return fnzi_eag_tensor_create(c->s->in, mask->memory, &w, &c->mask);
}

/* --- Strides of 0 ----------------------------------------------------------------------------- */

/* Is any element along dimension d of the mask chosen? */
static fnz_status any_along(chosen *c, uint32_t d) {
  fnzi_eag_tensor *old = c->mask;
  fnz_arg args[3] = {
      {.tag = FNZ_ARG_VALUE}, {.tag = FNZ_ARG_INT, .u.i = d}, {.tag = FNZ_ARG_BOOL, .u.i = 1}};
  fnz_handle any;
  fnzi_eag_window w;
  fnzi_eag_window_of(old->g, &w);
  w.sizes[d] = 1;
  fnzi_eag_window_dense(&w);
  const fnz_geometry g = fnzi_eag_window_geometry(&w);
  FNZ_TRY(fnzi_eag_tensor_value(c->s->in, old, &args[0].u.value));
  FNZ_TRY(apply(c, "any.dim", args, 3, &g, &any));
  FNZ_TRY(keep(c, &g, any, &c->mask));
  fnzi_eag_tensor_end(c->s->in, old);
  return FNZ_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static fnz_status number_element_of(const chosen *c, const fnzi_eag_tensor *t,
                                    fnzi_eag_tensor **out) {
  fnzi_eag_window w;
  fnzi_eag_window_of(t->g, &w);
  for (uint32_t d = 0; d < w.rank; d++) {
    w.offset += w.sizes[d] == 1 ? 0 : c->index[c->target->g->rank - w.rank + d] * w.strides[d];
    w.sizes[d] = 1;
  }
  return fnzi_eag_tensor_create(c->s->in, t->memory, &w, out);
}

static fnz_status fill(chosen *c, fnzi_eag_tensor *element, fnzi_eag_tensor *mask,
                       fnz_handle *out) {
  fnz_handle old, choice;
  FNZ_TRY(fnzi_eag_tensor_value(c->s->in, element, &old));
  FNZ_TRY(fnzi_eag_tensor_value(c->s->in, mask, &choice));
  const fnz_arg self = {.tag = FNZ_ARG_VALUE, .u.value = old};
  const fnz_arg chooses = {.tag = FNZ_ARG_VALUE, .u.value = choice};
  if (c->number == NULL)
    return apply(c, "masked_fill.Scalar", (fnz_arg[]){self, chooses, c->plain}, 3, element->g, out);
  fnz_arg number = {.tag = FNZ_ARG_VALUE};
  FNZ_TRY(fnzi_eag_tensor_value(c->s->in, c->number, &number.u.value));
  return apply(c, "where.self", (fnz_arg[]){chooses, number, self}, 3, element->g, out);
}

static fnz_status visit(void *user, const int64_t *index) {
  chosen *c = user;
  fnzi_eag_tensor *element, *mask;
  fnz_handle value;
  c->index = index;
  FNZ_TRY(number_element_of(c, c->target, &element));
  fnz_status status = number_element_of(c, c->mask, &mask);
  if (status == FNZ_OK) {
    status = fill(c, element, mask, &value);
    fnzi_eag_tensor_end(c->s->in, mask);
  }
  if (status == FNZ_OK)
    status = fnzi_eag_tensor_write(c->s->in, element, value, NULL);
  fnzi_eag_tensor_end(c->s->in, element);
  return status;
}

/* The number of a tensor of one element, in the target's dtype. */
static fnz_status keep_number(chosen *c, const fnz_arg *arg) {
  fnzi_eag_tensor *t;
  fnz_handle value, cast;
  fnzi_eag_window w = {.dtype = c->target->g->dtype};
  FNZ_TRY(fnzi_eag_op_tensor(c->s, arg, &t));
  FNZ_TRY(fnzi_eag_tensor_value(c->s->in, t, &value));
  const fnz_geometry g = fnzi_eag_window_geometry(&w);
  if (t->g->dtype == w.dtype)
    return fnzi_eag_tensor_store(c->s->in, &w, value, &c->number);
  FNZ_TRY(fnzi_eag_unary(c->s->in, "_to_copy", value, w.dtype, &cast));
  return keep(c, &g, cast, &c->number);
}

static fnz_status write_chosen(chosen *c, fnzi_eag_tensor *whole, int number) {
  fnzi_eag_op *s = c->s;
  int mask = fnzi_op_param(s->op, "mask");
  c->plain = s->args[number];
  if (c->plain.tag == FNZ_ARG_VALUE)
    FNZ_TRY(keep_number(c, &c->plain));
  FNZ_TRY(mask >= 0 ? look_at_mask(c, &s->args[mask]) : make_mask(c, number));
  /* Elements that the target has several times in one place become one, which is chosen if any of
   * them is. */
  fnzi_eag_window joined;
  fnzi_eag_window_of(whole->g, &joined);
  for (uint32_t d = 0; d < joined.rank; d++) {
    if (joined.strides[d] != 0 || joined.sizes[d] <= 1)
      continue;
    uint32_t lead = joined.rank - c->mask->g->rank;
    joined.sizes[d] = 1;
    if (d >= lead && c->mask->g->sizes[d - lead] > 1)
      FNZ_TRY(any_along(c, d - lead));
  }
  FNZ_TRY(fnzi_eag_tensor_create(c->s->in, whole->memory, &joined, &c->target));
  /* If strides are equal the mask decides the order; it counts as cast when a tensor is chosen
   * from. */
  uint32_t order[FNZ_MAX_RANK];
  fnzi_eag_window w;
  fnzi_eag_window_of(c->mask->g, &w);
  if (c->number != NULL && c->target->g->dtype != FNZ_BOOL)
    fnzi_eag_window_preserve(&w);
  const fnz_geometry shape = fnzi_eag_window_geometry(&w), *reads = &shape;
  fnzi_eag_loop_order(c->target->g, &reads, 1, order);
  return fnzi_eag_loop(c->target->g, order, visit, c);
}

fnz_status fnzi_eag_write_chosen(fnzi_eag_op *s, fnzi_eag_tensor *target, bool *done) {
  int number = fnzi_eag_chosen_number(s, target->g);
  int64_t sizes[FNZ_MAX_RANK];
  bool overlaps = false, simple = false;
  *done = false;
  if (number >= 0)
    FNZ_TRY(fnzi_eag_places_overlap(s->ctx, target->g, &overlaps));
  if (overlaps)
    FNZ_TRY(fnzi_eag_chosen_alike(s, target->g, sizes, &simple));
  bool plain = number >= 0 && fnzi_op_is_elementwise(fnz_op_functional_twin(s->op));
  for (uint32_t d = 0; d < target->g->rank; d++)
    plain = plain && (target->g->strides[d] != 0 || target->g->sizes[d] <= 1);
  if (!overlaps || simple || plain || fnz_geometry_numel(target->g) > FNZI_EAG_MOST_IN_LOOP)
    return FNZ_OK;
  const fnz_op *twin = fnz_op_functional_twin(s->op);
  FNZ_TRY(fnzi_check_uncast(s->ctx, twin, s->args, fnzi_eag_op_geometry, s));
  FNZ_TRY(fnzi_eag_check_apart(s, target));
  chosen c = {.s = s, .target = target};
  fnz_status status = write_chosen(&c, target, number);
  fnzi_eag_tensor *const made[] = {c.mask, c.number, c.target == target ? NULL : c.target};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++)
    if (made[i] != NULL)
      fnzi_eag_tensor_end(s->in, made[i]);
  *done = status == FNZ_OK;
  return status;
}
