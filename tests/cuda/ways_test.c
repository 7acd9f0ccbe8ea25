/* checks: 2
 * ways_test.c - operators on a GPU, by the stand-in for its driver: the calls of fixtures/variants
 * and fixtures/made have the interpreter's bits there, and run there; which operators do not, and
 * how many there are, stands here. */
#include "engine/device/lowering.h"
#include "kernels/backends.h"
#include "tests/cuda/help.h"
#include "tests/cuda/near.h"
#include "tests/help/variant_fixture.h"

/* --- A program of calls ----------------------------------------------------------------------- */
enum { MOST_CALLS = 8 };

typedef struct writer {
  variants v;
  fnz_context *ctx;
  fnz_buffer inputs, nodes, results;
  fnz_arrays *arrays;
  size_t ninputs, nresults, ncalls;
  bool turned[1024]; /* per input */
  bool fits;         /* the call at hand can be said as a node */
} writer;

#define SAY(w, where, ...) OK((w)->ctx, fnzi_printf((w)->ctx, &(w)->where, __VA_ARGS__))

static void say_type(writer *w, fnz_buffer *out, const fnz_geometry *g, bool turned) {
  OK(w->ctx, fnzi_printf(w->ctx, out, "%s[", fnz_dtype_get_info(g->dtype)->name));
  for (uint32_t d = 0; d < g->rank; d++)
    OK(w->ctx, fnzi_printf(w->ctx, out, "%s%lld", d ? "," : "",
                           (long long)g->sizes[turned ? g->rank - 1 - d : d]));
  OK(w->ctx, fnzi_printf(w->ctx, out, "]"));
}

/* Elements of a window, row-major; `turned`, of the window with its dimensions the other way
 * round. */
static void gather(const fnz_geometry *g, block from, bool turned, unsigned char *out) {
  int64_t count = fnz_geometry_numel(g);
  size_t cell = fnz_dtype_get_info(g->dtype)->bytes;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = g->offset, rest = i;
    for (uint32_t k = g->rank; k-- > 0;) {
      uint32_t d = turned ? g->rank - 1 - k : k;
      at += rest % g->sizes[d] * g->strides[d];
      rest /= g->sizes[d];
    }
    memcpy(out + (size_t)i * cell, from.cells + (size_t)at * cell, cell);
  }
}

/* Each second one lies turned. */
static void add_tensor(writer *w, const fnzi_json *t, const fnzi_json *storages) {
  const fnzi_json *memory = variants_items(&w->v, storages).at[t->u.first->u.i];
  shape s;
  char name[40];
  void *data;
  variants_shape(&w->v, (size_t)t->u.first->next->u.i, &s);
  if (s.g.is_conj || s.g.is_neg) {
    w->fits = false;
    return;
  }
  bool turned = w->ninputs % 2 && s.g.rank > 1 && w->ninputs < sizeof w->turned;
  w->turned[w->ninputs < sizeof w->turned ? w->ninputs : 0] = turned;
  snprintf(name, sizeof name, "x%zu", w->ninputs);
  SAY(w, inputs, "%s%%%s: ", w->ninputs ? ", " : "", name);
  say_type(w, &w->inputs, &s.g, turned);
  int64_t sizes[SHAPE_RANK];
  for (uint32_t d = 0; d < s.g.rank; d++)
    sizes[d] = s.g.sizes[turned ? s.g.rank - 1 - d : d];
  OK(w->ctx, fnz_arrays_add(w->arrays, name, s.g.dtype, s.g.rank, sizes, &data));
  gather(&s.g, variants_block(&w->v, (size_t)memory->u.i), turned, data);
  if (turned) {
    SAY(w, nodes, "  %%t%zu: ", w->ninputs);
    say_type(w, &w->nodes, &s.g, false);
    SAY(w, nodes, " = permute(%%x%zu, [", w->ninputs);
    for (uint32_t d = 0; d < s.g.rank; d++)
      SAY(w, nodes, "%s%u", d ? ", " : "", (unsigned)(s.g.rank - 1 - d));
    SAY(w, nodes, "])\n");
  }
  w->ninputs++;
}

/* The tensors of an argument become inputs. */
static void add_tensors(writer *w, const fnzi_json *arg, const fnzi_json *storages) {
  const fnzi_json *t = arg->kind == FNZI_JSON_OBJECT ? fnzi_json_find(arg, "t") : NULL;
  if (t)
    add_tensor(w, t, storages);
  else if (arg->kind == FNZI_JSON_OBJECT && !fnzi_json_find(arg, "dtype"))
    w->fits = false;
  for (const fnzi_json *item = arg->kind == FNZI_JSON_ARRAY ? arg->u.first : NULL; item;
       item = item->next)
    add_tensors(w, item, storages);
}

static void say_argument(writer *w, fnz_buffer *out, const fnzi_json *arg, size_t *next);

static void say_list(writer *w, fnz_buffer *out, const fnzi_json *list, size_t *next) {
  OK(w->ctx, fnzi_printf(w->ctx, out, "["));
  for (const fnzi_json *item = list->u.first; item; item = item->next) {
    say_argument(w, out, item, next);
    OK(w->ctx, fnzi_printf(w->ctx, out, "%s", item->next ? ", " : ""));
  }
  OK(w->ctx, fnzi_printf(w->ctx, out, "]"));
}

static void say_argument(writer *w, fnz_buffer *out, const fnzi_json *arg, size_t *next) {
  bool turned;
  char text[64];
  switch (arg->kind) {
  case FNZI_JSON_NULL:
    OK(w->ctx, fnzi_printf(w->ctx, out, "None"));
    break;
  case FNZI_JSON_BOOL:
    OK(w->ctx, fnzi_printf(w->ctx, out, arg->u.i ? "True" : "False"));
    break;
  case FNZI_JSON_INT:
    OK(w->ctx, fnzi_printf(w->ctx, out, "%lld", (long long)arg->u.i));
    break;
  case FNZI_JSON_FLOAT:
    snprintf(text, sizeof text, "%.17g", arg->u.f);
    OK(w->ctx, fnzi_printf(w->ctx, out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0"));
    break;
  case FNZI_JSON_STRING:
    OK(w->ctx, fnzi_printf(w->ctx, out, "\"%s\"", arg->u.s));
    break;
  case FNZI_JSON_ARRAY:
    say_list(w, out, arg, next);
    break;
  default:
    if (fnzi_json_find(arg, "dtype")) {
      OK(w->ctx, fnzi_printf(w->ctx, out, "%s", fnzi_json_find(arg, "dtype")->u.s));
      break;
    }
    turned = *next < sizeof w->turned && w->turned[*next];
    OK(w->ctx, fnzi_printf(w->ctx, out, "%%%c%zu", turned ? 't' : 'x', (*next)++));
  }
}

static void say_results(writer *w, const fnzi_json *results) {
  shape s;
  for (const fnzi_json *r = results->u.first; r; r = r->next) {
    const fnzi_json *made = fnzi_json_find(r, "new");
    variants_shape(&w->v, (size_t)made->u.first->u.i, &s);
    SAY(w, nodes, "%s%%y%zu: ", r == results->u.first ? "  " : ", ", w->nresults);
    say_type(w, &w->nodes, &s.g, false);
    SAY(w, results, "%s%%y%zu", w->nresults ? ", " : "", w->nresults);
    w->nresults++;
  }
}

static bool makes_tensors(const fnzi_json *results) {
  bool all = results && results->kind == FNZI_JSON_ARRAY && results->u.first;
  for (const fnzi_json *r = all ? results->u.first : NULL; r; r = r->next)
    all = all && r->kind == FNZI_JSON_OBJECT && fnzi_json_find(r, "new");
  return all;
}

/* Positions first, keywords by name. */
static void say_node(writer *w, const fnz_op *op, const fnzi_json *args, size_t first) {
  size_t k = 0;
  SAY(w, nodes, " = %s(", op->name);
  for (const fnzi_json *arg = args->u.first; arg && k < op->nparams; arg = arg->next, k++) {
    fnz_buffer text = {.data = NULL};
    say_argument(w, &text, arg, &first);
    OK(w->ctx, fnzi_put(w->ctx, &text, "", 1));
    SAY(w, nodes, "%s%s%s%s", k ? ", " : "", op->params[k].keyword_only ? op->params[k].name : "",
        op->params[k].keyword_only ? "=" : "", (const char *)text.data);
    fnz_buffer_free(w->ctx, &text);
  }
  SAY(w, nodes, ")\n");
}

static void add_call(writer *w, const fnz_op *op, const fnzi_json *call) {
  const fnzi_json *input = w->v.inputs.at[call->u.first->u.i], *results = call->u.first->next;
  const fnzi_json *args = fnzi_json_find(input, "args"), *notes = results->next;
  size_t first = w->ninputs, at = w->inputs.size, nodes = w->nodes.size;
  if (w->ncalls == MOST_CALLS || !makes_tensors(results) ||
      (notes && fnzi_json_find(notes, "undefined")))
    return;
  w->fits = true;
  add_tensors(w, args, fnzi_json_find(input, "storages"));
  if (!w->fits) { /* its inputs stay, which nothing reads */
    w->nodes.size = nodes;
    (void)at;
    return;
  }
  say_results(w, results);
  say_node(w, op, args, first);
  w->ncalls++;
}

static fnz_program *read_program(writer *w) {
  fnz_buffer text = {.data = NULL};
  fnz_program *p;
  OK(w->ctx,
     fnzi_printf(w->ctx, &text, "fnz 1\nprogram(%.*s)\n{\n%.*s  return %.*s\n}\n",
                 (int)w->inputs.size, (const char *)w->inputs.data, (int)w->nodes.size,
                 (const char *)w->nodes.data, (int)w->results.size, (const char *)w->results.data));
  fnz_status status =
      fnz_program_read(w->ctx, (const char *)text.data, text.size, FNZ_FORMAT_TEXT, &p);
  ck_assert_msg(status == FNZ_OK, "%s\n%.*s", fnz_last_error(w->ctx)->message, (int)text.size,
                (const char *)text.data);
  fnz_buffer_free(w->ctx, &text);
  return p;
}

static void begin_program(writer *w) {
  OK(w->ctx, fnz_arrays_create(w->ctx, &w->arrays));
  w->ninputs = w->nresults = w->ncalls = 0;
}

static void forget_program(writer *w) {
  fnz_arrays_destroy(w->arrays);
  fnz_buffer_free(w->ctx, &w->inputs);
  fnz_buffer_free(w->ctx, &w->nodes);
  fnz_buffer_free(w->ctx, &w->results);
}

/* --- Devices of steps ------------------------------------------------------------------------- */
typedef struct tally {
  size_t wanted, operators, calls, kernels, on_device, failures;
} tally;

/* Counts the steps of a binding that are calls of the operator, and how many of them the device
 * computes. */
static void count_in(const fnzi_stp_binding *b, const fnz_op *op, tally *t) {
  for (size_t i = 0; b->is_open && i < b->thunks.count; i++) {
    const fnzi_stp_thunk *thunk = &b->thunks.data[i];
    if (thunk->kind != FNZI_STP_THUNK_KERNEL || thunk->u.kernel.call.op != op)
      continue;
    t->kernels++;
    t->on_device += b->device->works[i].on_device;
    if (!b->device->works[i].on_device)
      printf("%s on the CPU: %s\n", op->name, b->device->works[i].why);
  }
}

static void count_steps(const fnz_executable *exe, const fnz_op *op, tally *t) {
  for (size_t k = 0; k < FNZI_STP_IDLE; k++) {
    const fnz_workspace *ws = atomic_load(&exe->idle[k]);
    for (size_t i = 0; ws && i < ws->bindings.count; i++)
      count_in(ws->bindings.data[i], op, t);
  }
}

/* The CPU runs the program as it is by now. */
static bool runs(writer *w) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_program *p = read_program(w);
  fnz_executable *exe;
  fnz_arrays *outputs;
  OK(w->ctx, fnz_arrays_create(w->ctx, &outputs));
  bool does = fnz_compile(w->ctx, p, &options, &exe) == FNZ_OK;
  if (does) {
    does = fnz_executable_run_arrays(w->ctx, exe, w->arrays, NULL, NULL, outputs) == FNZ_OK;
    fnz_executable_destroy(exe);
  }
  fnz_arrays_destroy(outputs);
  fnz_program_destroy(p);
  return does;
}

/* Sums have another order there. */
static bool is_sum(const fnz_op *op) {
  return strcmp(op->base, "einsum") == 0 || strcmp(op->base, "tensordot") == 0;
}

/* Another driver than the stand-in has functions of its own. */
static bool is_near(writer *w, const fnz_program *p, const fnz_op *op, const fnz_executable *exe) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *cpu;
  fnz_arrays *got, *want;
  char why[200];
  if ((is_standin() && !is_sum(op)) || fnz_last_error(w->ctx)->kind != FNZ_CLASS_DIFFERENT)
    return false;
  OK(w->ctx, fnz_compile(w->ctx, p, &options, &cpu));
  OK(w->ctx, fnz_arrays_create(w->ctx, &got));
  OK(w->ctx, fnz_arrays_create(w->ctx, &want));
  OK(w->ctx, run_anew(cpu, w->ctx, w->arrays, want));
  OK(w->ctx, run_anew(exe, w->ctx, w->arrays, got));
  bool near = are_close(got, want, why, sizeof why);
  if (!near)
    printf("%s\n", why);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_executable_destroy(cpu);
  return near;
}

static fnz_status run_compiled(writer *w, const fnz_program *p, const fnz_op *op,
                               fnz_executable **exe) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_arrays *outputs;
  options.threads = 1;
  options.check = true;
  options.staging = true;
  options.device = "cuda";
  FNZ_TRY(fnz_compile(w->ctx, p, &options, exe));
  FNZ_TRY(fnz_arrays_create(w->ctx, &outputs));
  fnz_status status = fnz_executable_verify(w->ctx, *exe, w->arrays);
  if (status == FNZ_OK || is_near(w, p, op, *exe))
    status = fnz_executable_run_arrays(w->ctx, *exe, w->arrays, NULL, NULL, outputs);
  fnz_arrays_destroy(outputs);
  return status;
}

static void run_program(writer *w, const fnz_op *op, tally *t) {
  fnz_program *p = read_program(w);
  fnz_executable *exe = NULL;
  t->operators++;
  t->calls += w->ncalls;
  if (run_compiled(w, p, op, &exe) == FNZ_OK) {
    count_steps(exe, op, t);
  } else {
    t->failures++;
    printf("%s: %s: %s\n%.*s", op->name, fnz_last_error(w->ctx)->where,
           fnz_last_error(w->ctx)->message, (int)w->nodes.size, (const char *)w->nodes.data);
  }
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
}

/* If threads run in another order, only operators whose elements may meet are of interest. */
static bool may_meet(const fnz_op *op) {
  return strstr(op->name, "index") || strstr(op->name, "scatter") || strstr(op->name, "put");
}

/* WAYS in the environment: only operators with this in their name. */
static bool is_wanted(const fnz_op *op) {
  const char *part = getenv("WAYS");
  if (getenv("STANDIN_REVERSE") && !may_meet(op))
    return false;
  uint16_t place = fnzi_op_place(op);
  if (op->kind != FNZI_KIND_FUNCTIONAL || place == FNZI_NO_OP || (part && !strstr(op->name, part)))
    return false;
  const fnzi_kernel *row = fnzi_kernel_row(op);
  return row && fnzi_kernel_facts(row)->gpu == FNZI_GPU_recorded;
}

/* Calls that the CPU refuses are left out. */
static void try_call(writer *w, const fnz_op *op, const fnzi_json *call) {
  size_t nodes = w->nodes.size, results = w->results.size, count = w->nresults, calls = w->ncalls;
  add_call(w, op, call);
  if (w->ncalls == calls || runs(w))
    return;
  w->nodes.size = nodes;
  w->results.size = results;
  w->nresults = count;
  w->ncalls = calls;
}

static void run_folder(const char *folder, tally *t) {
  static scene s;
  static writer w;
  memset(&w, 0, sizeof w);
  scene_begin(&s, &w.v, folder, create_cpu);
  w.ctx = w.v.ctx;
  items operators = variants_items(&w.v, fnzi_json_find(w.v.calls.root, "calls"));
  for (size_t i = 0; i < operators.count; i++) {
    const fnz_op *op = fnz_op_find(NULL, operators.at[i]->key);
    if (!op || !is_wanted(op) || t->wanted++ % every() != 0)
      continue;
    begin_program(&w);
    for (const fnzi_json *call = operators.at[i]->u.first; call; call = call->next)
      try_call(&w, op, call);
    if (w.ncalls)
      run_program(&w, op, t);
    forget_program(&w);
  }
  scene_end(&s);
}

START_TEST(calls_have_the_interpreters_bits) {
  tally t = {0};
  run_folder("variants", &t);
  run_folder("made", &t);
  printf("%zu operators, %zu calls, %zu of %zu steps on the device\n", t.operators, t.calls,
         t.on_device, t.kernels);
  ck_assert_uint_eq(t.failures, 0);
  if (getenv("WAYS"))
    return;
  ck_assert_uint_ge(t.wanted, getenv("STANDIN_REVERSE") ? 15 : 100);
  ck_assert_uint_ge(t.operators * every(), t.wanted / 2);
  ck_assert_uint_ge(t.on_device * 20, t.kernels * 19);
}
END_TEST

/* --- All operators ---------------------------------------------------------------------------- */
enum { WORDS = 5 };

/* OPERATORS in the environment: they are printed. */
static void count_operators(fnz_context *ctx, size_t counts[WORDS]) {
  static const char *const words[WORDS] = {"a view", "by parts", "element by element",
                                           "by a way of its own", "by the CPU"};
  fnz_backend *gpu;
  OK(ctx, fnz_cuda_backend_create(ctx, "sm_90", 1, NULL, &gpu));
  for (size_t i = 0; i < fnz_op_count(); i++) {
    const fnz_op *op = fnz_op_at(i);
    fnz_kernel_facts facts;
    int w = 0;
    if (op->kind != FNZI_KIND_FUNCTIONAL)
      continue;
    OK(ctx, fnz_backend_get_kernel(ctx, gpu, op, &facts));
    if (!facts.way)
      continue;
    while (w < WORDS && strcmp(facts.way, words[w]) != 0)
      w++;
    ck_assert_msg(w < WORDS, "%s: %s", op->name, facts.way);
    counts[w]++;
    if (getenv("OPERATORS"))
      printf("%s: %s\n", op->name, facts.way);
  }
  fnz_backend_destroy(gpu);
}

/* docs/what-works.md says how many are the CPU's. */
static bool page_says(fnz_context *ctx, const size_t counts[WORDS]) {
  fnz_buffer text = {.data = NULL};
  char line[100];
  size_t all = 0;
  for (int w = 0; w < WORDS; w++)
    all += counts[w];
  OK(ctx, fnz_file_read(ctx, FNZ_SOURCE_DIR "/docs/what-works.md", &text));
  OK(ctx, fnzi_put(ctx, &text, "", 1));
  snprintf(line, sizeof line, "of the %zu,%03zu functional operators all except %zu,", all / 1000,
           all % 1000, counts[WORDS - 1]);
  bool said = strstr((const char *)text.data, line) != NULL;
  if (!said)
    fprintf(stderr, "docs/what-works.md does not say: %s\n", line);
  fnz_buffer_free(ctx, &text);
  return said;
}

/* docs/gpu.md says how many there are of each kind. */
START_TEST(operators_are_counted) {
  static const char *const says[] = {
      "| views, and copies of values | %zu |", "| decomposed into others | %zu |",
      "| element by element, in groups | %zu |",
      "| a GPU lowering of their own (column `gpu` of `kernels/runs.def`) | %zu |",
      "| on the CPU only | %zu |"};
  size_t counts[WORDS] = {0};
  fnz_context *ctx;
  fnz_buffer text = {.data = NULL};
  char line[100];
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  count_operators(ctx, counts);
  OK(ctx, fnz_file_read(ctx, FNZ_SOURCE_DIR "/docs/gpu.md", &text));
  OK(ctx, fnzi_put(ctx, &text, "", 1));
  bool all = page_says(ctx, counts);
  for (int w = 0; w < WORDS; w++) {
    snprintf(line, sizeof line, says[w], counts[w]);
    bool said = strstr((const char *)text.data, line) != NULL;
    all = all && said;
    if (!said)
      fprintf(stderr, "docs/gpu.md does not say: %s\n", line);
  }
  ck_assert(all);
  fnz_buffer_free(ctx, &text);
  fnz_context_destroy(ctx);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("ways");
  tcase_set_timeout(c, 1800);
  tcase_add_test(c, calls_have_the_interpreters_bits);
  tcase_add_test(c, operators_are_counted);
  return run_one_case("ways", c);
}
