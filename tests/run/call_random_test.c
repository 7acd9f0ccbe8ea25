/* checks: 2
 * fnz_call() with random arguments, right and wrong ones, for every operator that the CPU backend
 * serves. Each call is made on the CPU backend and on the meta backend:
 *
 * - both accept it, or both refuse it, and the results and arguments look alike afterwards;
 * - a refused call writes nothing, and an accepted one writes only its written arguments;
 * - an in-place operator has the results of its functional form;
 * - nothing is left when all tensors are released, whatever the calls were.
 *
 * The rest is for the sanitizers to see. FNZ_CALLS=FIRST:COUNT runs other calls than the usual
 * ones, FNZ_CALL_TRACE=1 says each before it is made. */
#include "tests/run/call_draws.h"
#include "tests/help/faults.h"

#include "kernels/core/core.h"

#include <fnz/fnz.h>
#include <stdio.h>
#include <unistd.h>

enum { USUAL_CALLS = 60000, MOST_CALL_BYTES = 1 << 20, CALLS_PER_HOUSE = 2000 };
enum { MOST_SECONDS = 20, TEXT_BYTES = 1000, MOST_COMPARED = 4096, MOST_FINDINGS = 30 };

/* A backend with the memory of one call. */
typedef struct side {
  fnz_backend *backend;
  fnz_stack *stack;
  fnz_eager bases[DRAW_TENSORS], tensors[DRAW_TENSORS];
  size_t nbases, ntensors;
  fnz_status status;
  fnz_class kind;
  char message[256];
} side;

typedef struct house {
  fnz_context *ctx;
  faults memory;
  side cpu, twin, meta;
  drawn_call drawn;
  unsigned long long index;
  fnz_generator *generator;
  size_t findings, accepted, calls;
  bool traces;
} house;

/* --- Sides ------------------------------------------------------------------------------------ */

static void open_side(house *h, side *s, bool meta) {
  s->nbases = s->ntensors = 0;
  OK(h->ctx, meta ? fnz_meta_backend_create(h->ctx, &s->backend)
                  : fnz_cpu_backend_create(h->ctx, 1, &s->backend));
  OK(h->ctx, fnz_stack_create(h->ctx, s->backend, &s->stack));
}

static void close_side(side *s) {
  fnz_stack_destroy(s->stack);
  fnz_backend_destroy(s->backend);
}

static void open_house(house *h) {
  fnz_allocator allocator = {faults_resize, &h->memory};
  h->memory = (faults){.calls = 0};
  ck_assert_int_eq(fnz_context_create(&allocator, &h->ctx), FNZ_OK);
  OK(h->ctx, fnz_generator_create(h->ctx, 1, &h->generator));
  fnz_context_set_generator(h->ctx, h->generator);
  open_side(h, &h->cpu, false);
  open_side(h, &h->twin, false);
  open_side(h, &h->meta, true);
}

/* Whatever was called, nothing is left. */
static void close_house(house *h) {
  close_side(&h->cpu);
  close_side(&h->twin);
  close_side(&h->meta);
  fnz_generator_destroy(h->generator);
  ck_assert_uint_eq(h->ctx->live_bytes, 0);
  fnz_context_destroy(h->ctx);
  ck_assert_uint_eq(h->memory.live_bytes, 0);
}

/* --- Arguments -------------------------------------------------------------------------------- */

static void make_base(house *h, side *s, const drawn_base *b) {
  const int64_t one = 1;
  fnz_geometry g = {.dtype = b->dtype, .rank = 1, .sizes = &b->count, .strides = &one};
  fnz_eager *out = &s->bases[s->nbases++];
  out->backend = s->backend;
  OK(h->ctx, s->backend->upload(s->backend->self, h->ctx, &g, b->cells, &out->handle));
}

static void make_tensor(house *h, side *s, const drawn_tensor *t) {
  fnz_push_tensor(s->stack, s->bases[t->base]);
  fnz_push_ints(s->stack, t->sizes, t->rank);
  fnz_push_ints(s->stack, t->strides, t->rank);
  fnz_push_int(s->stack, t->offset);
  OK(h->ctx, fnz_call(h->ctx, fnz_op_find(NULL, "as_strided"), s->stack));
  s->tensors[s->ntensors++] = fnz_pop_tensor(s->stack);
}

static void make_memory(house *h, side *s) {
  for (size_t i = 0; i < h->drawn.nbases; i++)
    make_base(h, s, &h->drawn.bases[i]);
  for (size_t i = 0; i < h->drawn.ntensors; i++)
    make_tensor(h, s, &h->drawn.tensors[i]);
}

static void end_memory(side *s) {
  fnz_stack_clear(s->stack);
  while (s->ntensors)
    fnz_eager_release(s->tensors[--s->ntensors]);
  while (s->nbases)
    fnz_eager_release(s->bases[--s->nbases]);
}

static fnz_eager tensor_at(const side *s, uint8_t which) {
  return which == DRAW_NO_TENSOR ? (fnz_eager){NULL, 0} : s->tensors[which];
}

static void push_arg(side *s, const drawn_arg *a) {
  fnz_eager tensors[DRAW_ITEMS];
  fnz_arg plain = a->plain;
  if (plain.tag == FNZ_ARG_LIST || plain.tag == FNZ_ARG_COMPLEX)
    plain.u.list = a->items;
  for (size_t k = 0; a->kind == DRAWN_TENSORS && k < a->count; k++)
    tensors[k] = tensor_at(s, a->tensors[k]);
  if (a->kind == DRAWN_TENSORS)
    fnz_push_tensors(s->stack, tensors, a->count);
  else if (a->kind == DRAWN_TENSOR)
    fnz_push_tensor(s->stack, tensor_at(s, a->tensors[0]));
  else
    fnz_push_arg(s->stack, &plain);
  if (a->name)
    fnz_push_name(s->stack, a->name);
}

/* --- Findings --------------------------------------------------------------------------------- */

static void find(house *h, const char *what) {
  char text[TEXT_BYTES];
  draw_text(&h->drawn, text, sizeof text);
  if (h->findings++ < MOST_FINDINGS || h->traces)
    fprintf(stderr, "call %llu: %s: %s\n  cpu: %s\n  meta: %s\n", h->index, what, text,
            h->cpu.status ? h->cpu.message : "accepts",
            h->meta.status ? h->meta.message : "accepts");
}

/* --- The call --------------------------------------------------------------------------------- */

static void invoke(house *h, side *s, const fnz_op *op) {
  for (size_t i = 0; i < h->drawn.nargs; i++)
    push_arg(s, &h->drawn.args[i]);
  h->memory.most_bytes = h->memory.live_bytes + MOST_CALL_BYTES;
  fnz_generator_set_seed(h->generator, 1); /* each side draws the same */
  s->status = fnz_call(h->ctx, op, s->stack);
  h->memory.most_bytes = 0;
  h->calls++;
  s->kind = s->status ? fnz_last_error(h->ctx)->kind : FNZ_CLASS_COUNT;
  if (s->status)
    snprintf(s->message, sizeof s->message, "%s: %s", fnz_class_name(s->kind),
             fnz_last_error(h->ctx)->message);
}

/* --- Nothing else is written ------------------------------------------------------------------ */

/* A write may come through any window into the memory. */
static bool may_be_written(const drawn_call *d, size_t base) {
  for (size_t i = 0; i < d->nargs; i++) {
    const drawn_arg *a = &d->args[i];
    size_t count = a->kind == DRAWN_TENSOR ? 1 : a->kind == DRAWN_TENSORS ? a->count : 0;
    int place = a->name ? fnzi_op_param(d->op, a->name) : (int)i;
    for (size_t k = 0; k < count; k++)
      if (a->tensors[k] != DRAW_NO_TENSOR && d->tensors[a->tensors[k]].base == base &&
          (d->op->params[place].is_write || strstr(d->op->base, "batch_norm")))
        return true;
  }
  return false;
}

static void check_base(house *h, size_t base) {
  static unsigned char cells[DRAW_CELLS * 16];
  const drawn_base *b = &h->drawn.bases[base];
  fnz_eager t = h->cpu.bases[base];
  OK(h->ctx, t.backend->download(t.backend->self, h->ctx, t.handle, cells));
  if (memcmp(cells, b->cells, (size_t)b->count * fnz_dtype_get_info(b->dtype)->bytes) != 0)
    find(h, h->cpu.status ? "refused, but memory is written" : "memory of another is written");
}

static bool looks_as_drawn(const fnz_geometry *g, const drawn_tensor *t) {
  size_t bytes = t->rank * sizeof *t->sizes;
  return g->rank == t->rank && g->offset == t->offset &&
         (!bytes ||
          (memcmp(g->sizes, t->sizes, bytes) == 0 && memcmp(g->strides, t->strides, bytes) == 0));
}

/* Statistics are written by one operator, the results by another one behind it. */
static bool keeps_statistics(const fnz_op *op) {
  return op->kind == FNZI_KIND_OUT && strstr(op->base, "batch_norm");
}

/* Lists go element by element, and elements before a refused one stay changed, as in eager. A
 * factor is there, too, before check_errors reads LAPACK's status. */
static bool is_all_or_nothing(const fnz_op *op) {
  return strcmp(op->base, "linalg_cholesky_ex") != 0 && strncmp(op->base, "_foreach_", 9) != 0 &&
         !keeps_statistics(op);
}

static void check_memory(house *h) {
  if (h->cpu.status && !is_all_or_nothing(h->drawn.op))
    return;
  for (size_t i = 0; i < h->drawn.nbases; i++)
    if (h->cpu.status || !may_be_written(&h->drawn, i))
      check_base(h, i);
  for (size_t i = 0; h->cpu.status && i < h->drawn.ntensors; i++)
    if (!looks_as_drawn(fnz_eager_geometry(h->cpu.tensors[i]), &h->drawn.tensors[i]))
      find(h, "refused, but an argument looks different");
}

/* --- The meta backend agrees ------------------------------------------------------------------ */

static bool look_alike(fnz_eager a, fnz_eager b) {
  const fnz_geometry *x = fnz_eager_geometry(a), *y = fnz_eager_geometry(b);
  if (!x || !y)
    return x == y;
  size_t bytes = x->rank * sizeof *x->sizes;
  return x->dtype == y->dtype && x->rank == y->rank && x->offset == y->offset &&
         x->is_conj == y->is_conj && x->is_neg == y->is_neg &&
         (!bytes ||
          (memcmp(x->sizes, y->sizes, bytes) == 0 && memcmp(x->strides, y->strides, bytes) == 0));
}

static void compare_results(house *h) {
  const fnz_stack *a = h->cpu.stack, *b = h->meta.stack;
  size_t count = fnz_stack_count(a);
  if (count != fnz_stack_count(b)) {
    find(h, "other results on the meta backend");
    return;
  }
  for (size_t i = 0; i < count; i++) {
    bool same = fnz_stack_tensors(a, i) == fnz_stack_tensors(b, i);
    for (size_t k = 0; same && k < fnz_stack_tensors(a, i); k++)
      same = look_alike(fnz_stack_tensor(a, i, k), fnz_stack_tensor(b, i, k));
    if (!same)
      find(h, "results look different on the meta backend");
  }
  for (size_t i = 0; i < h->drawn.ntensors; i++)
    if (!look_alike(h->cpu.tensors[i], h->meta.tensors[i]))
      find(h, "an argument looks different on the meta backend");
}

/* A tensor, or a number in its place, that may say where something lies, or divide by zero. */
static bool has_places(const drawn_call *d) {
  for (size_t i = 0; i < d->nargs && i < d->op->nparams; i++)
    if (d->op->params[i].type == FNZI_TYPE_TENSOR && d->args[i].kind == DRAWN_PLAIN)
      return true;
  for (size_t i = 0; i < d->nbases; i++)
    if (strchr("iub", fnz_dtype_get_info(d->bases[i].dtype)->category))
      return true;
  return false;
}

/* Operators whose arguments the CPU kernel checks more closely than the shape rule. */
static bool is_looser_on_meta(const fnz_op *op) {
  static const char *const bases[] = {"mvlgamma",
                                      "mvlgamma_",
                                      "slice_inverse",
                                      "_functional_assert_async",
                                      "_neg_view_copy",
                                      "aminmax",
                                      "instance_norm",
                                      "batch_norm",
                                      "_native_batch_norm_legit",
                                      "native_batch_norm",
                                      "binary_cross_entropy",
                                      "istft",
                                      "histc",
                                      "quantile",
                                      "nanquantile",
                                      "linalg_cholesky",
                                      "linalg_cholesky_ex",
                                      "linalg_lu_factor",
                                      "linalg_lu_factor_ex",
                                      "linalg_solve",
                                      "linalg_solve_ex",
                                      "_linalg_solve_ex",
                                      "linalg_inv",
                                      "linalg_inv_ex",
                                      "linalg_matrix_power",
                                      "_linalg_eigh", /* infinite elements, from here on */
                                      "linalg_eigh",
                                      "linalg_eigvalsh",
                                      "_linalg_svd",
                                      "linalg_svd",
                                      "linalg_svdvals",
                                      "svd",
                                      "linalg_pinv",
                                      "pinverse",
                                      "linalg_matrix_rank",
                                      "linalg_cond",
                                      "linalg_norm",
                                      "linalg_matrix_norm",
                                      "nuclear_norm",
                                      "masked_scatter_backward", /* how much a mask picks */
                                      "_assert_async",
                                      "feature_dropout", /* two dimensions, where it draws */
                                      "feature_alpha_dropout",
                                      "scaled_dot_product_attention", /* their dropout_p */
                                      "_scaled_dot_product_flash_attention_for_cpu",
                                      "bernoulli", /* elements of these */
                                      "bernoulli_",
                                      "multinomial",
                                      "normal",
                                      "randint_like"};
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
    if (strcmp(fnzi_op_canonical(op)->base, bases[i]) == 0)
      return true;
  return false;
}

/* Only one of them has numbers: the CPU backend may lack a kernel for an element type, or refuse
 * what an index or a mask holds; the meta backend cannot know sizes that depend on numbers. */
static bool is_reason(const house *h) {
  return h->cpu.status == FNZ_NO_MEMORY || h->cpu.kind == FNZ_CLASS_OVERFLOW ||
         h->cpu.kind == FNZ_CLASS_UNSUPPORTED || h->meta.kind == FNZ_CLASS_UNSUPPORTED ||
         (h->cpu.kind == FNZ_CLASS_BOUNDS && has_places(&h->drawn));
}

static void compare_sides(house *h) {
  if (!h->cpu.status && !h->meta.status)
    compare_results(h);
  else if (!h->cpu.status != !h->meta.status && !is_reason(h) &&
           !(h->cpu.status && is_looser_on_meta(h->drawn.op)))
    find(h, h->cpu.status ? "the meta backend accepts" : "the meta backend refuses");
}

/* --- In place is functional ------------------------------------------------------------------- */

static bool same_params(const fnz_op *op, const fnz_op *twin) {
  bool same = op->nparams == twin->nparams;
  for (size_t i = 0; same && i < op->nparams; i++)
    same = strcmp(op->params[i].name, twin->params[i].name) == 0;
  return same;
}

static const fnz_op *comparable_twin(const fnz_op *op) {
  const fnz_op *twin = op->kind == FNZI_KIND_INPLACE ? fnz_op_functional_twin(op) : NULL;
  bool simple = twin && twin->nreturns == 1 && !twin->returns[0].is_list &&
                !(op->tags & (FNZI_TAG_RANDOM | FNZI_TAG_INPLACE_VIEW)) && same_params(op, twin) &&
                strncmp(op->base, "resize", 6) != 0; /* whose new elements are any */
  return simple ? twin : NULL;
}

/* Elements of a tensor as f64 pairs where that is exact enough to compare, else its own cells. */
static size_t read_cells(house *h, fnz_eager t, unsigned char *out) {
  size_t bytes = (size_t)fnz_geometry_numel(fnz_eager_geometry(t)) *
                 fnz_dtype_get_info(fnz_eager_geometry(t)->dtype)->bytes;
  ck_assert_uint_le(bytes, MOST_COMPARED);
  OK(h->ctx, t.backend->download(t.backend->self, h->ctx, t.handle, out));
  return bytes;
}

/* The same bits, or both no number. */
static bool same_cell(fnz_dtype dtype, const unsigned char *a, const unsigned char *b) {
  double x[2] = {0, 0}, y[2] = {0, 0};
  size_t bytes = fnz_dtype_get_info(dtype)->bytes;
  char category = fnz_dtype_get_info(dtype)->category;
  if (memcmp(a, b, bytes) == 0)
    return true;
  if ((category != 'f' && category != 'c') || bytes < 2)
    return false;
  fnzi_krn_convert_one(FNZ_C128, x, dtype, a);
  fnzi_krn_convert_one(FNZ_C128, y, dtype, b);
  return (x[0] != x[0] && y[0] != y[0]) || (x[1] != x[1] && y[1] != y[1]);
}

static void compare_twin(house *h, fnz_eager have, fnz_eager want) {
  static unsigned char a[MOST_COMPARED], b[MOST_COMPARED];
  const fnz_geometry *g = fnz_eager_geometry(have), *w = fnz_eager_geometry(want);
  if (g->dtype != w->dtype || (size_t)fnz_geometry_numel(g) * 16 > MOST_COMPARED)
    return;
  size_t bytes = read_cells(h, have, a), cell = fnz_dtype_get_info(g->dtype)->bytes;
  if (fnz_geometry_numel(w) != fnz_geometry_numel(g)) {
    find(h, "the functional form has another shape");
    return;
  }
  read_cells(h, want, b);
  for (size_t at = 0; at < bytes; at += cell)
    if (!same_cell(g->dtype, a + at, b + at)) {
      find(h, "the functional form gives other elements");
      return;
    }
}

static void try_twin(house *h) {
  const fnz_op *twin = comparable_twin(h->drawn.op);
  if (!twin || h->cpu.status || fnz_stack_tensors(h->cpu.stack, 0) != 1)
    return;
  make_memory(h, &h->twin);
  invoke(h, &h->twin, twin);
  if (h->twin.status == FNZ_OK && fnz_stack_tensors(h->twin.stack, 0) == 1)
    compare_twin(h, fnz_stack_tensor(h->cpu.stack, 0, 0), fnz_stack_tensor(h->twin.stack, 0, 0));
  end_memory(&h->twin);
}

/* --- One call --------------------------------------------------------------------------------- */

static void try_call(house *h) {
  char text[TEXT_BYTES];
  if (h->traces) {
    draw_text(&h->drawn, text, sizeof text);
    fprintf(stderr, "%llu %s\n", h->index, text);
  }
  alarm(MOST_SECONDS);
  make_memory(h, &h->cpu);
  make_memory(h, &h->meta);
  invoke(h, &h->cpu, h->drawn.op);
  invoke(h, &h->meta, h->drawn.op);
  h->accepted += !h->cpu.status;
  check_memory(h);
  compare_sides(h);
  try_twin(h);
  end_memory(&h->cpu);
  end_memory(&h->meta);
  alarm(0);
}

/* --- All of the table ------------------------------------------------------------------------- */

/* Operators that the CPU backend serves. */
static size_t served_ops(house *h, const fnz_op **out) {
  size_t count = 0;
  fnz_kernel_facts facts;
  for (size_t i = 0; i < fnz_op_count(); i++) {
    OK(h->ctx, fnz_backend_get_kernel(h->ctx, h->cpu.backend, fnz_op_at(i), &facts));
    if (facts.way)
      out[count++] = fnz_op_at(i);
  }
  return count;
}

static void run_calls(house *h, unsigned long long first, unsigned long long count) {
  static const fnz_op *ops[4096];
  static choices draw;
  open_house(h);
  ck_assert_uint_le(fnz_op_count(), sizeof ops / sizeof *ops);
  size_t nops = served_ops(h, ops);
  for (h->index = first; h->index < first + count; h->index++) {
    if (h->index % CALLS_PER_HOUSE == 0) {
      close_house(h);
      open_house(h);
    }
    choices_start(&draw, 7, h->index);
    const fnz_op *op = ops[choose(&draw, (uint32_t)nops)];
    draw_call(&draw, op, &h->drawn);
    try_call(h);
  }
  close_house(h);
}

START_TEST(random_calls) {
  static house h;
  unsigned long long first = 0, count = USUAL_CALLS;
  const char *asked = getenv("FNZ_CALLS");
  if (asked)
    ck_assert_int_eq(sscanf(asked, "%llu:%llu", &first, &count), 2);
  h.traces = getenv("FNZ_CALL_TRACE") != NULL;
  run_calls(&h, first, count);
  if (asked)
    fprintf(stderr, "%zu calls, %zu accepted on the CPU, %zu findings\n", h.calls, h.accepted,
            h.findings);
  ck_assert_uint_eq(h.findings, 0);
  ck_assert_uint_ge(h.accepted, count / 8);
}
END_TEST

/* --- What went wrong once --------------------------------------------------------------------- */

/* Arguments: tensors of zeros, f32[2,3] or f32[2,3]@1,2 with strides, =0 for the first one again,
 * and { } around a list of them; None; numbers, 2 and 2.0; integers in a list, (2,3); dtype:3. */
static const struct {
  const char *op, *args, *want; /* class of the refusal, "" when it is accepted */
} once[] = {
    /* the number of an element type was an index before it was looked at */
    {"zeros", "(2) dtype:-3", "TYPE"},
    {"to.dtype", "f32[2] dtype:21", "TYPE"},
    /* elements that do not convert were left as they were */
    {"div.Tensor", "f32[3] f8e5m2[3]", "UNSUPPORTED"},
    {"fill_.Scalar", "f8e8m0fnu[2] 100", "UNSUPPORTED"},
    {"fill_.Scalar", "f8e8m0fnu[2] 0", ""},
    {"fill_.Scalar", "f8e5m2[2] 100", ""},
    {"index_add.out", "u64[1] 0 i64[1] u64[1] 2.0 u64[1]", "UNSUPPORTED"},
    /* no index behind a mask was looked at, as long as its numbers were not there */
    {"index_put.out", "bool[2,2,2] { bool[2] f64[1] } bool[2,2,2] false bool[2,2,2]", "TYPE"},
    {"index.Tensor", "f32[2,2] { bool[2] f64[1] }", "TYPE"},
    /* an out= argument was resized, then the kernel refused */
    {"celu.out", "c128[1,1] 1 c128[3]", "UNSUPPORTED"},
    {"take.out", "f32[0] i64[1] f32[3]", "BOUNDS"},
    /* it was resized, and the kernel read it with its new size */
    {"linalg_matmul.out", "i64[2] i64[2] =0", ""},
    {"amax.out", "f64[2] () false =0", ""},
    /* it could not be resized, and its memory was lost */
    {"eye.m_out", "2 2147483647 i64[3,3,3]", "NOMEM"},
    {"zeros.out", "(1073741824,8) f64[5]", "NOMEM"},
    /* some was written before the rest was refused */
    {"cat.out", "{ c64[1] f8e5m2[1] } 0 c64[2]", "UNSUPPORTED"},
    /* strides along which no walk goes may be any number */
    {"fill_diagonal_", "f16[1,1,3]@9223372036854775807,6,1 1.0", "BOUNDS"},
    {"sum", "c64[2,1]@1,9223372036854775807", ""},
    {"eye.out", "1 f32[1,1]@142,9223372036854775807", ""},
    {"new_empty_strided", "i64[1] (4,3) (-3,1)", "BOUNDS"},
    /* rows without elements were walked one by one */
    {"renorm", "f32[0,1099511627776,4,4] 2.0 1 1.0", ""},
    {"triu_", "bool[0,1125899906842624,3] 2", ""},
    {"cumprod", "f32[0,2147483648,4] 0", ""},
    /* numbers beyond 64 bits were converted */
    {"addmm_", "i32[3,3] i32[3,3] i32[3,3] 1 9.3e18", "OVERFLOW"},
    {"upsample_nearest2d", "f32[1,3,3] (2,2) None 1e-320", ""},
    /* sizes were multiplied before they were looked at */
    {"_reshape_alias_copy", "u64[3,2] (3,9223372036854775807) (0,1)", "BOUNDS"},
    {"as_strided_scatter.out", "f32[3] f32[1] (3,9223372036854775807) (0,3) 0 f32[3]", "BOUNDS"},
    /* more than there is */
    {"full", "(2147483648,2147483648) 1", "OVERFLOW"},
    {"full", "(4611686018427387904,4) 1", "OVERFLOW"},
    {"zeros", "(4611686018427387904)", "OVERFLOW"},
    {"arange", "4611686018427387904", "OVERFLOW"},
    {"eye", "9223372036854775807", "OVERFLOW"},
    {"repeat", "f32[3] (1099511627776)", "NOMEM"},
    {"outer", "f32[100]@0 f32[100]@0", ""},
    {"constant_pad_nd", "f32[3] (1099511627776,0) 0", "NOMEM"},
    {"one_hot", "i64[3] 1099511627776", "NOMEM"},
    {"new_empty", "f32[3] (9223372036854775807,9223372036854775807)", "OVERFLOW"},
};

static uint32_t parse_ints(const char *at, int64_t *out, uint32_t most) {
  uint32_t count = 0;
  char *end;
  while (count < most && (*at == '-' || (*at >= '0' && *at <= '9'))) {
    out[count++] = strtoll(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  return count;
}

static fnz_dtype parse_dtype(const char *at) {
  size_t size = strcspn(at, "[");
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++) {
    const char *name = fnz_dtype_get_info((fnz_dtype)d)->name;
    if (strlen(name) == size && strncmp(name, at, size) == 0)
      return (fnz_dtype)d;
  }
  ck_abort_msg("no element type: %s", at);
  return FNZ_BOOL;
}

static uint8_t parse_tensor(drawn_call *d, const char *at) {
  drawn_tensor *t = &d->tensors[d->ntensors];
  drawn_base *b = &d->bases[d->nbases];
  const char *strides = strchr(at, '@');
  int64_t stride = 1;
  if (*at == '=')
    return (uint8_t)(at[1] - '0');
  *b = (drawn_base){.dtype = parse_dtype(at), .count = DRAW_CELLS};
  *t = (drawn_tensor){.base = (uint8_t)d->nbases++};
  t->rank = parse_ints(strchr(at, '[') + 1, t->sizes, DRAW_RANK);
  for (uint32_t k = t->rank; k-- > 0; stride *= t->sizes[k] < DRAW_CELLS ? t->sizes[k] : 1)
    t->strides[k] = stride;
  if (strides)
    ck_assert_uint_eq(parse_ints(strides + 1, t->strides, DRAW_RANK), t->rank);
  return (uint8_t)d->ntensors++;
}

static void parse_ints_arg(const char *at, drawn_arg *a) {
  int64_t ints[DRAW_ITEMS];
  uint32_t count = parse_ints(at, ints, DRAW_ITEMS);
  for (uint32_t i = 0; i < count; i++)
    a->items[i] = fnz_scalar_int(ints[i]);
  a->plain = (fnz_arg){.tag = FNZ_ARG_LIST, .count = count};
}

static void parse_plain(const char *at, drawn_arg *a) {
  if (*at == '(')
    parse_ints_arg(at + 1, a);
  else if (strcmp(at, "None") == 0)
    a->plain = (fnz_arg){.tag = FNZ_ARG_NONE};
  else if (strcmp(at, "false") == 0)
    a->plain = (fnz_arg){.tag = FNZ_ARG_BOOL};
  else if (strncmp(at, "dtype:", 6) == 0)
    a->plain = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = strtoll(at + 6, NULL, 10)};
  else if (strpbrk(at, ".e"))
    a->plain = fnz_scalar_float(strtod(at, NULL));
  else
    a->plain = fnz_scalar_int(strtoll(at, NULL, 10));
}

/* One word; a list is begun by "{" and ended by "}". */
static void parse_word(drawn_call *d, const char *word, bool *in_list) {
  bool is_tensor = *word == '=' || strchr(word, '[');
  if (!*in_list)
    d->args[d->nargs++] = (drawn_arg){.kind = DRAWN_PLAIN};
  drawn_arg *a = &d->args[d->nargs - 1];
  if (*word == '{')
    *in_list = true;
  else if (*word == '}')
    *in_list = false;
  else if (is_tensor)
    a->tensors[a->count++] = parse_tensor(d, word);
  else
    parse_plain(word, a);
  if (*in_list || *word == '}')
    a->kind = DRAWN_TENSORS;
  else if (is_tensor)
    a->kind = DRAWN_TENSOR;
}

static void parse_call(drawn_call *d, const char *op, const char *args) {
  char word[TEXT_BYTES];
  bool in_list = false;
  int size;
  d->op = fnz_op_find(NULL, op);
  d->nbases = d->ntensors = d->nargs = 0;
  ck_assert_msg(d->op != NULL, "there is no operator %s", op);
  for (; sscanf(args, " %999s%n", word, &size) == 1; args += size)
    parse_word(d, word, &in_list);
}

START_TEST(what_went_wrong_once) {
  static house h;
  open_house(&h);
  for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
    parse_call(&h.drawn, once[i].op, once[i].args);
    try_call(&h);
    const char *have = h.cpu.status ? fnz_class_name(h.cpu.kind) : "";
    if (strcmp(have, once[i].want) != 0)
      ck_abort_msg("%s %s: want '%s', have '%s'", once[i].op, once[i].args, once[i].want,
                   h.cpu.status ? h.cpu.message : "");
  }
  close_house(&h);
  ck_assert_uint_eq(h.findings, 0);
}
END_TEST

RUN_SUITE("random calls", random_calls, what_went_wrong_once)
