/* draws.c - random calls on the tensors of a program: operands that fit, masks, lists with
 * repeated tensors, out= arguments; often on memory that was written last. */
#include "soak/draws.h"

#include "views/views.h"

/* --- writes ---------------------------------------------------------------------------------- */
static bool draw_self(gen *g, size_t self, fnzi_drawn_call *call) {
  (void)g;
  fnzi_call_add(call, tensor_arg(self));
  return true;
}

static bool draw_binary(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_draw_operand(g, self, false, call);
  return true;
}

/* Subtraction and negation have no meaning for truth values. */
static bool draw_difference(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_binary(g, self, call);
  const fnz_arg *b = &call->args[1];
  return looks(g, self)->dtype != FNZ_BOOL &&
         (b->tag != FNZ_ARG_VALUE || looks(g, b->u.value)->dtype != FNZ_BOOL);
}

static bool draw_of_numbers(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  return looks(g, self)->dtype != FNZ_BOOL;
}

static bool draw_copy(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t other;
  draw_self(g, self, call);
  if (!fnzi_pick_operand(g, self, true, &other))
    return false;
  fnzi_call_add(call, tensor_arg(other));
  return true;
}

/* A comparison of any two dtypes. */
static bool draw_comparison(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_draw_operand(g, self, true, call);
  return !fnzi_is_complex(looks(g, self)->dtype) &&
         (call->args[1].tag != FNZ_ARG_VALUE ||
          !fnzi_is_complex(looks(g, call->args[1].u.value)->dtype));
}

static bool draw_power(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_call_int(call, choose_in(g->c, 1, 3));
  return looks(g, self)->dtype != FNZ_BOOL;
}

/* lerp_(self, end, weight): floats of one dtype. */
static bool draw_lerp(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t end, weight;
  draw_self(g, self, call);
  if (!fnzi_is_float(looks(g, self)->dtype) || !fnzi_find_alike(g, self, &end) ||
      !fnzi_find_alike(g, self, &weight))
    return false;
  fnzi_call_add(call, tensor_arg(end));
  if (strcmp(call->op, "lerp_.Tensor") == 0)
    fnzi_call_add(call, tensor_arg(weight));
  else
    fnzi_call_add(call, fnzi_draw_number(g, looks(g, self)->dtype));
  return true;
}

static bool draw_with_number(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_call_add(call, fnzi_draw_number(g, looks(g, self)->dtype));
  return true;
}

static bool draw_fill_tensor(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t other;
  draw_self(g, self, call);
  if (!fnzi_find_number(g, self, &other))
    return false;
  fnzi_call_add(call, tensor_arg(other));
  return true;
}

static bool draw_clamp(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_call_int(call, choose_in(g->c, 0, 2) - 2);
  fnzi_call_int(call, choose_in(g->c, 0, 2));
  return !fnzi_is_complex(looks(g, self)->dtype) && looks(g, self)->dtype != FNZ_BOOL;
}

static bool draw_masked(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t mask;
  draw_self(g, self, call);
  if (!fnzi_find_mask(g, self, &mask))
    return false;
  fnzi_call_add(call, tensor_arg(mask));
  if (strcmp(call->op, "masked_fill_.Scalar") == 0)
    fnzi_call_add(call, fnzi_draw_number(g, looks(g, self)->dtype));
  else if (fnzi_find_number(g, self, &mask))
    fnzi_call_add(call, tensor_arg(mask));
  return call->nargs == 3;
}

static bool draw_index_put(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t mask, other;
  draw_self(g, self, call);
  if (!fnzi_find_mask(g, self, &mask) || looks(g, mask)->rank != looks(g, self)->rank ||
      !fnzi_same_sizes(looks(g, mask), looks(g, self)) || !fnzi_find_number(g, self, &other) ||
      looks(g, other)->dtype != looks(g, self)->dtype)
    return false;
  fnz_arg *items = call->items[call->nlists++];
  items[0] = tensor_arg(mask);
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = 1, .u.list = items});
  fnzi_call_add(call, tensor_arg(other));
  return true;
}

static bool draw_cumsum(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_call_int(call, choose(g->c, looks(g, self)->rank));
  return looks(g, self)->dtype != FNZ_BOOL;
}

static bool draw_addcmul(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t a, b;
  draw_self(g, self, call);
  if (!fnzi_pick_operand(g, self, false, &a) || !fnzi_pick_operand(g, self, false, &b))
    return false;
  fnzi_call_add(call, tensor_arg(a));
  fnzi_call_add(call, tensor_arg(b));
  return looks(g, self)->dtype != FNZ_BOOL;
}

/* Tensors for a foreach, repeated ones included. */
static void add_tensors(gen *g, size_t first, uint32_t count, fnzi_drawn_call *call) {
  fnz_arg *items = call->items[call->nlists++];
  items[0] = tensor_arg(first);
  for (uint32_t i = 1; i < count; i++)
    items[i] = tensor_arg(perhaps(g->c, 25) ? first : fnzi_pick_value(g));
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = items});
}

static bool draw_foreach(gen *g, size_t self, fnzi_drawn_call *call) {
  add_tensors(g, self, 1 + choose(g->c, 3), call);
  fnzi_call_int(call, choose_in(g->c, 1, 3));
  return true;
}

static bool draw_foreach_list(gen *g, size_t self, fnzi_drawn_call *call) {
  add_tensors(g, self, 1 + choose(g->c, 2), call);
  const fnz_arg *targets = call->args[0].u.list;
  fnz_arg *items = call->items[call->nlists++];
  for (uint32_t i = 0; i < call->args[0].count; i++) {
    size_t other;
    if (!fnzi_find_alike(g, targets[i].u.value, &other))
      return false;
    items[i] = tensor_arg(other);
  }
  fnzi_call_add(call,
                (fnz_arg){.tag = FNZ_ARG_LIST, .count = call->args[0].count, .u.list = items});
  return true;
}

/* --- in-place views -------------------------------------------------------------------------- */
static bool draw_dim_arg(gen *g, size_t self, fnzi_drawn_call *call) {
  bool more = strcmp(call->op, "unsqueeze_") == 0;
  draw_self(g, self, call);
  fnzi_call_int(call, choose(g->c, looks(g, self)->rank + more));
  return true;
}

static bool draw_two_dim_args(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_dim_arg(g, self, call);
  fnzi_call_int(call, choose(g->c, looks(g, self)->rank));
  return true;
}

/* --- pure operators -------------------------------------------------------------------------- */
static bool draw_where(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t mask, other;
  if (!fnzi_find_mask(g, self, &mask) || !fnzi_find_alike(g, self, &other))
    return false;
  fnzi_call_add(call, tensor_arg(mask));
  fnzi_call_add(call, tensor_arg(self));
  fnzi_call_add(call, tensor_arg(other));
  return true;
}

/* Over the last dimension mostly, which then has one place, so that the result goes back to the
 * rows by broadcasting. */
static bool draw_reduction(gen *g, size_t self, fnzi_drawn_call *call) {
  uint32_t rank = looks(g, self)->rank;
  draw_self(g, self, call);
  if (rank == 0 || looks(g, self)->dtype == FNZ_BOOL || fnzi_is_complex(looks(g, self)->dtype))
    return false;
  int64_t dim = perhaps(g->c, 75) ? (int64_t)rank - 1 : (int64_t)choose(g->c, rank);
  fnzi_call_ints(call, &dim, 1);
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = perhaps(g->c, 75)});
  return looks(g, self)->sizes[dim] > 0;
}

static bool draw_mean(gen *g, size_t self, fnzi_drawn_call *call) {
  return fnzi_is_float(looks(g, self)->dtype) && draw_reduction(g, self, call);
}

static bool draw_softmax(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_call_int(call, perhaps(g->c, 75) ? -1 : 0);
  return looks(g, self)->rank > 0 && fnzi_is_float(looks(g, self)->dtype);
}

static bool draw_cat(gen *g, size_t self, fnzi_drawn_call *call) {
  size_t other;
  if (looks(g, self)->rank == 0 || !fnzi_find_alike(g, self, &other))
    return false;
  fnz_arg *items = call->items[call->nlists++];
  items[0] = tensor_arg(self);
  items[1] = tensor_arg(other);
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_LIST, .count = 2, .u.list = items});
  fnzi_call_int(call, choose(g->c, looks(g, self)->rank));
  return true;
}

static bool draw_like(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_call_add(call, tensor_arg(fnzi_pick_value(g)));
  return true;
}

static bool draw_tensors(gen *g, size_t self, fnzi_drawn_call *call) {
  add_tensors(g, self, 1 + choose(g->c, 2), call);
  return true;
}

/* full, with the sizes of some tensor */
static bool draw_full(gen *g, size_t self, fnzi_drawn_call *call) {
  const fnz_geometry *like = looks(g, self);
  fnzi_call_ints(call, like->sizes, like->rank);
  fnzi_call_int(call, choose_in(g->c, 0, 3));
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = like->dtype});
  return true;
}

/* 0, 1 and so on */
static bool draw_arange(gen *g, size_t self, fnzi_drawn_call *call) {
  (void)self;
  fnzi_call_int(call, choose_in(g->c, 0, 6));
  return true;
}

/* --- random numbers -------------------------------------------------------------------------- */
/* A quarter or more, up to so many. */
static double chance_of(gen *g, int64_t quarters) {
  return 0.25 * (double)choose_in(g->c, 1, quarters);
}

/* A random law; for floats of eight bits no numbers are drawn. */
static bool draw_law(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  return fnzi_is_float(looks(g, self)->dtype) && fnzi_dtype(looks(g, self)->dtype)->bytes > 1;
}

static bool draw_chance(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = chance_of(g, 3)});
  return !fnzi_is_complex(looks(g, self)->dtype) && fnzi_dtype(looks(g, self)->dtype)->bytes > 1;
}

static bool draw_below(gen *g, size_t self, fnzi_drawn_call *call) {
  draw_self(g, self, call);
  fnzi_call_int(call, choose_in(g->c, 1, 9));
  return !fnzi_is_complex(looks(g, self)->dtype) && fnzi_dtype(looks(g, self)->dtype)->bytes > 1;
}

static bool draw_dropout(gen *g, size_t self, fnzi_drawn_call *call) {
  bool fits = draw_law(g, self, call);
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = chance_of(g, 4)});
  fnzi_call_add(call, (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = choose(g->c, 4) != 0});
  return fits;
}

/* --- the table ------------------------------------------------------------------------------- */
const fnzi_call_draw fnzi_call_draws[] = {
    {"add_.Tensor", draw_binary, WRITE},
    {"mul_.Tensor", draw_binary, WRITE},
    {"sub_.Tensor", draw_difference, WRITE},
    {"copy_", draw_copy, WRITE},
    {"fill_.Scalar", draw_with_number, WRITE},
    {"fill_.Tensor", draw_fill_tensor, WRITE},
    {"zero_", draw_self, WRITE},
    {"relu_", draw_of_numbers, WRITE},
    {"neg_", draw_of_numbers, WRITE},
    {"clamp_", draw_clamp, WRITE},
    {"logical_not_", draw_self, WRITE},
    {"ge_.Scalar", draw_with_number, WRITE},
    {"masked_fill_.Scalar", draw_masked, WRITE},
    {"masked_fill_.Tensor", draw_masked, WRITE},
    {"index_put_", draw_index_put, WRITE},
    {"index_fill_.int_Scalar", fnzi_draw_index_fill, WRITE},
    {"index_fill_.int_Tensor", fnzi_draw_index_fill, WRITE},
    {"index_copy_", fnzi_draw_index_copy, WRITE},
    {"index_add_", fnzi_draw_index_copy, WRITE},
    {"scatter_.value", fnzi_draw_scatter_value, WRITE},
    {"scatter_.src", fnzi_draw_scatter, WRITE},
    {"scatter_add_", fnzi_draw_scatter, WRITE},
    {"put_", fnzi_draw_put, WRITE},
    {"masked_scatter_", fnzi_draw_masked_scatter, WRITE},
    {"lt_.Tensor", draw_comparison, WRITE},
    {"gt_.Tensor", draw_comparison, WRITE},
    {"gt_.Scalar", draw_with_number, WRITE},
    {"pow_.Scalar", draw_power, WRITE},
    {"lerp_.Tensor", draw_lerp, WRITE},
    {"lerp_.Scalar", draw_lerp, WRITE},
    {"cumsum_", draw_cumsum, WRITE},
    {"addcmul_", draw_addcmul, WRITE},
    {"uniform_", draw_law, WRITE},
    {"normal_", draw_law, WRITE},
    {"bernoulli_.float", draw_chance, WRITE},
    {"random_.to", draw_below, WRITE},
    {"dropout_", draw_dropout, WRITE},
    {"add.out", fnzi_draw_out_binary, WRITE},
    {"mul.out", fnzi_draw_out_binary, WRITE},
    {"neg.out", fnzi_draw_out_unary, WRITE},
    {"relu.out", fnzi_draw_out_unary, WRITE},
    {"gt.Scalar_out", fnzi_draw_out_number, WRITE},
    {"clamp.out", fnzi_draw_out_clamp, WRITE},
    {"where.self_out", fnzi_draw_out_where, WRITE},
    {"cat.out", fnzi_draw_out_cat, WRITE},
    {"sum.IntList_out", fnzi_draw_out_reduction, WRITE},
    {"cumsum.out", fnzi_draw_out_cumsum, WRITE},
    {"uniform.out", fnzi_draw_out_law, WRITE},
    {"rand_like.out", fnzi_draw_out_law, WRITE},
    {"_foreach_add_.Scalar", draw_foreach, WRITE},
    {"_foreach_mul_.Scalar", draw_foreach, WRITE},
    {"_foreach_add_.List", draw_foreach_list, WRITE},
    {"_foreach_copy_", draw_foreach_list, WRITE},
    {"t_", draw_self, WRITE},
    {"transpose_", draw_two_dim_args, WRITE},
    {"unsqueeze_", draw_dim_arg, WRITE},
    {"squeeze_.dim", draw_dim_arg, WRITE},
    {"swapaxes_", draw_two_dim_args, WRITE},
    {"add.Tensor", draw_binary, PURE},
    {"mul.Tensor", draw_binary, PURE},
    {"gt.Scalar", draw_with_number, PURE},
    {"clone", draw_self, PURE},
    {"where.self", draw_where, PURE},
    {"cat", draw_cat, PURE},
    {"stack", draw_cat, PURE},
    {"full", draw_full, PURE},
    {"arange", draw_arange, PURE},
    {"relu", draw_of_numbers, PURE},
    {"rand_like", draw_law, PURE},
    {"dropout", draw_dropout, PURE},
    {"bernoulli.p", draw_chance, PURE},
    {"randint_like", draw_below, PURE},
    {"expand_as", draw_like, PURE},
    {"view_as", draw_like, PURE},
    {"reshape_as", draw_like, PURE},
    {"type_as", draw_like, PURE},
    {"broadcast_tensors", draw_tensors, PURE},
    {"sum.dim_IntList", draw_reduction, PURE},
    {"mean.dim", draw_mean, PURE},
    {"amax", draw_reduction, PURE},
    {"softmax.int", draw_softmax, PURE},
};
const size_t fnzi_call_draw_count = sizeof fnzi_call_draws / sizeof *fnzi_call_draws;
