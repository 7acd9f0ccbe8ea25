/* checks: 5
 * views_test.c - windows against brute force: the path from one to another, the window of a view
 * operator, and writing a changed window back into its base. */
#include "views/views.h"

#include "tests/help/memory.h"
#include "soak/calls.h"
#include "tests/help/run_help.h"

static fnz_context *ctx;
static fnz_backend *cpu;
static fnzi_arena arena;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  fnzi_arena_init(&arena, ctx);
}

static void end(void) {
  fnzi_arena_free(&arena);
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
}

/* --- paths ----------------------------------------------------------------------------------- */
static unsigned char storage[1 << 16], dense[1 << 16], wanted[1 << 16];

static void fill_storage(uint64_t seed, size_t bytes) {
  ck_assert_uint_le(bytes, sizeof storage);
  for (size_t i = 0; i < bytes; i++)
    storage[i] = (unsigned char)splitmix64(&seed);
}

/* Opens a random window on `at`; NULL when the draw does not fit. */
static const fnz_geometry *open_random(choices *c, const fnz_geometry *at) {
  const fnzi_view_draw *row = &fnzi_view_draws[choose(c, (uint32_t)fnzi_view_draw_count)];
  fnzi_drawn_call call;
  fnz_geometry *out;
  size_t count;
  const fnz_op *op = fnz_op_find(NULL, row->op);
  bool is_real = fnzi_is_float(at->dtype) || fnzi_is_complex(at->dtype);
  if (!row->plain || (!is_real && strcmp(row->op, "_neg_view") == 0))
    return NULL;
  fnzi_call_start(&call, row->op);
  fnzi_call_add(&call, (fnz_arg){.tag = FNZ_ARG_VALUE});
  row->draw(c, at, &call);
  if ((at->is_neg || at->is_conj) && strcmp(row->op, "view.dtype") == 0)
    return NULL;
  if (fnzi_view_forward((fnzi_int_space){NULL, &arena}, fnzi_view_find(op),
                        &(fnzi_op_call){op, call.args, call.nargs}, at, &out, &count))
    return NULL;
  const fnz_geometry *opened = count ? &out[choose(c, (uint32_t)count)] : NULL;
  bool small = opened && fnz_geometry_numel(opened) <= 4096;
  return small && opened->dtype != FNZ_C128 ? opened : NULL; /* that has no kernels */
}

static fnz_handle apply(const fnz_op *op, fnz_handle self, const fnz_arg *args, size_t nargs,
                        uint32_t index) {
  fnz_arg all[FNZI_CALL_ARGS];
  fnz_handle out[64], wants;
  size_t count;
  memcpy(all, args, nargs * sizeof *all);
  all[0] = fnzi_arg_value(self);
  const fnz_request call = {op, all, nargs, NULL, ""};
  OK(ctx, cpu->apply(cpu->self, ctx, &call, out, 64, &count));
  ck_assert_uint_lt(index, count);
  wants = out[index];
  for (size_t i = 0; i < count; i++)
    if (i != index)
      cpu->release(cpu->self, out[i]);
  return wants;
}

/* Follows a path with the copying twins of its steps, on values without strides. */
static fnz_handle follow(const fnzi_path *path, fnz_handle value) {
  for (size_t i = 0; i < path->count; i++) {
    const fnzi_op_call *s = &path->steps[i].call;
    fnz_handle next =
        apply(fnzi_op_by_index(s->op->view_copy), value, s->args, s->nargs, path->steps[i].index);
    cpu->release(cpu->self, value);
    value = next;
  }
  return value;
}

static fnz_handle upload_window(const fnz_geometry *g) {
  fnz_handle value;
  const fnz_geometry *like;
  gather_window(g, storage, dense);
  OK(ctx, fnzi_contiguous_like(NULL, &arena, g, &like));
  OK(ctx, cpu->upload(cpu->self, ctx, like, dense, &value));
  return value;
}

static void check_path(const fnzi_path *path, const fnz_geometry *from, const fnz_geometry *to) {
  size_t bytes = (size_t)count_elements(to) * element_bytes(to);
  fnz_handle value = follow(path, upload_window(from));
  const fnz_geometry *g = cpu->geometry(cpu->self, value);
  ck_assert(fnzi_same_sizes(g, to));
  ck_assert_int_eq(g->dtype, to->dtype);
  OK(ctx, cpu->download(cpu->self, ctx, value, dense));
  cpu->release(cpu->self, value);
  gather_window(to, storage, wanted);
  if (memcmp(dense, wanted, bytes) == 0)
    return;
  print_window("from", from);
  print_window("to", to);
  for (size_t i = 0; i < path->count; i++)
    fprintf(stderr, "  %s\n", path->steps[i].call.op->name);
  ck_abort_msg("the path leads to other elements");
}

typedef struct path_counts {
  size_t box, flat, longest, chains;
} path_counts;

static void note_path(path_counts *n, const fnzi_path *path, uint32_t rank, size_t *found) {
  ++*found;
  ck_assert_uint_le(path->count, 2 * rank + 4);
  if (path->count > n->longest)
    n->longest = path->count;
}

static void check_paths(const fnz_geometry *root, const fnz_geometry *from, const fnz_geometry *to,
                        path_counts *n) {
  fnzi_path path;
  bool found;
  uint32_t rank = from->rank > to->rank ? from->rank : to->rank;
  n->chains++;
  OK(ctx, fnzi_path_box((fnzi_int_space){NULL, &arena}, from, to, &path, &found));
  if (found) {
    note_path(n, &path, rank, &n->box);
    check_path(&path, from, to);
  }
  OK(ctx, fnzi_path_flat((fnzi_int_space){NULL, &arena}, root, to, &path, &found));
  if (!found || (int64_t)bytes_needed(to) > 1 << 16)
    return;
  note_path(n, &path, rank, &n->flat);
  check_path(&path, root, to);
}

static fnz_dtype any_dtype(choices *c) {
  static const fnz_dtype dtypes[] = {FNZ_F32, FNZ_I64, FNZ_I16, FNZ_C64, FNZ_U8, FNZ_F64};
  return dtypes[choose(c, sizeof dtypes / sizeof *dtypes)];
}

static bool stays_inside(const fnz_geometry *root, const fnz_geometry *to) {
  return bytes_needed(to) <= bytes_needed(root) &&
         to->offset * (int64_t)element_bytes(to) >= root->offset * (int64_t)element_bytes(root);
}

/* A chain of views; each of its windows is looked for from the root and from one in between. */
static void walk_chain(choices *c, path_counts *n) {
  int64_t work[2 * FNZ_MAX_RANK];
  fnz_geometry root;
  fnzi_draw_geometry(c, any_dtype(c), perhaps(c, 40), work, &root);
  fill_storage(7, bytes_needed(&root));
  const fnz_geometry *from = &root, *at = &root;
  for (uint32_t steps = 1 + choose(c, 8); steps > 0; steps--) {
    const fnz_geometry *next = open_random(c, at);
    if (!next || !stays_inside(&root, next))
      continue;
    at = next;
    check_paths(&root, from, at, n);
    if (perhaps(c, 30))
      from = at;
  }
}

START_TEST(paths_lead_there) {
  path_counts n = {0};
  choices c;
  begin();
  for (uint64_t i = 0; i < 20000; i++) {
    choices_start(&c, 4, i);
    walk_chain(&c, &n);
    fnzi_arena_reset(&arena);
  }
  ck_assert_uint_gt(n.box, n.chains / 4);
  ck_assert_uint_gt(n.flat, n.chains / 3);
  ck_assert_uint_gt(n.longest, 4);
  end();
}
END_TEST

/* A chain of selects, slices and permutes is always a box, whatever its length. */
START_TEST(long_chains_are_short_paths) {
  static const char *const ops[] = {"slice.Tensor", "permute", "unsqueeze", "select.int",
                                    "transpose.int"};
  static const int64_t sizes[4] = {9, 8, 7, 6}, strides[4] = {336, 42, 6, 1};
  const fnz_geometry root = {.dtype = FNZ_F32, .rank = 4, .sizes = sizes, .strides = strides};
  choices c;
  begin();
  fill_storage(8, bytes_needed(&root));
  for (uint64_t i = 0; i < 300; i++) {
    const fnz_geometry *at = &root;
    fnzi_path path;
    bool found;
    choices_start(&c, 5, i);
    for (int n = 0; n < 200 && at->rank < 8; n++) {
      fnzi_drawn_call call;
      fnz_geometry *out;
      size_t count, k = 0, which = choose(&c, 5);
      if (at->rank == 0 && which != 2)
        continue;
      while (strcmp(fnzi_view_draws[k].op, ops[which]) != 0)
        k++;
      fnzi_call_start(&call, ops[which]);
      fnzi_call_add(&call, (fnz_arg){.tag = FNZ_ARG_VALUE});
      fnzi_view_draws[k].draw(&c, at, &call);
      const fnz_op *op = fnz_op_find(NULL, ops[which]);
      OK(ctx, fnzi_view_forward((fnzi_int_space){NULL, &arena}, fnzi_view_find(op),
                                &(fnzi_op_call){op, call.args, call.nargs}, at, &out, &count));
      if (fnz_geometry_numel(out) > 0)
        at = out;
    }
    OK(ctx, fnzi_path_box((fnzi_int_space){NULL, &arena}, &root, at, &path, &found));
    ck_assert(found);
    ck_assert_uint_le(path.count, 2 * 8 + 2);
    check_path(&path, &root, at);
    fnzi_arena_reset(&arena);
  }
  end();
}
END_TEST

/* --- every view operator --------------------------------------------------------------------- */
/* The type of a base and a call on it; the types of the results say what it must open. */
static const struct {
  const char *base, *call;
} rows[] = {
    {"f32[2,3]", "%v: f32[2,3] = alias(%x)"},
    {"f32[2,3] stride(1,2)", "%v: f32[2,3] stride(1,2) = detach(%x)"},
    {"f32[]", "%v: f32[] = lift_fresh(%x)"},
    {"f32[8]", "%v: f32[2,3] stride(4,1) offset(1) = as_strided(%x, [2, 3], [4, 1], 1)"},
    {"f32[2,4]", "%v: f32[3] stride(2) = as_strided(%x, [3], [2])"},
    {"f32[6]", "%v: f32[] offset(5) = as_strided(%x, [], [], 5)"},
    {"f32[6]", "%v: f32[0,2] stride(1,1) offset(2) = as_strided(%x, [0, 2], [1, 1], 2)"},
    {"f32[3,4]", "%v: f32[3] stride(5) offset(1) = diagonal(%x, 1)"},
    {"f32[3,4]", "%v: f32[2] stride(5) offset(4) = diagonal(%x, -1)"},
    {"f32[3,4]", "%v: f32[0] stride(5) = diagonal(%x, 9)"},
    {"f32[2,3,4] stride(1,2,7) offset(3)",
     "%v: f32[3,2] stride(2,8) offset(3) = diagonal(%x, 0, -1, 0)"},
    {"f32[3,1]", "%v: f32[2,3,4] stride(0,1,0) = expand(%x, [2, -1, 4])"},
    {"f32[]", "%v: f32[2] stride(0) = expand(%x, [2])"},
    {"f32[1,3] stride(7,2) offset(1)", "%v: f32[0,3] stride(0,2) offset(1) = expand(%x, [0, 3])"},
    {"f32[2,3,4]", "%v: f32[4,2,3] stride(1,12,4) = permute(%x, [-1, 0, 1])"},
    {"f32[]", "%v: f32[] = permute(%x, [])"},
    {"f32[2,3,4] stride(20,6,1) offset(5)",
     "%v: f32[3,4,2] stride(6,1,20) offset(5) = permute(%x, [1, 2, 0])"},
    {"f32[4,3]", "%v: f32[3] offset(3) = select.int(%x, 0, 1)"},
    {"f32[4,3]", "%v: f32[4] stride(3) offset(2) = select.int(%x, -1, -1)"},
    {"f32[4,3] stride(1,5) offset(2)", "%v: f32[3] stride(5) offset(5) = select.int(%x, 0, 3)"},
    {"f32[3]", "%v: f32[] offset(2) = select.int(%x, 0, 2)"},
    {"f32[7]", "%v: f32[3] stride(2) offset(1) = slice.Tensor(%x, 0, 1, -1, 2)"},
    {"f32[7]", "%v: f32[7] = slice.Tensor(%x)"},
    {"f32[7]", "%v: f32[3] offset(4) = slice.Tensor(%x, -1, -3, 100)"},
    {"f32[7]", "%v: f32[0] offset(5) = slice.Tensor(%x, 0, 5, 2)"},
    {"f32[0,3]", "%v: f32[0,2] stride(3,1) offset(1) = slice.Tensor(%x, 1, 1, 3)"},
    {"i64[5] stride(3) offset(2)", "%v: i64[2] stride(6) offset(5) = slice.Tensor(%x, 0, 1, 5, 2)"},
    {"f32[5]", "[%a: f32[2], %b: f32[2] offset(2), %c: f32[1] offset(4)] = split.Tensor(%x, 2)"},
    {"f32[2,3] stride(1,2)",
     "[%a: f32[2,1] stride(1,2), %b: f32[2,1] stride(1,2) offset(2), %c: f32[2,1] stride(1,2) "
     "offset(4)] = split.Tensor(%x, 1, -1)"},
    {"f32[0]", "[%a: f32[0]] = split.Tensor(%x, 3)"},
    {"f32[5]", "[%a: f32[0], %b: f32[3], %c: f32[2] offset(3)] = split_with_sizes(%x, [0, 3, 2])"},
    {"f32[2,4] stride(9,2) offset(1)",
     "[%a: f32[2,1] stride(9,2) offset(1), %b: f32[2,3] stride(9,2) offset(3)] = "
     "split_with_sizes(%x, [1, 3], 1)"},
    {"f32[2,3]", "[%a: f32[3], %b: f32[3] offset(3)] = unbind.int(%x)"},
    {"f32[2,3] stride(4,1)",
     "[%a: f32[2] stride(4), %b: f32[2] stride(4) offset(1), %c: f32[2] stride(4) offset(2)] = "
     "unbind.int(%x, -1)"},
    {"f32[1,3,1]", "%v: f32[3] = squeeze(%x)"},
    {"f32[1,3,1] stride(9,2,5) offset(4)", "%v: f32[3] stride(2) offset(4) = squeeze(%x)"},
    {"f32[2,3]", "%v: f32[2,3] = squeeze.dim(%x, 0)"},
    {"f32[]", "%v: f32[] = squeeze.dim(%x, -1)"},
    {"f32[2,1,3]", "%v: f32[2,3] = squeeze.dim(%x, -2)"},
    {"f32[1,2,1,1]", "%v: f32[1,2] = squeeze.dims(%x, [2, -1, 1])"},
    {"f32[2,3]", "%v: f32[3,2] stride(1,3) = t(%x)"},
    {"f32[3]", "%v: f32[3] = t(%x)"},
    {"f32[]", "%v: f32[] = t(%x)"},
    {"f32[2,3,4]", "%v: f32[4,3,2] stride(1,4,12) = transpose.int(%x, 0, -1)"},
    {"f32[]", "%v: f32[] = transpose.int(%x, 0, -1)"},
    {"f32[2,3] stride(1,5) offset(7)",
     "%v: f32[3,2] stride(5,1) offset(7) = transpose.int(%x, 0, 1)"},
    {"f32[7]", "%v: f32[3,3] stride(2,1) = unfold(%x, 0, 3, 2)"},
    {"f32[6]", "%v: f32[3,2] stride(2,1) = unfold(%x, 0, 2, 2)"},
    {"f32[6]", "%v: f32[2,2] stride(3,1) = unfold(%x, 0, 2, 3)"},
    {"f32[2,5] stride(1,3) offset(2)",
     "%v: f32[2,2,2] stride(1,6,3) offset(2) = unfold(%x, -1, 2, 2)"},
    {"f32[4]", "%v: f32[1,4] = unfold(%x, 0, 4, 1)"},
    {"f32[2,3]", "%v: f32[2,3,1] = unsqueeze(%x, -1)"},
    {"f32[2,3] stride(1,2)", "%v: f32[1,2,3] stride(2,1,2) = unsqueeze(%x, 0)"},
    {"f32[]", "%v: f32[1] = unsqueeze(%x, 0)"},
    {"f32[2,3]", "%v: f32[6] = view(%x, [-1])"},
    {"f32[2,3,4] stride(12,1,3) offset(1)",
     "%v: f32[2,1,3,2,2] stride(12,3,1,6,3) offset(1) = view(%x, [2, 1, 3, 2, 2])"},
    {"f32[]", "%v: f32[1,1] = view(%x, [1, 1])"},
    {"f32[0,3]", "%v: f32[3,0,2] = view(%x, [3, 0, 2])"},
    {"f32[2,4]", "%v: i32[2,4] = view.dtype(%x, i32)"},
    {"f32[2,4] stride(4,1) offset(1)", "%v: i16[2,8] offset(2) = view.dtype(%x, i16)"},
    {"i16[3,4]", "%v: f32[3,2] = view.dtype(%x, f32)"},
    {"u8[8] offset(8)", "%v: f64[1] offset(1) = view.dtype(%x, f64)"},
    {"c64[2,3]", "%v: f32[2,3,2] = view_as_real(%x)"},
    {"c64[2,3] stride(1,2) offset(3)", "%v: f32[2,3,2] stride(2,4,1) offset(6) = view_as_real(%x)"},
    {"f32[3,2]", "%v: c64[3] = view_as_complex(%x)"},
    {"f32[3,2] stride(4,1) offset(2)", "%v: c64[3] stride(2) offset(1) = view_as_complex(%x)"},
    {"c64[3]", "%v: c64[3] conj = _conj(%x)"},
    {"c64[3] conj", "%v: c64[3] = _conj(%x)"},
    {"f32[3] stride(2)", "%v: f32[3] stride(2) neg = _neg_view(%x)"},
    {"f32[2,3]", "%v: f32[6] = _reshape_alias(%x, [6], [1])"},
};

/* Results of the call, lists flattened. */
static size_t results_of(const fnz_program *p, const fnzi_node *node, const fnz_geometry **out) {
  const fnz_arg *items = node->outputs;
  size_t count = node->noutputs;
  if (count == 1 && items->tag == FNZ_ARG_LIST) {
    count = items->count;
    items = items->u.list;
  }
  for (size_t i = 0; i < count; i++)
    out[i] = fnzi_value_at(p, 0, items[i].u.value)->geometry;
  return count;
}

static fnz_program *row_program(size_t i) {
  char inputs[256];
  snprintf(inputs, sizeof inputs, "%%x: %s", rows[i].base);
  char body[512];
  snprintf(body, sizeof body, "%s\nreturn", rows[i].call);
  return program_of(ctx, inputs, body);
}

static bool same_window(const fnz_geometry *a, const fnz_geometry *b) {
  bool same = a->dtype == b->dtype && fnzi_same_sizes(a, b) && a->is_conj == b->is_conj &&
              a->is_neg == b->is_neg;
  if (!same || count_elements(a) == 0)
    return same;
  for (int64_t i = 0, n = count_elements(a); i < n; i++)
    same = same && place_of(a, i) == place_of(b, i);
  return same;
}

/* An emitter that computes. */
typedef struct computed {
  fnz_handle made[64];
  const fnz_op *ops[64];
  size_t count;
} computed;

static fnz_status emit_call(void *self, fnzi_emit_op op, const fnz_arg *args, size_t nargs,
                            const fnz_geometry *result, fnzi_emitted *out) {
  computed *c = self;
  size_t count;
  const fnz_request call = {fnzi_emitted_op(op), args, nargs, &result, ""};
  FNZ_TRY(cpu->apply(cpu->self, ctx, &call, &out->handle, 1, &count));
  c->ops[c->count] = call.op;
  c->made[c->count++] = out->handle;
  out->geometry = cpu->geometry(cpu->self, out->handle);
  return FNZ_OK;
}

/* A new value for a window: no two elements alike, unless the window shows some twice. */
static void change_window(const fnz_geometry *g, size_t *bytes) {
  uint64_t seed = 99;
  *bytes = (size_t)count_elements(g) * element_bytes(g);
  for (size_t i = 0; i < *bytes; i++)
    wanted[i] = (unsigned char)splitmix64(&seed);
  bool once = fnzi_oracle_relate_self(NULL, g, FNZI_MUCH_WORK) == FNZI_DISJOINT;
  for (size_t i = 0; !once && i < *bytes; i++)
    wanted[i] = (unsigned char)(i % element_bytes(g) + 1);
}

static fnz_handle upload_like(const fnz_geometry *g, const unsigned char *bytes) {
  fnz_handle h;
  const fnz_geometry *like;
  OK(ctx, fnzi_contiguous_like(NULL, &arena, g, &like));
  OK(ctx, cpu->upload(cpu->self, ctx, like, bytes, &h));
  return h;
}

/* Its row names the operator that the reverse asks for, at least in the first of the view's cases:
 * expand also drops dimensions by another one. */
static void check_through(const fnzi_view_step *step, const computed *made) {
  static const fnzi_view *shown;
  const fnz_op *through = fnzi_view_describe(step->view).through;
  for (size_t i = 0; i < made->count; i++)
    if (made->ops[i] == through)
      shown = step->view;
  if (through ? shown != step->view : made->count != 0)
    ck_abort_msg("%s: the reverse does not ask for %s", step->call.op->name,
                 through ? through->name : "nothing");
}

/* The window changes in memory and through the reverse: the base must be the same. */
static void check_reverse(const fnzi_view_step *step) {
  computed made = {.count = 0};
  const fnzi_emitter emitter = {ctx, NULL, &arena, &made, emit_call};
  size_t window_bytes, base_bytes = (size_t)count_elements(step->base) * element_bytes(step->base);
  fnzi_emitted out = {0};
  fnz_handle base = upload_window(step->base);
  change_window(step->window, &window_bytes);
  fnz_handle value = upload_like(step->window, wanted);
  const fnzi_emitted b = {base, cpu->geometry(cpu->self, base)};
  const fnzi_emitted w = {value, cpu->geometry(cpu->self, value)};
  if (fnzi_view_step_reverse(&emitter, step, b, w, &out) != FNZ_OK)
    ck_abort_msg("%s: window %u: %s", step->call.op->name, step->index,
                 fnz_last_error(ctx)->message);
  scatter_window(step->window, wanted, storage);
  gather_window(step->base, storage, wanted);
  ck_assert(fnzi_same_sizes(out.geometry, step->base));
  ck_assert_int_eq(out.geometry->dtype, step->base->dtype);
  OK(ctx, cpu->download(cpu->self, ctx, out.handle, dense));
  if (memcmp(dense, wanted, base_bytes) != 0)
    ck_abort_msg("%s: the reverse gives another base", step->call.op->name);
  check_through(step, &made);
  for (size_t i = 0; i < made.count; i++)
    cpu->release(cpu->self, made.made[i]);
  cpu->release(cpu->self, base);
  cpu->release(cpu->self, value);
}

static void check_row(size_t i) {
  const fnz_geometry *wants[64];
  fnz_geometry *opened;
  fnz_program *p = row_program(i);
  const fnzi_node *node = fnzi_node_at(p, 0, 0);
  const fnz_geometry *base = fnzi_value_at(p, 0, 0)->geometry;
  const fnzi_view *view = fnzi_view_find(node->op);
  size_t count, want_count = results_of(p, node, wants);
  ck_assert_ptr_nonnull(view);
  OK(ctx,
     fnzi_view_forward((fnzi_int_space){NULL, &arena}, view,
                       &(fnzi_op_call){node->op, node->args, node->nargs}, base, &opened, &count));
  ck_assert_uint_eq(count, want_count);
  for (uint32_t k = 0; k < count; k++) {
    if (!same_window(&opened[k], wants[k]))
      ck_abort_msg("%s: %s opens another window %u", rows[i].base, rows[i].call, k);
    if (count_elements(&opened[k]) == 0)
      continue; /* nothing is ever written there */
    fill_storage(i, bytes_needed(base) + 64);
    check_reverse(
        &(fnzi_view_step){view, {node->op, node->args, node->nargs}, k, base, &opened[k]});
  }
  fnz_program_destroy(p);
}

START_TEST(each_view_and_its_reverse) {
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    check_row(i);
  end();
}
END_TEST

START_TEST(no_view_is_forgotten) {
  static const char *const all[] = {
#define VIEW(op, forward, reverse, base, shows, sees, through) op,
#include "views/views.def"
#undef VIEW
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    size_t found = 0;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
      const char *at = strstr(rows[k].call, " = ") + 3;
      found += strncmp(at, all[i], strlen(all[i])) == 0 && at[strlen(all[i])] == '(';
    }
    ck_assert_msg(found > 0, "%s has no row", all[i]);
  }
}
END_TEST

/* --- what does not fit ----------------------------------------------------------------------- */
START_TEST(bad_views_are_refused) {
  static const struct {
    const char *base, *call;
  } bad[] = {
      {"f32[4]", "%v: f32[3] offset(3) = as_strided(%x, [3], [1, 1], 3)"},
      {"f32[3]", "%v: f32[] = select.int(%x, 0, 3)"},
      {"f32[3]", "%v: f32[] = select.int(%x, 1, 0)"},
      {"f32[]", "%v: f32[] = select.int(%x, 0, 0)"},
      {"f32[3]", "%v: f32[1] = slice.Tensor(%x, 0, 0, 3, 0)"},
      {"f32[]", "%v: f32[] = slice.Tensor(%x)"},
      {"f32[3]", "%v: f32[3] = diagonal(%x)"},
      {"f32[3,3]", "%v: f32[3] = diagonal(%x, 0, 1, -1)"},
      {"f32[3]", "%v: f32[4] = expand(%x, [4])"},
      {"f32[2,3]", "%v: f32[3] = expand(%x, [3])"},
      {"f32[2,3]", "%v: f32[3,2] = permute(%x, [1, 1])"},
      {"f32[2,3]", "%v: f32[3,2] = permute(%x, [1])"},
      {"f32[2,3]", "%v: f32[5] = view(%x, [5])"},
      {"f32[2,3] stride(1,2)", "%v: f32[6] = view(%x, [6])"},
      {"f32[2,3]", "%v: f32[3] = view(%x, [-1, -1])"},
      {"f32[3]", "%v: f32[3] = unfold(%x, 0, 4, 1)"},
      {"f32[3]", "%v: f32[3] = unfold(%x, 0, 2, 0)"},
      {"f32[2,3,4]", "%v: f32[2,3,4] = t(%x)"},
      {"f32[5]", "[%v: f32[2]] = split_with_sizes(%x, [2, 2])"},
      {"f32[5]", "[%v: f32[5]] = split.Tensor(%x, 0)"},
      {"f32[3]", "%v: f64[1] = view.dtype(%x, f64)"},
      {"f32[3] neg", "%v: i32[3] = view.dtype(%x, i32)"},
      {"c64[3] conj", "%v: f32[6] = view.dtype(%x, f32)"},
      {"f32[3,2] stride(1,3)", "%v: c64[3] = view_as_complex(%x)"},
      {"f32[3]", "%v: c64[1] = view_as_complex(%x)"},
  };
  begin();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char inputs[256], body[512];
    fnz_geometry *opened;
    size_t count;
    snprintf(inputs, sizeof inputs, "%%x: %s", bad[i].base);
    snprintf(body, sizeof body, "%s\nreturn", bad[i].call);
    fnz_program *p = program_of(ctx, inputs, body);
    const fnzi_node *n = fnzi_node_at(p, 0, 0);
    fnz_status status = fnzi_view_forward((fnzi_int_space){NULL, &arena}, fnzi_view_find(n->op),
                                          &(fnzi_op_call){n->op, n->args, n->nargs},
                                          fnzi_value_at(p, 0, 0)->geometry, &opened, &count);
    ck_assert_msg(status == FNZ_BAD_INPUT, "%s: %s gives %d", bad[i].base, bad[i].call, status);
    ck_assert_str_ne(fnz_last_error(ctx)->message, "");
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

RUN_SUITE("views", paths_lead_there, long_chains_are_short_paths, each_view_and_its_reverse,
          no_view_is_forgotten, bad_views_are_refused)
