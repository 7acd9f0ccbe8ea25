/* mlir_complex.c - operators on complex numbers by operators on their parts, which a view of pairs
 * shows: real and imaginary part are the last dimension.
 *
 * needs   complex arguments, or a complex result
 * gives   steps on real numbers between view_as_real and view_as_complex
 *
 * A real factor or divisor has no imaginary part, where eager computes with one of 0: products with
 * infinities differ. */
#include "functionalize/decompose/mlir_complex.h"

/* --- parts ------------------------------------------------------------------------------------ */
static bool is_complex(const fnzi_krn_array *a) {
  return a && fnzi_is_complex(DTYPE_OF(a));
}

static fnz_dtype part_dtype(fnz_dtype dtype) {
  return dtype == FNZ_C128 ? FNZ_F64 : dtype == FNZ_C32 ? FNZ_F16 : FNZ_F32;
}

static fnzi_krn_array *part(fnzi_dec_steps *s, fnzi_krn_array *a, int which) {
  return STEP(select__int, V(STEP(view_as_real, V(a))), I(-1), I(which));
}

fnzi_dcm_cx fnzi_dcm_cx_of(fnzi_dec_steps *s, fnzi_krn_array *a) {
  if (!is_complex(a))
    return (fnzi_dcm_cx){a, NULL};
  return (fnzi_dcm_cx){part(s, a, 0), part(s, a, 1)};
}

/* The number as one of another type; a whole number stays one. */
static fnz_arg part_of_number(const fnz_arg *arg, int which) {
  if (arg->tag == FNZ_ARG_COMPLEX)
    return arg->u.list[which];
  return which == 0 ? *arg : arg->tag == FNZ_ARG_FLOAT ? F(0) : I(0);
}

static fnz_dtype dtype_of_parts(const fnzi_dec_steps *s) {
  for (size_t i = 0; i < s->call->op->nparams; i++) {
    const fnz_arg *arg = &s->call->args[i];
    if (arg->tag == FNZ_ARG_VALUE && is_complex(fnzi_krn_arg_array(arg)))
      return part_dtype(DTYPE_OF(fnzi_krn_arg_array(arg)));
  }
  return FNZ_F32;
}

fnzi_dcm_cx fnzi_dcm_cx_given(fnzi_dec_steps *s, const char *name) {
  fnz_arg arg = AS_GIVEN(name);
  if (arg.tag == FNZ_ARG_VALUE)
    return fnzi_dcm_cx_of(s, fnzi_krn_arg_array(&arg));
  if (arg.tag == FNZ_ARG_NONE || arg.tag == FNZ_ARG_DEFAULT)
    return (fnzi_dcm_cx){NULL, NULL};
  fnz_dtype dtype = dtype_of_parts(s);
  fnzi_krn_array *re = NUMBER(part_of_number(&arg, 0), dtype);
  bool has_both = arg.tag == FNZ_ARG_COMPLEX;
  return (fnzi_dcm_cx){re, has_both ? NUMBER(part_of_number(&arg, 1), dtype) : NULL};
}

fnzi_krn_array *fnzi_dcm_cx_whole(fnzi_dec_steps *s, fnzi_dcm_cx z) {
  fnzi_krn_array *re = z.re, *im = z.im;
  if (!im && re)
    im = STEP(zeros_like, V(re));
  if (re && im && DTYPE_OF(re) != DTYPE_OF(im))
    im = fnzi_dec_cast(s, im, DTYPE_OF(re));
  if (re && im && !fnzi_same_sizes(&re->geometry, &im->geometry))
    fnzi_dec_broadcast_both(s, &re, &im);
  fnzi_krn_array *const both[] = {re, im};
  return STEP(view_as_complex, V(STEP(stack, fnzi_dec_values(s, both, 2), I(-1))));
}

/* --- the operator on each part ---------------------------------------------------------------- */
static bool is_called(const fnzi_param *param, const char *name) {
  return strcmp(param->name, name) == 0;
}

/* The parameter says where elements are, not what they are. */
static bool says_where(const fnzi_param *param) {
  return is_called(param, "index") || is_called(param, "indices") || is_called(param, "mask") ||
         is_called(param, "condition");
}

/* A real tensor has an imaginary part of 0. */
static fnz_arg part_of_tensor(fnzi_dec_steps *s, const fnz_arg *arg, int which) {
  fnzi_krn_array *a = fnzi_krn_arg_array(arg);
  if (arg->tag != FNZ_ARG_VALUE)
    return *arg;
  return V(is_complex(a) ? part(s, a, which) : which ? STEP(zeros_like, V(a)) : a);
}

static fnz_arg part_of(fnzi_dec_steps *s, const fnzi_param *param, const fnz_arg *arg, int which) {
  if (says_where(param))
    return *arg;
  if (param->type == FNZI_TYPE_TENSOR && arg->tag == FNZ_ARG_LIST) {
    fnz_arg *items = fnzi_dec_args_room(s, arg->count), out = *arg;
    for (uint32_t i = 0; items && i < arg->count; i++)
      items[i] = part_of_tensor(s, &arg->u.list[i], which);
    out.u.list = items;
    return out;
  }
  if (arg->tag == FNZ_ARG_VALUE)
    return part_of_tensor(s, arg, which);
  if (arg->tag == FNZ_ARG_DTYPE && fnzi_is_complex((fnz_dtype)arg->u.i))
    return DTYPE(part_dtype((fnz_dtype)arg->u.i));
  /* A number among elements; others are factors. */
  static const char *const names[] = {"self", "other", "value", "fill_value", "s"};
  bool is_element = false;
  for (size_t i = 0; i < sizeof names / sizeof *names && !is_element; i++)
    is_element = strcmp(param->name, names[i]) == 0;
  if (is_element && fnzi_dcm_is_given(arg))
    return part_of_number(arg, which);
  if (arg->tag == FNZ_ARG_COMPLEX)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "%s is a complex factor of both parts", param->name);
  return *arg;
}

/* A step is the view itself: the pass makes a copy of it where copies are wanted. */
static size_t step_of(const fnz_op *op) {
  const fnz_op *view = fnz_op_member(op, FNZ_MEMBER_VIEW);
  bool is_copy = view && strstr(op->base, "_copy");
  return fnzi_op_place(is_copy ? view : op);
}

static fnzi_krn_array *on_part(fnzi_dec_steps *s, int which) {
  const fnz_op *op = s->call->op;
  fnz_arg args[FNZI_DCM_MOST_ARGS];
  const bool has_self = op->nparams && s->call->args[0].tag == FNZ_ARG_VALUE;
  int dtype = fnzi_op_param(op, "dtype");
  for (size_t i = 0; i < op->nparams && i < FNZI_DCM_MOST_ARGS; i++)
    args[i] = part_of(s, &op->params[i], &s->call->args[i], which);
  if (dtype >= 0 && !has_self && !fnzi_dcm_is_given(&args[dtype]))
    args[dtype] = DTYPE(FNZ_F32);
  return fnzi_dec_step(s, step_of(op), args, op->nparams);
}

/* The result is real though an argument is complex: a cast, or a copy into a real tensor. */
static bool drops_a_part(const fnzi_dec_steps *s) {
  fnz_arg dtype = AS_GIVEN("dtype");
  if (dtype.tag == FNZ_ARG_DTYPE)
    return !fnzi_is_complex((fnz_dtype)dtype.u.i);
  return strcmp(s->call->op->base, "copy") == 0 && !is_complex(GIVEN("self"));
}

TAKE_APART(parts) {
  fnzi_krn_array *re = on_part(s, 0);
  GIVE(drops_a_part(s) ? re : fnzi_dcm_cx_whole(s, (fnzi_dcm_cx){re, on_part(s, 1)}));
}

/* --- the operator on pairs -------------------------------------------------------------------- */
/* Tensors must be complex, also in a list. A complex scalar cannot replace a tensor. */
static bool is_pairs(const fnzi_param *param, const fnz_arg *arg) {
  bool fits = arg->tag != FNZ_ARG_COMPLEX;
  if (says_where(param) || !fnzi_dcm_is_given(arg))
    return true;
  if (param->type != FNZI_TYPE_TENSOR || !fits)
    return fits;
  const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
  for (uint32_t i = 0; fits && i < (arg->tag == FNZ_ARG_LIST ? arg->count : 1); i++)
    fits = items[i].tag == FNZ_ARG_VALUE && is_complex(fnzi_krn_arg_array(&items[i]));
  return fits;
}

/* Dimensions that are counted from the end are one more away from it. */
static fnz_arg complex_moved(const fnz_arg *dim) {
  return dim->tag == FNZ_ARG_INT && dim->u.i < 0 ? I(dim->u.i - 1) : *dim;
}

/* The list, with one item more where it names all dimensions: -1 is the last one. */
static fnz_arg moved_list(fnzi_dec_steps *s, const fnz_arg *list, bool is_dims, int64_t more) {
  fnz_arg *items = fnzi_dec_args_room(s, list->count + 1), out = *list;
  for (uint32_t i = 0; items && i < list->count; i++)
    items[i] = is_dims ? complex_moved(&list->u.list[i]) : list->u.list[i];
  if (items && more)
    items[out.count++] = I(more);
  out.u.list = items;
  return out;
}

static fnz_arg for_pairs(fnzi_dec_steps *s, const fnzi_param *param, const fnz_arg *arg) {
  const char *name = param->name, *base = s->call->op->base;
  if (says_where(param)) {
    if (strncmp(base, "gather", 6) != 0 && strncmp(base, "scatter", 7) != 0)
      return *arg;
    /* Indices of as many dimensions as there are: of both numbers of a pair they are the same. */
    int64_t sizes[FNZ_MAX_RANK + 1];
    fnzi_krn_array *index = fnzi_krn_arg_array(arg);
    int64_t rank = RANK(index);
    for (int64_t d = 0; d < rank; d++)
      sizes[d] = SIZE(index, d);
    sizes[rank] = 2;
    index = STEP(unsqueeze, V(index), I(-1));
    return V(STEP(expand, V(index), fnzi_dec_ints(s, sizes, (size_t)rank + 1)));
  }
  if (param->type == FNZI_TYPE_TENSOR && (arg->tag == FNZ_ARG_VALUE || arg->tag == FNZ_ARG_LIST)) {
    if (arg->tag == FNZ_ARG_VALUE)
      return V(STEP(view_as_real, V(fnzi_krn_arg_array(arg))));
    fnz_arg *items = fnzi_dec_args_room(s, arg->count), out = *arg;
    for (uint32_t i = 0; items && i < arg->count; i++)
      items[i] = V(STEP(view_as_real, V(fnzi_krn_arg_array(&arg->u.list[i]))));
    out.u.list = items;
    return out;
  }
  if (strcmp(name, "memory_format") == 0)
    return DEFAULT;
  bool is_dims = strncmp(name, "dim", 3) == 0;
  if (arg->tag != FNZ_ARG_LIST)
    return is_dims ? complex_moved(arg) : *arg;
  bool is_size = strcmp(name, "size") == 0 || strcmp(name, "shape") == 0;
  bool is_order = strcmp(name, "dims") == 0 && strncmp(base, "permute", 7) == 0;
  return moved_list(s, arg, is_dims, is_size ? 2 : is_order ? -1 : 0);
}

/* Returns pairs as complex numbers in memory of their own. Without the clone, the pass would merge
 * a row of views into one view of complex numbers. */
static void give_pairs(fnzi_dec_steps *s, fnzi_krn_array *pairs) {
  GIVE(STEP(view_as_complex, V(STEP(clone, V(pairs), CONTIGUOUS_FORMAT))));
}

TAKE_APART(pairs) {
  const fnz_op *op = s->call->op;
  fnz_arg args[FNZI_DCM_MOST_ARGS];
  bool fits = true;
  for (size_t i = 0; i < op->nparams && fits; i++)
    fits = is_pairs(&op->params[i], &s->call->args[i]);
  if (!fits) {
    fnzi_dcm_parts(s);
    return;
  }
  for (size_t i = 0; i < op->nparams && i < FNZI_DCM_MOST_ARGS; i++)
    args[i] = for_pairs(s, &op->params[i], &s->call->args[i]);
  give_pairs(s, fnzi_dec_step(s, step_of(op), args, op->nparams));
}

/* Pieces one after the other along a dimension. */
TAKE_APART(pieces) {
  fnzi_krn_array *self = GIVEN("self");
  uint32_t dim = fnzi_dec_given_dim(s, "dim", self);
  const int64_t *sizes = NULL;
  size_t count = 0;
  int64_t start = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "split_sizes", &sizes, &count));
  for (size_t i = 0; i < count && s->status == FNZ_OK; i++) {
    GIVE(fnzi_part(s, self, dim, start, sizes[i]));
    start += sizes[i];
  }
}

/* Views of the same elements under other sizes. */
TAKE_APART(reshaped_pairs) {
  fnzi_krn_array *pairs = STEP(view_as_real, V(GIVEN("self")));
  fnz_arg sizes = AS_GIVEN(fnzi_op_param(s->call->op, "size") < 0 ? "shape" : "size");
  give_pairs(s, STEP(view, V(fnzi_dcm_in_rows(s, pairs)), moved_list(s, &sizes, false, 2)));
}
