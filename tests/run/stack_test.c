/* checks: 14
 * fnz_call() down to the backend: its conversion of arguments, its choice of a backend, and
 * ownership afterwards. The backend is a recorder of the request it gets. */
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

typedef struct recorder {
  fnz_backend backend;
  fnz_geometry matrix, scalar;
  int live;          /* handles that were not released */
  int guards, depth; /* how often the device was entered, and not yet left */
  size_t results;    /* that the next call gives */
  bool fails;        /* the next call */
  char request[512]; /* of the last call */
} recorder;

static const int64_t sizes[] = {2, 3}, strides[] = {3, 1};

/* Handles 1 to 99 are matrices, from 100 they are scalars. */
static const fnz_geometry *geometry(void *self, fnz_handle value) {
  recorder *r = self;
  return value < 100 ? &r->matrix : &r->scalar;
}

static void release(void *self, fnz_handle value) {
  (void)value;
  ((recorder *)self)->live--;
}

static fnz_status upload(void *self, fnz_context *ctx, const fnz_geometry *g, const void *cells,
                         fnz_handle *out) {
  (void)ctx;
  (void)cells;
  ((recorder *)self)->live++;
  *out = g->rank ? 50 : 150;
  return FNZ_OK;
}

static size_t cell_bytes(void *self, fnz_dtype dtype) {
  (void)self;
  return fnz_dtype_get_info(dtype)->bytes;
}

static fnz_status download(void *self, fnz_context *ctx, fnz_handle value, void *cells) {
  (void)self;
  (void)ctx;
  (void)value;
  memcpy(cells, &(float){2.5f}, sizeof(float));
  return FNZ_OK;
}

static void note(recorder *r, const char *format, const char *text, long long i, double f) {
  size_t at = strlen(r->request);
  if (*format == 's')
    snprintf(r->request + at, sizeof r->request - at, "%s ", text);
  else if (*format == 'i')
    snprintf(r->request + at, sizeof r->request - at, "%s%lld ", text, i);
  else
    snprintf(r->request + at, sizeof r->request - at, "%g ", f);
}

static void note_arg(recorder *r, const fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_NONE)
    note(r, "s", "None", 0, 0);
  else if (arg->tag == FNZ_ARG_VALUE)
    note(r, "i", "%", (long long)arg->u.value, 0);
  else if (arg->tag == FNZ_ARG_FLOAT)
    note(r, "f", "", 0, arg->u.f);
  else if (arg->tag == FNZ_ARG_BOOL)
    note(r, "s", arg->u.i ? "True" : "False", 0, 0);
  else if (arg->tag == FNZ_ARG_DEVICE)
    note(r, "s", arg->u.s, 0, 0);
  else
    note(r, "i", "", (long long)arg->u.i, 0);
}

static fnz_status call(void *self, fnz_context *ctx, const fnz_request *request,
                       fnz_handle *outputs, size_t capacity, size_t *count, char *warning) {
  recorder *r = self;
  ck_assert_int_eq(r->depth, r->guards > 0);
  r->request[0] = 0;
  snprintf(warning, FNZ_WARNING_BYTES, "called %s", fnz_op_name(request->op));
  for (size_t i = 0; i < request->nargs; i++) {
    const fnz_arg *arg = &request->args[i];
    if (arg->tag != FNZ_ARG_LIST) {
      note_arg(r, arg);
      continue;
    }
    note(r, "s", "[", 0, 0);
    for (uint32_t k = 0; k < arg->count; k++)
      note_arg(r, &arg->u.list[k]);
    note(r, "s", "]", 0, 0);
  }
  *count = 0;
  if (r->fails)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, "", "the recorder was told to fail");
  ck_assert_uint_le(r->results, capacity);
  for (; *count < r->results; ++*count, r->live++)
    outputs[*count] = 10 + *count;
  return FNZ_OK;
}

static void guard(void *self, bool enter) {
  recorder *r = self;
  r->depth += enter ? 1 : -1;
  r->guards += enter;
}

static recorder *start(const char *name, recorder *r) {
  *r = (recorder){.matrix = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides},
                  .scalar = {.dtype = FNZ_F32, .sizes = sizes, .strides = strides},
                  .results = 1};
  r->backend = (fnz_backend){.size = sizeof r->backend,
                             .name = name,
                             .self = r,
                             .release = release,
                             .geometry = geometry,
                             .upload = upload,
                             .download = download,
                             .cell_bytes = cell_bytes,
                             .call = call};
  return r;
}

static fnz_context *ctx;
static recorder cpu, other;
static fnz_stack *stack;

static void open_stack(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_stack_create(ctx, &start("cpu", &cpu)->backend, &stack));
  start("other", &other);
}

static void close_stack(void) {
  fnz_stack_destroy(stack);
  ck_assert_int_eq(cpu.live, 0);
  ck_assert_int_eq(other.live, 0);
  fnz_context_destroy(ctx);
}

static void push(fnz_handle handle) {
  fnz_push_tensor(stack, (fnz_eager){&cpu.backend, handle});
}

static void push_other(fnz_handle handle) {
  fnz_push_tensor(stack, (fnz_eager){&other.backend, handle});
}

static fnz_status invoke(const char *name) {
  const fnz_op *op = fnz_op_find(NULL, name);
  ck_assert_ptr_nonnull(op);
  return fnz_call(ctx, op, stack);
}

/* The call reaches the backend with these arguments and its results are dropped. */
static void reaches(const char *name, const char *request) {
  OK(ctx, invoke(name));
  ck_assert_str_eq(cpu.request, request);
  fnz_stack_clear(stack);
}

START_TEST(defaults_are_filled_in) {
  open_stack();
  push(1);
  push(2);
  reaches("add.Tensor", "%1 %2 1 ");
  push(1);
  fnz_push_default(stack);
  fnz_push_int(stack, 1);
  reaches("slice.Tensor", "%1 0 1 None 1 ");
  push(1);
  FAILS(ctx, "TYPE", invoke("add.Tensor"));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "argument other is missing"));
  ck_assert_uint_eq(fnz_stack_count(stack), 0);
  close_stack();
}
END_TEST

START_TEST(numbers_are_converted) {
  open_stack();
  push(1);
  fnz_push_int(stack, 3);
  reaches("elu", "%1 3 1 1 ");
  push(1);
  fnz_push_bool(stack, true);
  fnz_push_bool(stack, true);
  reaches("transpose.int", "%1 1 1 ");
  push(1);
  fnz_push_int(stack, 2);
  fnz_push_int(stack, 1); /* float p: 1 */
  fnz_push_bool(stack, false);
  FAILS(ctx, "TYPE", invoke("dropout"));
  push(1);
  fnz_push_int(stack, 1);
  fnz_push_bool(stack, false);
  reaches("dropout", "%1 1 False ");
  push(1);
  fnz_push_float(stack, 1.5);
  fnz_push_int(stack, 0);
  FAILS(ctx, "TYPE", invoke("transpose.int"));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message,
                               "transpose.int: argument dim0 wants int, but the float 1.5"));
  close_stack();
}
END_TEST

START_TEST(lists_are_converted) {
  open_stack();
  push(1);
  fnz_push_int(stack, 2); /* int[2] kernel_size */
  reaches("avg_pool2d", "%1 [ 2 2 ] [ ] [ 0 0 ] False True None ");
  push(1);
  fnz_push_ints(stack, sizes, 2);
  reaches("permute", "%1 [ 2 3 ] ");
  push(1);
  fnz_push_int(stack, 0); /* int[] has no length to repeat it for */
  FAILS(ctx, "TYPE", invoke("permute"));
  const fnz_eager pair[] = {{&cpu.backend, 1}, {&cpu.backend, 2}};
  fnz_push_tensors(stack, pair, 2);
  reaches("cat", "[ %1 %2 ] 0 ");
  const fnz_eager half[] = {{&cpu.backend, 1}, {NULL, 0}};
  fnz_push_tensors(stack, half, 2);
  FAILS(ctx, "TYPE", invoke("cat"));
  push(1);
  fnz_push_tensors(stack, half, 2);
  reaches("index.Tensor", "%1 [ %1 None ] ");
  close_stack();
}
END_TEST

START_TEST(names_find_their_places) {
  open_stack();
  push(1);
  push(2);
  fnz_push_float(stack, 0.5);
  fnz_push_name(stack, "alpha");
  reaches("add.Tensor", "%1 %2 0.5 ");
  push(1);
  fnz_push_int(stack, 2);
  fnz_push_name(stack, "step");
  fnz_push_int(stack, 7);
  fnz_push_name(stack, "end");
  reaches("slice.Tensor", "%1 0 None 7 2 ");
  push(1);
  push(2);
  fnz_push_name(stack, "self");
  FAILS(ctx, "TYPE", invoke("add.Tensor"));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "self is given twice"));
  push(1);
  push(2);
  fnz_push_name(stack, "beta");
  FAILS(ctx, "TYPE", invoke("add.Tensor"));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "has no argument beta"));
  push(1);
  fnz_push_name(stack, "self");
  push(2);
  FAILS(ctx, "TYPE", invoke("add.Tensor"));
  close_stack();
}
END_TEST

START_TEST(too_many_arguments) {
  open_stack();
  for (int i = 0; i < 40; i++)
    push(1);
  FAILS(ctx, "TYPE", invoke("neg"));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "takes 1 arguments, but 40"));
  close_stack();
}
END_TEST

START_TEST(calls_of_nothing) {
  open_stack();
  push(1);
  ck_assert_int_eq(fnz_call(ctx, fnz_op_find(NULL, "no_such_operator"), stack), FNZ_BAD_ARGUMENT);
  ck_assert_uint_eq(fnz_stack_count(stack), 0);
  close_stack();
}
END_TEST

START_TEST(devices_must_agree) {
  open_stack();
  push(1);
  push_other(2);
  FAILS(ctx, "TYPE", invoke("add.Tensor"));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "argument other is on other"));
  push(100); /* a scalar on the CPU goes where the others are */
  push_other(2);
  OK(ctx, invoke("add.Tensor"));
  ck_assert_str_eq(other.request, "%150 %2 1 ");
  ck_assert_int_eq(other.live, 1);
  fnz_stack_clear(stack);
  push(100); /* but not to be written */
  push_other(2);
  FAILS(ctx, "TYPE", invoke("add_.Tensor"));
  push(100);
  push(101);
  reaches("add.Tensor", "%100 %101 1 ");
  push(1); /* copy_ is free to read from elsewhere */
  push_other(2);
  reaches("copy_", "%1 %50 False ");
  close_stack();
}
END_TEST

START_TEST(devices_are_guarded) {
  open_stack();
  cpu.backend.guard = guard;
  push(1); /* its row switches the guard off */
  reaches("t", "%1 ");
  ck_assert_int_eq(cpu.guards, 0);
  push(1);
  reaches("neg", "%1 ");
  ck_assert_int_eq(cpu.guards, 1);
  push(1);
  cpu.fails = true;
  FAILS(ctx, "BOUNDS", invoke("neg"));
  ck_assert_int_eq(cpu.guards, 2);
  ck_assert_int_eq(cpu.depth, 0);
  close_stack();
}
END_TEST

START_TEST(calls_without_tensors) {
  open_stack();
  fnz_push_ints(stack, sizes, 2);
  fnz_push_string(stack, "cpu");
  fnz_push_name(stack, "device");
  reaches("zeros", "[ 2 3 ] None None cpu None ");
  other.backend.call = NULL;
  push_other(1);
  FAILS(ctx, "UNSUPPORTED", invoke("neg"));
  close_stack();
}
END_TEST

START_TEST(results_belong_to_the_stack_until_taken) {
  open_stack();
  push(1);
  OK(ctx, invoke("neg"));
  ck_assert_uint_eq(fnz_stack_count(stack), 1);
  ck_assert_uint_eq(fnz_stack_tensor(stack, 0, 0).handle, 10);
  ck_assert_int_eq(cpu.live, 1);
  fnz_eager taken = fnz_pop_tensor(stack);
  ck_assert_uint_eq(taken.handle, 10);
  ck_assert_uint_eq(fnz_stack_count(stack), 0);
  fnz_eager_release(taken);
  push(1);
  OK(ctx, invoke("neg"));
  push(2); /* the result is the next call's first argument, and ends with it */
  reaches("mul.Tensor", "%10 %2 ");
  ck_assert_int_eq(cpu.live, 0);
  close_stack();
}
END_TEST

START_TEST(list_results) {
  open_stack();
  cpu.results = 3;
  push(1);
  fnz_push_int(stack, 1);
  OK(ctx, invoke("split.Tensor"));
  ck_assert_uint_eq(fnz_stack_count(stack), 1);
  ck_assert_uint_eq(fnz_stack_tensors(stack, 0), 3);
  fnz_eager second = fnz_take_item(stack, 0, 1);
  ck_assert_uint_eq(second.handle, 11);
  ck_assert_uint_eq(fnz_take_item(stack, 0, 1).handle, 0);
  fnz_eager_release(second);
  ck_assert_int_eq(cpu.live, 2);
  close_stack();
}
END_TEST

START_TEST(wrong_number_of_results) {
  open_stack();
  cpu.results = 1;
  push(1);
  FAILS(ctx, "BOUNDS", invoke("sort")); /* has two */
  ck_assert_int_eq(cpu.live, 0);
  cpu.fails = true;
  push(1);
  FAILS(ctx, "BOUNDS", invoke("neg"));
  ck_assert_uint_eq(fnz_stack_count(stack), 0);
  close_stack();
}
END_TEST

START_TEST(numbers_as_results) {
  open_stack();
  push(1);
  FAILS(ctx, "BOUNDS", invoke("item")); /* six elements came */
  cpu.matrix.rank = 0;
  push(1);
  OK(ctx, invoke("item"));
  const fnz_arg *number = fnz_stack_arg(stack, 0);
  ck_assert_ptr_nonnull(number);
  ck_assert_int_eq(number->tag, FNZ_ARG_FLOAT);
  ck_assert(number->u.f == 2.5);
  ck_assert_str_eq(fnz_stack_warning(stack), "called item");
  close_stack();
}
END_TEST

static fnz_status lists_and_names(fnz_context *faulty, const void *user) {
  fnz_stack *s;
  recorder r;
  (void)user;
  fnz_backend *backend = &start("cpu", &r)->backend;
  const fnz_eager pair[] = {{backend, 1}, {backend, 2}};
  r.results = 2;
  FNZ_TRY(fnz_stack_create(faulty, backend, &s));
  for (int i = 0; i < 20; i++)
    fnz_push_int(s, i);
  fnz_status status =
      fnz_call(faulty, fnz_op_find(NULL, "neg"), s); /* too many, once there is room */
  fnz_push_tensors(s, pair, 2);
  fnz_push_int(s, 2);
  fnz_push_name(s, "scalar");
  if (status == FNZ_BAD_INPUT)
    status = fnz_call(faulty, fnz_op_find(NULL, "_foreach_mul.Scalar"), s);
  if (status == FNZ_OK)
    ck_assert_str_eq(r.request, "[ %1 %2 ] 2 ");
  fnz_stack_destroy(s);
  ck_assert_int_eq(r.live, 0);
  return status;
}

START_TEST(every_allocation_may_fail) {
  ck_assert_uint_gt(each_fault(lists_and_names, NULL), 3);
}
END_TEST

RUN_SUITE("stack", defaults_are_filled_in, numbers_are_converted, lists_are_converted,
          names_find_their_places, too_many_arguments, calls_of_nothing, devices_must_agree,
          devices_are_guarded, calls_without_tensors, results_belong_to_the_stack_until_taken,
          list_results, wrong_number_of_results, numbers_as_results, every_allocation_may_fail)
