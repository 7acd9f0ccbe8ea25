/* checks: 2
 * Every in-place and out= operator of the table that has a CPU kernel and takes tensors and numbers
 * only: on random tensors it must give bit for bit what its functional form gives, whatever the
 * written tensor looks like before. */
#include "schema/schema.h"
#include "soak/choices.h"
#include "tests/run/variants.h"

enum { MOST_ARGS = 12, MOST_BYTES = 1024 };

typedef struct trial {
  const fnz_op *op, *twin;
  fnz_arg args[MOST_ARGS]; /* of the twin */
  fnz_handle result;       /* of the twin */
  choices *draw;
} trial;

/* --- Arguments -------------------------------------------------------------------------------- */

typedef enum form { FORM_MATRIX, FORM_SCALAR, FORM_EMPTY, FORM_COUNT } form;

static uint32_t sizes_of(form f, int64_t *sizes) {
  sizes[0] = f == FORM_EMPTY ? 0 : 2;
  sizes[1] = 3;
  return f == FORM_SCALAR ? 0 : 2;
}

static fnz_handle random_tensor(choices *draw, form f, fnz_dtype dtype) {
  float floats[6];
  int64_t ints[6], sizes[2];
  for (int i = 0; i < 6; i++) {
    ints[i] = 1 + (int64_t)choose(draw, 5);
    floats[i] = (float)choose(draw, 250) / 125 - (float)choose(draw, 2);
  }
  uint32_t rank = sizes_of(f, sizes);
  return tensor(dtype, rank, sizes, dtype == FNZ_I64 ? (const void *)ints : (const void *)floats);
}

/* False when the parameter takes something that a random trial has not. */
static bool make_arg(trial *t, size_t i, form f, fnz_dtype dtype) {
  const fnzi_param *p = &t->twin->params[i];
  t->args[i] = fnzi_arg_get(t->twin, NULL, 0, i);
  if (t->args[i].tag != FNZ_ARG_DEFAULT)
    return true;
  if (p->optional) {
    t->args[i].tag = FNZ_ARG_NONE;
    return true;
  }
  if (p->is_list || (p->type != FNZI_TYPE_TENSOR && p->type != FNZI_TYPE_SCALAR))
    return false;
  t->args[i] = p->type == FNZI_TYPE_SCALAR ? I(2) : T(random_tensor(t->draw, f, dtype));
  return true;
}

static bool make_args(trial *t, form f, fnz_dtype dtype) {
  if (t->twin->nparams > MOST_ARGS || t->op->nparams > MOST_ARGS)
    return false;
  for (size_t i = 0; i < t->twin->nparams; i++)
    if (!make_arg(t, i, f, dtype))
      return false;
  return true;
}

/* Calls the twin; false when the arguments do not suit it. */
static bool run_twin(trial *t, form f, fnz_dtype dtype) {
  size_t count;
  return make_args(t, f, dtype) &&
         try_call(t->twin->name, t->args, t->twin->nparams, &t->result, 1, &count) == FNZ_OK;
}

/* --- Comparing -------------------------------------------------------------------------------- */

static size_t bytes_of(fnz_handle value, unsigned char *out) {
  size_t bytes =
      (size_t)fnz_geometry_numel(look(value)) * fnz_dtype_get_info(look(value)->dtype)->bytes;
  ck_assert_uint_le(bytes, MOST_BYTES);
  OK(eager.ctx, eager.backend->download(eager.backend->self, eager.ctx, value, out));
  return bytes;
}

static void check_equal(const trial *t, fnz_handle have, const char *what) {
  unsigned char a[MOST_BYTES], b[MOST_BYTES];
  fnz_handle want = t->result;
  if (look(want)->dtype != look(have)->dtype)
    want = CALL("_to_copy", T(want), D(look(have)->dtype));
  size_t bytes = bytes_of(want, a);
  if (bytes != bytes_of(have, b) || memcmp(a, b, bytes) != 0)
    ck_abort_msg("%s, %s: want %s, have %s", t->op->name, what, show(want), show(have));
}

/* --- In place --------------------------------------------------------------------------------- */

/* A tensor with the elements of `like`, in the given layout. */
static fnz_handle laid_out(fnz_handle like, bool strided) {
  const fnz_geometry *g = look(like);
  if (!strided || g->rank != 2)
    return CALL("clone", T(like));
  fnz_handle wide = CALL("empty.memory_format", L(I(2 * g->sizes[1]), I(g->sizes[0])), D(g->dtype));
  fnz_handle columns = CALL("t", T(CALL("slice.Tensor", T(wide), I(0), N, N, I(2))));
  CALL("copy_", T(columns), T(like));
  return columns;
}

static bool check_inplace(trial *t, bool strided) {
  fnz_arg args[MOST_ARGS];
  fnz_handle out, self = laid_out(t->args[0].u.value, strided);
  size_t count;
  memcpy(args, t->args, sizeof args);
  args[0] = T(self);
  if (look(t->result)->rank != look(self)->rank ||
      !fnzi_can_cast(look(t->result)->dtype, look(self)->dtype) ||
      try_call(t->op->name, args, t->op->nparams, &out, 1, &count) != FNZ_OK)
    return false;
  ck_assert_uint_eq(out, self);
  check_equal(t, self, strided ? "in place, strided" : "in place");
  return true;
}

/* --- out= ------------------------------------------------------------------------------------- */

static void out_args(const trial *t, fnz_handle out, fnz_arg *args) {
  size_t at = 0;
  for (size_t i = 0; i < t->op->nparams; i++) {
    int from = fnzi_op_param(t->twin, t->op->params[i].name);
    args[i] = t->op->params[i].is_out ? T(out) : t->args[from < 0 ? (int)at : from];
    at = i;
  }
}

static void call_out(trial *t, fnz_handle out, const char *what) {
  fnz_arg args[MOST_ARGS];
  fnz_handle same;
  size_t count;
  out_args(t, out, args);
  OK(eager.ctx, try_call(t->op->name, args, t->op->nparams, &same, 1, &count));
  ck_assert_uint_eq(same, out);
  check_equal(t, out, what);
}

/* Eager refuses that of some operators that are not elementwise. */
static void call_out_on_argument(trial *t) {
  fnz_arg args[MOST_ARGS];
  fnz_handle out = CALL("alias", T(t->args[0].u.value)), same;
  size_t count;
  out_args(t, out, args);
  fnz_status status = try_call(t->op->name, args, t->op->nparams, &same, 1, &count);
  if (status == FNZ_OK)
    check_equal(t, out, "out= is an argument");
  else
    ck_assert(!fnzi_op_is_elementwise(t->twin) &&
              strcmp(fnz_class_name(fnz_last_error(eager.ctx)->kind), "OVERLAP") == 0);
}

static void check_out(trial *t) {
  static const int64_t other[] = {5};
  const fnz_geometry *g = look(t->result);
  fnz_arg dtype = D(g->dtype);
  bool has_elements = fnz_geometry_numel(g) > 0;
  fnz_handle right = CALL("empty_like", T(t->result));
  call_out(t, right, "out= of the right size");
  ck_assert_ptr_null(strstr(eager.warning, "resized"));
  call_out(t, CALL("empty.memory_format", L(I(0)), dtype), "empty out=");
  fnz_handle wrong = CALL("empty.memory_format", L(I(other[0])), dtype);
  call_out(t, wrong, "out= of a wrong size");
  call_out(t, laid_out(t->result, true), "strided out=");
  if (has_elements && t->args[0].tag == FNZ_ARG_VALUE &&
      look(t->args[0].u.value)->dtype == g->dtype)
    call_out_on_argument(t);
}

/* --- All of the table ------------------------------------------------------------------------- */

/* The first result is a tensor, and the only one. */
static bool is_simple(const fnz_op *op) {
  return op->nreturns == 1 && !op->returns[0].is_list && op->returns[0].type == FNZI_TYPE_TENSOR;
}

static bool is_calm(const fnz_op *op) {
  return !(op->tags & (FNZI_TAG_RANDOM | FNZI_TAG_DYNAMIC_SHAPE)) &&
         strncmp(op->base, "empty", 5) != 0;
}

static bool try_form(trial *t, form f, fnz_dtype dtype) {
  open_backend(false);
  bool done = run_twin(t, f, dtype);
  if (done && t->op->kind == FNZI_KIND_OUT)
    check_out(t);
  else if (done)
    done = check_inplace(t, false) && (f != FORM_MATRIX || check_inplace(t, true));
  close_backend();
  return done;
}

/* How many operators of a kind agree with their functional form in at least one trial. */
static size_t check_kind(fnzi_kind kind, uint64_t seed) {
  size_t done = 0;
  for (size_t i = 0; i < fnz_op_count(); i++) {
    choices draw;
    choices_start(&draw, seed, i);
    trial t = {.op = fnz_op_at(i), .draw = &draw};
    t.twin = fnz_op_functional_twin(t.op);
    bool any = false;
    if (t.op->kind != kind || !t.twin || !fnz_cpu_has_kernel(t.twin) || !is_simple(t.twin) ||
        !is_calm(t.twin) || t.twin->nparams == 0 || t.twin->params[0].is_list)
      continue;
    for (form f = FORM_MATRIX; f < FORM_COUNT; f++) {
      any = try_form(&t, f, FNZ_F32) || any;
      any = try_form(&t, f, FNZ_I64) || any;
    }
    done += any;
  }
  return done;
}

START_TEST(inplace_is_functional) {
  for (uint64_t seed = 1; seed <= 3; seed++)
    ck_assert_uint_ge(check_kind(FNZI_KIND_INPLACE, seed), 160);
}
END_TEST

START_TEST(out_is_functional) {
  for (uint64_t seed = 1; seed <= 3; seed++)
    ck_assert_uint_ge(check_kind(FNZI_KIND_OUT, seed), 290);
}
END_TEST

RUN_SUITE("random variants", inplace_is_functional, out_is_functional)
