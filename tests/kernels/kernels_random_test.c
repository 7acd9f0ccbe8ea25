/* checks: 2
 * Every operator that has a kernel, with random arguments, mostly nonsensical: it gives a result or
 * a refusal, the meta backend agrees on the shape, arguments keep their values, and with arguments
 * that may be reused the result is the same. Then with each allocation failing in turn. */
#include "kernels/core/core.h"
#include "soak/choices.h"
#include "tests/help/test.h"

#include <fnz/numbers.h>
#include <fnz/random.h>

enum { TRIALS = 60, MOST_TENSORS = 24, MOST_ARGS = 24, MOST_ITEMS = 4, MOST_RESULTS = 64 };
enum { MOST_BYTES = 1 << 22, CELLS = 1 << 12 };

typedef struct drawn_tensor {
  fnz_geometry geometry;
  int64_t sizes[8], strides[8];
  char cells[CELLS];
} drawn_tensor;

typedef struct drawn {
  drawn_tensor tensors[MOST_TENSORS]; /* VALUE arguments are indices here */
  size_t ntensors;
  fnz_arg args[MOST_ARGS], items[MOST_ARGS][MOST_ITEMS];
  size_t nargs;
  bool dies[MOST_TENSORS];
} drawn;

/* The outcome of a call on one backend. */
typedef struct outcome {
  fnz_status status;
  fnz_handle handles[MOST_RESULTS];
  size_t count;
} outcome;

#define RAN_OUT SIZE_MAX
/* `user` counts down to the allocation that fails, and with it all further ones; 0: none does. */
static void *bounded(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  size_t *left = user;
  (void)old_bytes;
  if (new_bytes && *left && *left != RAN_OUT && --*left == 0)
    *left = RAN_OUT;
  if (new_bytes && (new_bytes > MOST_BYTES || *left == RAN_OUT))
    return NULL;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

/* --- Drawing ------------------------------------------------------------------------------ */
static fnz_dtype draw_dtype(choices *c, fnz_dtype usual) {
  static const fnz_dtype dtypes[] = {FNZ_F32, FNZ_I64, FNZ_BOOL, FNZ_F64,  FNZ_I32,
                                     FNZ_U8,  FNZ_I16, FNZ_F16,  FNZ_BF16, FNZ_C64};
  return perhaps(c, 25) ? dtypes[choose(c, sizeof dtypes / sizeof *dtypes)] : usual;
}

/* Mostly the shape of `like`, perhaps broadcast. */
static void draw_sizes(choices *c, const drawn_tensor *like, drawn_tensor *t) {
  uint32_t rank = perhaps(c, 30) ? choose(c, 5) : like->geometry.rank;
  for (uint32_t i = 0; i < rank; i++)
    t->sizes[i] = i < like->geometry.rank && !perhaps(c, 15) ? like->sizes[i] : choose(c, 5);
  t->geometry.rank = rank;
  fnzi_contiguous_strides(t->sizes, rank, t->strides);
  if (rank > 1 && perhaps(c, 25)) { /* two dimensions change places in memory */
    int64_t size = t->sizes[rank - 1], stride = t->strides[rank - 1];
    t->sizes[rank - 1] = t->sizes[0], t->strides[rank - 1] = t->strides[0];
    t->sizes[0] = size, t->strides[0] = stride;
  }
}

static void draw_values(choices *c, drawn_tensor *t) {
  double values[CELLS / 16];
  int64_t count = fnz_geometry_numel(&t->geometry);
  ck_assert_int_le(count, CELLS / 16);
  for (int64_t i = 0; i < count; i++)
    values[i] = perhaps(c, 80) ? (double)choose(c, 4) : (double)choose_in(c, -6, 9) / 2;
  fnzi_krn_convert(&(fnzi_krn_conversion){t->geometry.dtype, FNZ_F64,
                                          (int64_t)fnzi_dtype(t->geometry.dtype)->bytes, 8},
                   t->cells, values, count);
}

static void draw_tensor(choices *c, drawn *d, const char *name, fnz_arg *out) {
  static const drawn_tensor first = {.geometry = {.rank = 2}, .sizes = {2, 3}};
  if (d->ntensors && perhaps(c, 10)) {
    *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = choose(c, (uint32_t)d->ntensors)};
    return;
  }
  ck_assert_uint_lt(d->ntensors, MOST_TENSORS);
  drawn_tensor *t = &d->tensors[d->ntensors];
  bool is_index = strstr(name, "ind") || strcmp(name, "target") == 0;
  bool is_mask = strcmp(name, "mask") == 0 || strcmp(name, "condition") == 0;
  t->geometry = (fnz_geometry){.sizes = t->sizes, .strides = t->strides};
  t->geometry.dtype = draw_dtype(c, is_index      ? FNZ_I64
                                    : is_mask     ? FNZ_BOOL
                                    : d->ntensors ? d->tensors[0].geometry.dtype
                                                  : FNZ_F32);
  draw_sizes(c, d->ntensors ? &d->tensors[0] : &first, t);
  draw_values(c, t);
  d->dies[d->ntensors] = perhaps(c, 50);
  *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = d->ntensors++};
}

static int64_t draw_int(choices *c) {
  static const int64_t wild[] = {INT64_MAX, INT64_MIN, (int64_t)1 << 40, -100, 100, INT32_MAX};
  if (perhaps(c, 6))
    return wild[choose(c, sizeof wild / sizeof *wild)];
  return choose_in(c, -2, 4);
}

static void draw_number(choices *c, fnz_arg *out) {
  static const double wild[] = {0.5, 1e300, -2.5, 0.0, -1.0, 1e-3};
  *out = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = draw_int(c)};
  if (perhaps(c, 40))
    *out = (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = wild[choose(c, sizeof wild / sizeof *wild)]};
}

static void draw_string(choices *c, fnz_arg *out) {
  static const char *const words[] = {"mean", "sum",   "trunc", "floor",    "same",     "valid",
                                      "tanh", "amax",  "prod",  "constant", "reflect",  "none",
                                      "ij",   "ij,jk", "ii",    "i,j->ij",  "...j->j.", ""};
  const char *word = words[choose(c, sizeof words / sizeof *words)];
  *out = (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)strlen(word), .u.s = word};
}

static void draw_item(choices *c, drawn *d, const fnzi_param *p, fnz_arg *out) {
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (p->type == FNZI_TYPE_TENSOR)
    draw_tensor(c, d, p->name, out);
  else if (p->type == FNZI_TYPE_INT || p->type == FNZI_TYPE_SYM_INT)
    *out = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = draw_int(c)};
  else if (p->type == FNZI_TYPE_BOOL)
    *out = (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = perhaps(c, 50)};
  else if (p->type == FNZI_TYPE_SCALAR || p->type == FNZI_TYPE_FLOAT)
    draw_number(c, out);
  else if (p->type == FNZI_TYPE_STRING)
    draw_string(c, out);
  else if (p->type == FNZI_TYPE_DTYPE)
    *out = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = draw_dtype(c, FNZ_F32)};
}

static void draw_list(choices *c, drawn *d, const fnzi_param *p, fnz_arg *items, fnz_arg *out) {
  uint32_t count = p->list_size && !perhaps(c, 10) ? (uint32_t)p->list_size : choose(c, MOST_ITEMS);
  if (count > MOST_ITEMS)
    count = MOST_ITEMS;
  for (uint32_t i = 0; i < count; i++)
    draw_item(c, d, p, &items[i]);
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = items};
}

static void draw_call(choices *c, const fnz_op *op, drawn *d) {
  d->ntensors = 0;
  d->nargs = op->nparams < MOST_ARGS ? op->nparams : MOST_ARGS;
  for (size_t i = 0; i < d->nargs; i++) {
    const fnzi_param *p = &op->params[i];
    bool leave = (p->has_default && perhaps(c, 40)) || (p->optional && perhaps(c, 40));
    if (leave)
      d->args[i] = (fnz_arg){.tag = p->has_default ? FNZ_ARG_DEFAULT : FNZ_ARG_NONE};
    else if (p->is_list)
      draw_list(c, d, p, d->items[i], &d->args[i]);
    else
      draw_item(c, d, p, &d->args[i]);
  }
}

/* --- Calling ------------------------------------------------------------------------------ */
static fnz_arg resolve(const drawn *d, const fnz_handle *handles, bool reuse, fnz_arg arg) {
  if (arg.tag == FNZ_ARG_VALUE) {
    arg.flags = reuse && d->dies[arg.u.value] ? FNZ_ARG_LAST_USE : 0;
    arg.u.value = handles[arg.u.value];
  }
  return arg;
}

static void check_arguments(fnz_context *ctx, const fnz_backend *b, const drawn *d,
                            const fnz_handle *handles) {
  char cells[CELLS];
  for (size_t i = 0; i < d->ntensors; i++) {
    const fnz_geometry *g = &d->tensors[i].geometry;
    OK(ctx, b->download(b->self, ctx, handles[i], cells));
    ck_assert_mem_eq(cells, d->tensors[i].cells,
                     (size_t)fnz_geometry_numel(g) * fnzi_dtype(g->dtype)->bytes);
  }
}

static void upload_all(fnz_context *ctx, const fnz_backend *b, const drawn *d,
                       fnz_handle *handles) {
  for (size_t i = 0; i < d->ntensors; i++)
    OK(ctx, b->upload(b->self, ctx, &d->tensors[i].geometry, d->tensors[i].cells, &handles[i]));
}

static void resolve_all(const drawn *d, const fnz_handle *handles, bool reuse, fnz_arg *args,
                        fnz_arg items[][MOST_ITEMS]) {
  for (size_t i = 0; i < d->nargs; i++) {
    args[i] = resolve(d, handles, reuse, d->args[i]);
    for (uint32_t k = 0; args[i].tag == FNZ_ARG_LIST && k < args[i].count; k++)
      items[i][k] = resolve(d, handles, reuse, d->args[i].u.list[k]);
    if (args[i].tag == FNZ_ARG_LIST)
      args[i].u.list = items[i];
  }
}

static void call(fnz_context *ctx, const fnz_backend *b, const fnz_op *op, const drawn *d,
                 bool reuse, outcome *out) {
  fnz_handle handles[MOST_TENSORS];
  fnz_arg args[MOST_ARGS], items[MOST_ARGS][MOST_ITEMS];
  upload_all(ctx, b, d, handles);
  resolve_all(d, handles, reuse, args, items);
  fnz_request one = {.op = op, .args = args, .nargs = d->nargs, .source = ""};
  fnz_generator_set_seed(ctx->generator, 1); /* each call draws the same */
  out->status = b->apply(b->self, ctx, &one, out->handles, MOST_RESULTS, &out->count);
  if (strcmp(b->name, "cpu") == 0 && !reuse)
    check_arguments(ctx, b, d, handles);
  for (size_t i = 0; i < d->ntensors; i++)
    b->release(b->self, handles[i]);
}

static void drop(const fnz_backend *b, const outcome *o) {
  for (size_t k = 0; k < o->count; k++)
    if (o->handles[k])
      b->release(b->self, o->handles[k]);
}

/* NULL if the tensor is expanded beyond all bounds. */
static char *cells_of(fnz_context *ctx, const fnz_backend *b, fnz_handle h, size_t *bytes) {
  const fnz_geometry *g = b->geometry(b->self, h);
  *bytes = (size_t)fnz_geometry_numel(g) * fnzi_dtype(g->dtype)->bytes;
  char *cells = *bytes > MOST_BYTES ? NULL : malloc(*bytes + 1);
  if (cells)
    OK(ctx, b->download(b->self, ctx, h, cells));
  return cells;
}

static void same_results(fnz_context *ctx, const fnz_backend *b, const fnz_op *op, const outcome *x,
                         const outcome *y) {
  bool undefined = strstr(op->base, "empty") || strcmp(op->base, "resize") == 0;
  for (size_t k = 0; k < x->count; k++) {
    size_t n, m;
    if (!x->handles[k])
      continue;
    char *left = cells_of(ctx, b, x->handles[k], &n), *right = cells_of(ctx, b, y->handles[k], &m);
    ck_assert_uint_eq(n, m);
    ck_assert_msg(undefined || !left || memcmp(left, right, n) == 0, "%s depends on reuse",
                  op->name);
    free(left);
    free(right);
  }
}

static void same_shapes(const fnz_backend *cpu, const fnz_backend *meta, const fnz_op *op,
                        const outcome *x, const outcome *y) {
  ck_assert_uint_eq(x->count, y->count);
  for (size_t k = 0; k < x->count; k++)
    ck_assert_msg(!x->handles[k] || fnzi_geometry_equal(cpu->geometry(cpu->self, x->handles[k]),
                                                        meta->geometry(meta->self, y->handles[k])),
                  "%s: the backends give result %zu another geometry", op->name, k);
}

typedef struct backends {
  fnz_context *ctx;
  fnz_backend *cpu, *meta;
  fnz_generator *generator;
  size_t good;
} backends;

static void try(backends *b, const fnz_op *op, const drawn *d) {
  outcome plain, reused, shapes;
  call(b->ctx, b->cpu, op, d, false, &plain);
  call(b->ctx, b->cpu, op, d, true, &reused);
  ck_assert_int_eq(plain.status, reused.status);
  if (plain.status == FNZ_OK) {
    b->good++;
    same_results(b->ctx, b->cpu, op, &plain, &reused);
    call(b->ctx, b->meta, op, d, false, &shapes);
    if (shapes.status == FNZ_OK)
      same_shapes(b->cpu, b->meta, op, &plain, &shapes);
    else /* what only data decide */
      ck_assert_msg(shapes.status == FNZ_UNSUPPORTED, "%s: meta refuses", op->name);
    drop(b->meta, &shapes);
  }
  drop(b->cpu, &plain);
  drop(b->cpu, &reused);
}

static size_t try_all(uint64_t seed, int trials) {
  static choices c;
  static drawn d;
  size_t none = 0;
  const fnz_allocator allocator = {bounded, &none};
  backends b = {.good = 0};
  ck_assert_int_eq(fnz_context_create(&allocator, &b.ctx), FNZ_OK);
  OK(b.ctx, fnz_cpu_backend_create(b.ctx, 2, &b.cpu));
  OK(b.ctx, fnz_meta_backend_create(b.ctx, &b.meta));
  OK(b.ctx, fnz_generator_create(b.ctx, 1, &b.generator));
  fnz_context_set_generator(b.ctx, b.generator);
  for (size_t i = 0; i < fnz_op_count(); i++)
    for (int k = 0; fnz_cpu_has_kernel(&fnzi_ops[i]) && k < trials; k++) {
      choices_start(&c, seed, i * 1000000 + (uint64_t)k);
      draw_call(&c, &fnzi_ops[i], &d);
      try(&b, &fnzi_ops[i], &d);
    }
  fnz_generator_destroy(b.generator);
  fnz_backend_destroy(b.meta);
  fnz_backend_destroy(b.cpu);
  ck_assert_uint_eq(b.ctx->live_bytes, 0);
  fnz_context_destroy(b.ctx);
  return b.good;
}

START_TEST(random_arguments_give_results_or_refusals) {
  const char *seed = getenv("FNZ_SEED"), *trials = getenv("FNZ_TRIALS");
  ck_assert_uint_gt(try_all(seed ? strtoull(seed, NULL, 10) : 1, trials ? atoi(trials) : TRIALS),
                    2000);
}
END_TEST

/* Applies the operator with the n-th allocation failing, for every n there is. */
static void starve(fnz_context *ctx, const fnz_backend *cpu, const fnz_op *op, const drawn *d,
                   size_t *left) {
  for (size_t n = 1;; n++) {
    fnz_handle handles[MOST_TENSORS];
    fnz_arg args[MOST_ARGS], items[MOST_ARGS][MOST_ITEMS];
    outcome o;
    upload_all(ctx, cpu, d, handles);
    fnz_request one = {.op = op, .args = args, .nargs = d->nargs, .source = ""};
    resolve_all(d, handles, false, args, items);
    *left = n;
    o.status = cpu->apply(cpu->self, ctx, &one, o.handles, MOST_RESULTS, &o.count);
    bool ran_out = *left == RAN_OUT;
    *left = 0;
    ck_assert_msg(o.status == (ran_out ? FNZ_NO_MEMORY : FNZ_OK), "%s: %s", op->name,
                  fnz_last_error(ctx)->message);
    drop(cpu, &o);
    for (size_t i = 0; i < d->ntensors; i++)
      cpu->release(cpu->self, handles[i]);
    if (!ran_out)
      return;
  }
}

START_TEST(memory_may_run_out_anywhere) {
  static choices c;
  static drawn d;
  size_t left = 0, starved = 0;
  const fnz_allocator allocator = {bounded, &left};
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_generator *generator;
  ck_assert_int_eq(fnz_context_create(&allocator, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_generator_create(ctx, 1, &generator));
  fnz_context_set_generator(ctx, generator);
  for (size_t i = 0; i < fnz_op_count(); i++)
    for (uint64_t k = 0; fnz_cpu_has_kernel(&fnzi_ops[i]) && k < TRIALS; k++) {
      outcome o;
      choices_start(&c, 7, i * 1000000 + k);
      draw_call(&c, &fnzi_ops[i], &d);
      call(ctx, cpu, &fnzi_ops[i], &d, false, &o);
      drop(cpu, &o);
      if (o.status != FNZ_OK)
        continue;
      starve(ctx, cpu, &fnzi_ops[i], &d, &left);
      starved++;
      break;
    }
  fnz_generator_destroy(generator);
  fnz_backend_destroy(cpu);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
  ck_assert_uint_gt(starved, 400);
}
END_TEST

RUN_SUITE("kernels_random", random_arguments_give_results_or_refusals, memory_may_run_out_anywhere)
