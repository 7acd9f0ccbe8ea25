/* products.c - products of matrices within vmap regions: all are matmul, which broadcasts all
 * dimensions before the last two. */
#include "program/batching/rules.h"

/* An operand as a matrix, or a stack of them. */
typedef struct operand {
  fnz_arg value;
  uint32_t rank;  /* without the levels */
  bool is_vector; /* it was one, and its dimension of size 1 goes again */
} operand;

static fnz_status as_matrix(const fnzi_batch_node *v, const fnz_arg *arg, bool is_left,
                            operand *out) {
  uint32_t front = fnzi_batch_count_levels(fnzi_batch_levels(v, arg));
  *out = (operand){*arg, fnzi_batch_rank(v, arg), false};
  if (arg->tag != FNZ_ARG_VALUE || !out->rank)
    return fnzi_batch_refuse(v, "needs tensors with dimensions");
  out->is_vector = out->rank == 1;
  if (out->is_vector) {
    out->rank = 2;
    FNZ_TRY(fnzi_batch_unsqueeze(v, &out->value, front + !is_left));
  }
  return FNZ_OK;
}

/* As fnzi_batch_align(), for an operand that has the levels of `arg`. */
static fnz_status align(const fnzi_batch_node *v, const fnz_arg *arg, operand *o, uint32_t rank) {
  if (o->is_vector)
    FNZ_TRY(fnzi_batch_set_levels(v, &o->value, fnzi_batch_levels(v, arg)));
  return fnzi_batch_align(v, &o->value, rank);
}

static fnz_status drop_dim(const fnzi_batch_node *v, fnz_arg *value, int back) {
  int64_t sizes[FNZ_MAX_RANK];
  const fnz_geometry *g = fnzi_batch_geometry_of(v, value);
  uint32_t n = 0;
  for (uint32_t d = 0; d < g->rank; d++)
    if (d != g->rank - (uint32_t)back)
      sizes[n++] = g->sizes[d];
  const fnz_arg args[] = {*value, fnzi_arg_int(-back)};
  return fnzi_batch_make(v, "squeeze.dim", args, 2,
                         &(fnz_geometry){.dtype = g->dtype, .rank = n, .sizes = sizes}, value);
}

/* a @ b as a value in between. */
static fnz_status multiply(const fnzi_batch_node *v, const fnz_arg *left, const fnz_arg *right,
                           fnz_arg *out) {
  int64_t sizes[FNZ_MAX_RANK];
  operand a, b;
  uint32_t rank;
  FNZ_TRY(as_matrix(v, left, true, &a));
  FNZ_TRY(as_matrix(v, right, false, &b));
  rank = a.rank > b.rank ? a.rank : b.rank;
  FNZ_TRY(align(v, left, &a, rank));
  FNZ_TRY(align(v, right, &b, rank));
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &a.value),
                     *h = fnzi_batch_geometry_of(v, &b.value);
  rank = g->rank > h->rank ? g->rank : h->rank;
  for (uint32_t back = 3; back <= rank; back++) {
    int64_t wide = back <= g->rank ? g->sizes[g->rank - back] : 1;
    int64_t high = back <= h->rank ? h->sizes[h->rank - back] : 1;
    sizes[rank - back] = wide == 1 ? high : wide;
  }
  sizes[rank - 2] = g->sizes[g->rank - 2];
  sizes[rank - 1] = h->sizes[h->rank - 1];
  if (g->sizes[g->rank - 1] != h->sizes[h->rank - 2])
    return fnzi_batch_refuse(v, "multiplies matrices that do not fit");
  const fnz_arg args[] = {a.value, b.value};
  FNZ_TRY(fnzi_batch_make(v, "matmul", args, 2,
                          &(fnz_geometry){.dtype = g->dtype, .rank = rank, .sizes = sizes}, out));
  if (b.is_vector)
    FNZ_TRY(drop_dim(v, out, 1));
  if (a.is_vector)
    FNZ_TRY(drop_dim(v, out, b.is_vector ? 1 : 2));
  return FNZ_OK;
}

fnz_status fnzi_batch_product(fnzi_batch_node *v) {
  fnz_arg result;
  FNZ_TRY(multiply(v, &v->args[0], &v->args[1], &result));
  return fnzi_batch_give(v, result);
}

/* A column times a row. */
fnz_status fnzi_batch_outer(fnzi_batch_node *v) {
  operand a, b;
  if (fnzi_batch_rank(v, &v->args[0]) != 1 || fnzi_batch_rank(v, &v->args[1]) != 1)
    return fnzi_batch_refuse(v, "needs two vectors");
  FNZ_TRY(as_matrix(v, &v->args[0], false, &a));
  FNZ_TRY(as_matrix(v, &v->args[1], true, &b));
  FNZ_TRY(align(v, &v->args[0], &a, a.rank));
  FNZ_TRY(align(v, &v->args[1], &b, b.rank));
  const fnz_arg args[] = {a.value, b.value};
  return fnzi_batch_finish_named(v, "mul.Tensor", args, 2);
}

static bool is_one(const fnz_arg *a) {
  return a->tag == FNZ_ARG_DEFAULT || (a->tag == FNZ_ARG_INT && a->u.i == 1) ||
         (a->tag == FNZ_ARG_FLOAT && a->u.f == 1);
}

/* A tensor that is added to a value with all levels; that value's own rank is `rank`. */
static fnz_status add(fnzi_batch_node *v, fnz_arg term, fnz_arg value, uint32_t rank,
                      bool term_first) {
  FNZ_TRY(fnzi_batch_align(v, &term, rank));
  const fnz_arg args[] = {term_first ? term : value, term_first ? value : term};
  return fnzi_batch_finish_named(v, "add.Tensor", args, 2);
}

/* addmm(self, a, b, *, beta, alpha) and its kin. */
fnz_status fnzi_batch_add_product(fnzi_batch_node *v) {
  fnz_arg result;
  if (!is_one(&v->args[3]) || !is_one(&v->args[4]))
    return fnzi_batch_refuse(v, "has factors beta or alpha other than 1");
  if (v->op->kind == FNZI_KIND_INPLACE)
    return fnzi_batch_refuse(v, "has no rule for a batch");
  FNZ_TRY(multiply(v, &v->args[1], &v->args[2], &result));
  return add(v, v->args[0], result, fnzi_batch_geometry_of(v, &result)->rank - v->count, true);
}

/* linear(x, weight, bias): any x will do while all elements of the batch have one weight. */
fnz_status fnzi_batch_linear(fnzi_batch_node *v) {
  int64_t sizes[FNZ_MAX_RANK];
  fnz_arg weight = v->args[1], result;
  uint32_t levels = fnzi_batch_levels(v, &v->args[1]);
  if (!levels && !fnzi_batch_levels(v, &v->args[2]))
    return fnzi_batch_finish(v, v->op, v->args, v->op->nparams);
  if (fnzi_batch_rank(v, &weight) != 2)
    return fnzi_batch_refuse(v, "has a weight that is no matrix");
  const fnz_geometry *g = fnzi_batch_geometry_of(v, &weight);
  memcpy(sizes, g->sizes, g->rank * sizeof *sizes);
  sizes[g->rank - 2] = g->sizes[g->rank - 1];
  sizes[g->rank - 1] = g->sizes[g->rank - 2];
  const fnz_arg args[] = {weight, fnzi_arg_int(-2), fnzi_arg_int(-1)};
  FNZ_TRY(fnzi_batch_make(v, "transpose.int", args, 3,
                          &(fnz_geometry){.dtype = g->dtype, .rank = g->rank, .sizes = sizes},
                          &weight));
  FNZ_TRY(fnzi_batch_set_levels(v, &weight, levels));
  FNZ_TRY(multiply(v, &v->args[0], &weight, &result));
  if (v->args[2].tag != FNZ_ARG_VALUE)
    return fnzi_batch_give(v, result);
  return add(v, v->args[2], result, fnzi_batch_geometry_of(v, &result)->rank - v->count, false);
}

/* --- einsum ----------------------------------------------------------------------------------- */

static fnz_status products_put_levels(const fnzi_batch_node *v, uint32_t levels,
                                      const char *letters, fnz_buffer *out) {
  for (uint32_t k = 0; k < v->regions->nlevels; k++)
    if (levels >> k & 1)
      FNZ_TRY(fnzi_put(v->regions->p->ctx, out, &letters[k], 1));
  return FNZ_OK;
}

/* "ij,jk->ik" with a letter in front of each term that has a level, and of the result. */
static fnz_status put_equation(const fnzi_batch_node *v, const char *equation, fnz_buffer *out) {
  fnz_context *ctx = v->regions->p->ctx;
  const fnz_arg *tensors = &v->args[1];
  const char *arrow = strstr(equation, "->"), *at = equation;
  char letters[FNZI_MOST_LEVELS];
  /* A letter for each level, that the equation does not have. */
  static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const char *next = all;
  for (uint32_t k = 0; k < v->regions->nlevels; k++) {
    while (*next && strchr(equation, *next))
      next++;
    if (!*next)
      return fnzi_batch_refuse(v, "leaves no letter for the batch");
    letters[k] = *next++;
  }
  for (uint32_t i = 0; i < tensors->count; i++) {
    size_t size = strcspn(at, arrow ? ",-" : ",");
    FNZ_TRY(fnzi_put_text(ctx, out, i ? "," : ""));
    FNZ_TRY(products_put_levels(v, fnzi_batch_levels(v, &tensors->u.list[i]), letters, out));
    FNZ_TRY(fnzi_put(ctx, out, at, size));
    at += size + (at[size] == ',');
  }
  FNZ_TRY(fnzi_put_text(ctx, out, "->"));
  FNZ_TRY(products_put_levels(v, v->all, letters, out));
  if (arrow)
    return fnzi_put_text(ctx, out, arrow + 2);
  /* Without "->" the result has the letters that occur once, in alphabetical order. */
  for (char c = 'A'; c <= 'z'; c++) {
    const char *once = fnzi_is_letter(c) ? strchr(equation, c) : NULL;
    if (once && !strchr(once + 1, c))
      FNZ_TRY(fnzi_put(ctx, out, &c, 1));
  }
  return FNZ_OK;
}

fnz_status fnzi_batch_einsum(fnzi_batch_node *v) {
  fnz_program *p = v->regions->p;
  fnz_buffer text = {NULL, 0, 0};
  const char *equation = v->args[0].tag == FNZ_ARG_STRING ? v->args[0].u.s : ".";
  if (strchr(equation, '.') || v->args[1].tag != FNZ_ARG_LIST)
    return fnzi_batch_refuse(v, "has an ellipsis");
  fnz_status status = put_equation(v, equation, &text);
  v->args[0].count = (uint32_t)text.size;
  if (status == FNZ_OK)
    status = fnzi_intern(p, text.data, text.size, &v->args[0].u.s);
  fnz_buffer_free(p->ctx, &text);
  FNZ_TRY(status);
  return fnzi_batch_finish(v, v->op, v->args, v->op->nparams);
}
