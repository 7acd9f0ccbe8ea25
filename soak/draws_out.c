/* draws_out.c - random calls whose result goes into a tensor that is there. Mostly it has the sizes
 * of the result; now and then it is resized, has another dtype, or lies in the memory of an
 * operand.
 */
#include "soak/draws.h"

/* --- operands -------------------------------------------------------------------------------- */
static bool pick_alike(gen *g, size_t self, bool any, size_t *out) {
  *out = fnzi_pick_value(g);
  for (size_t n = 0; n < g->count; n++, *out = (*out + 1) % g->count)
    if (any || fnzi_same_sizes(looks(g, *out), looks(g, self)))
      return true;
  return false;
}

/* An operand with the sizes of values[self], or now and then any. */
static bool pick_source(gen *g, size_t self, size_t *out) {
  return pick_alike(g, self, perhaps(g->c, 15), out);
}

/* For operators that do not go element by element: which sizes they give is not known here. */
static bool pick_same(gen *g, size_t self, size_t *out) {
  return pick_alike(g, self, false, out) && looks(g, *out)->rank > 0;
}

static void add_default(fnzi_drawn_call *call) {
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_DEFAULT});
}

/* The target is last. */
static bool into(gen *g, size_t self, fnzi_drawn_call *call) {
  (void)g;
  fnzi_call_add(call, tensor_arg(self));
  return true;
}

static bool is_of_numbers(const gen *g, size_t k) {
  return looks(g, k)->dtype != FNZ_BOOL && !fnzi_is_complex(looks(g, k)->dtype);
}

/* --- calls ----------------------------------------------------------------------------------- */
bool fnzi_draw_out_binary(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a;
  if (!pick_source(g, self, &a))
    return false;
  fnzi_call_add(call, tensor_arg(a));
  fnzi_draw_operand(g, a, false, call);
  if (call->args[1].tag != FNZ_ARG_VALUE)
    return false; /* of tensors alone */
  if (strcmp(call->op, "add.out") == 0)
    add_default(call);
  return into(g, self, call);
}

bool fnzi_draw_out_unary(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a;
  if (!pick_source(g, self, &a) || !is_of_numbers(g, a))
    return false;
  fnzi_call_add(call, tensor_arg(a));
  return into(g, self, call);
}

bool fnzi_draw_out_number(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a;
  if (!pick_source(g, self, &a) || !is_of_numbers(g, a))
    return false;
  fnzi_call_add(call, tensor_arg(a));
  fnzi_call_add(call, fnzi_draw_number(g, looks(g, a)->dtype));
  return into(g, self, call);
}

bool fnzi_draw_out_clamp(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a;
  if (!pick_source(g, self, &a) || !is_of_numbers(g, a))
    return false;
  fnzi_call_add(call, tensor_arg(a));
  fnzi_call_int(call, choose_in(g->c, 0, 2) - 2);
  fnzi_call_int(call, choose_in(g->c, 0, 2));
  return into(g, self, call);
}

bool fnzi_draw_out_where(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a, b, mask;
  if (!pick_source(g, self, &a) || !fnzi_find_mask(g, a, &mask) || !fnzi_find_alike(g, a, &b))
    return false;
  fnzi_call_add(call, tensor_arg(mask));
  fnzi_call_add(call, tensor_arg(a));
  fnzi_call_add(call, tensor_arg(b));
  return into(g, self, call);
}

/* A single tensor. */
bool fnzi_draw_out_cat(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a;
  if (!pick_same(g, self, &a))
    return false;
  fnz_arg *items = call->items[call->nlists++];
  items[0] = tensor_arg(a);
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = 1, .u.list = items});
  fnzi_call_int(call, choose(g->c, looks(g, a)->rank));
  return into(g, self, call);
}

/* Over a dimension of one place, so that the result has the sizes of the operand. */
bool fnzi_draw_out_reduction(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a;
  int64_t dim = -1;
  if (!pick_same(g, self, &a) || !is_of_numbers(g, a))
    return false;
  for (uint32_t d = 0; d < looks(g, a)->rank; d++)
    dim = looks(g, a)->sizes[d] == 1 ? d : dim;
  if (dim < 0)
    return false;
  fnzi_call_add(call, tensor_arg(a));
  fnzi_call_ints(call, &dim, 1);
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = true});
  add_default(call);
  return into(g, self, call);
}

bool fnzi_draw_out_cumsum(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a;
  if (!pick_same(g, self, &a) || !is_of_numbers(g, a))
    return false;
  fnzi_call_add(call, tensor_arg(a));
  fnzi_call_int(call, choose(g->c, looks(g, a)->rank));
  add_default(call);
  return into(g, self, call);
}

/* Random numbers: none are drawn for floats of eight bits. */
bool fnzi_draw_out_law(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a;
  if (!pick_source(g, self, &a) || !fnzi_is_float(looks(g, a)->dtype) ||
      fnzi_dtype(looks(g, a)->dtype)->bytes == 1)
    return false;
  fnzi_call_add(call, tensor_arg(a));
  for (int n = strcmp(call->op, "uniform.out") == 0 ? 3 : 1; n > 0; n--)
    add_default(call);
  return into(g, self, call);
}
