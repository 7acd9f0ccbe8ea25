/* checks: 3
 * eager_variants_test.c - every variant of the operators against PyTorch: values, geometry, sharing
 * of memory, refusals and warnings.
 *
 * A difference is printed, one line per call. Calls that are known not to agree, with the reason,
 * and operators without a kernel are in differences.json; a call that agrees must not be. */
#include "tests/help/variant_fixture.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { OPERATORS = 1542, CALLS = 15080, WHAT_BYTES = 400 };

/* How far numbers of a result may be apart, in units in the last place: of the number itself, or of
 * the largest one in the same block. */
typedef struct tolerance {
  int64_t ulps, of_largest;
} tolerance;

/* One replay of all calls. */
typedef struct replay {
  variants v;
  scene s;
  bool has_data;
  const char *op;
  size_t operators, calls, differs, unexplained, without_kernel;
  char what[WHAT_BYTES]; /* the first thing in which this call differs, "" for nothing */
} replay;

static void differ(replay *r, const char *format, ...) FNZI_PRINTF(2, 3);
static void differ(replay *r, const char *format, ...) {
  va_list args;
  if (r->what[0])
    return;
  va_start(args, format);
  vsnprintf(r->what, sizeof r->what, format, args);
  va_end(args);
}

/* --- Elements --------------------------------------------------------------------------------- */

/* The layout of an element type: bits of the fraction, the bits of infinity, and the exponent of
 * its smallest step. All 0 for types whose elements must be equal. */
typedef struct layout {
  int fraction, lowest;
  uint64_t infinity;
} layout;

static layout layout_of(fnz_dtype dtype) {
  static const struct {
    fnz_dtype dtype;
    layout layout;
  } rows[] = {{FNZ_F16, {10, -24, 0x7c00}},
              {FNZ_BF16, {7, -133, 0x7f80}},
              {FNZ_F32, {23, -149, 0x7f800000}},
              {FNZ_C64, {23, -149, 0x7f800000}},
              {FNZ_F64, {52, -1074, UINT64_C(0x7ff0000000000000)}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].dtype == dtype)
      return rows[i].layout;
  return (layout){0, 0, 0};
}

/* Bytes of one number: complex elements have two. */
static size_t number_bytes(fnz_dtype dtype) {
  return fnz_dtype_get_info(dtype)->bytes / (dtype == FNZ_C64 ? 2 : 1);
}

static uint64_t bits_at(const unsigned char *cell, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, cell, bytes);
  return bits;
}

/* The magnitude of a finite number, given without its sign. */
static double magnitude_of(layout l, uint64_t bits) {
  uint64_t fraction = bits & ((UINT64_C(1) << l.fraction) - 1);
  int exponent = (int)(bits >> l.fraction);
  if (!exponent)
    return ldexp((double)fraction, l.lowest);
  return ldexp((double)(fraction | UINT64_C(1) << l.fraction), l.lowest + exponent - 1);
}

static double step_at(layout l, double magnitude) {
  int exponent;
  frexp(magnitude, &exponent);
  int step = exponent - 1 - l.fraction;
  return ldexp(1, step < l.lowest ? l.lowest : step);
}

/* A double that was computed as a float counts as one. */
static layout narrowed(layout l, uint64_t a, uint64_t b) {
  bool are_floats = l.fraction == 52 && !((a | b) & ((UINT64_C(1) << 29) - 1));
  if (are_floats)
    l.fraction = 23;
  return l;
}

static bool is_close(fnz_dtype dtype, uint64_t a, uint64_t b, tolerance t, double largest) {
  layout l = layout_of(dtype);
  uint64_t sign = UINT64_C(1) << (8 * number_bytes(dtype) - 1), x = a & ~sign, y = b & ~sign;
  if (a == b || !l.infinity)
    return a == b;
  if (x > l.infinity || y > l.infinity)
    return x > l.infinity && y > l.infinity;
  if (x == l.infinity || y == l.infinity || (!t.ulps && !t.of_largest))
    return false;
  double p = magnitude_of(l, x), q = magnitude_of(l, y);
  double apart = (a ^ b) & sign ? p + q : fabs(p - q);
  l = narrowed(l, a, b);
  return apart <= (double)t.ulps * step_at(l, fmax(p, q)) ||
         apart <= (double)t.of_largest * step_at(l, largest);
}

static double largest_of(block b) {
  layout l = layout_of(b.dtype);
  size_t bytes = number_bytes(b.dtype), count = block_bytes(b) / bytes;
  double largest = 0;
  for (size_t i = 0; l.infinity && i < count; i++) {
    uint64_t bits = bits_at(b.cells + i * bytes, bytes) & ~(UINT64_C(1) << (8 * bytes - 1));
    if (bits < l.infinity)
      largest = fmax(largest, magnitude_of(l, bits));
  }
  return largest;
}

/* Tolerances are given by the operator's name without overload and the underscore of its in-place
 * form, and the element type: "asin f32". */
static int64_t tolerance_of(const replay *r, const char *table, fnz_dtype dtype) {
  char key[80];
  size_t size = strcspn(r->op, ".");
  size -= size > 1 && r->op[size - 1] == '_' && r->op[size - 2] != '_';
  snprintf(key, sizeof key, "%.*s %s", (int)size, r->op, fnz_dtype_get_info(dtype)->name);
  const fnzi_json *row = fnzi_json_find(fnzi_json_find(r->v.differences.root, table), key);
  return row ? row->u.i : 0;
}

static void compare_cells(replay *r, const char *place, size_t number, block want,
                          const unsigned char *have) {
  size_t bytes = number_bytes(want.dtype), count = block_bytes(want) / bytes;
  tolerance t = {tolerance_of(r, "ulps", want.dtype),
                 tolerance_of(r, "ulps_of_largest", want.dtype)};
  double largest = largest_of(want);
  for (size_t i = 0; i < count; i++) {
    uint64_t a = bits_at(want.cells + i * bytes, bytes), b = bits_at(have + i * bytes, bytes);
    if (!is_close(want.dtype, a, b, t, largest))
      differ(r, "%s %zu, %s %zu: want %#llx, have %#llx", place, number,
             fnz_dtype_get_info(want.dtype)->name, i, (unsigned long long)a, (unsigned long long)b);
  }
}

static unsigned char *cells_of(replay *r, fnz_eager tensor) {
  const fnz_geometry *g = fnz_eager_geometry(tensor);
  size_t count = (size_t)fnz_geometry_numel(g) + 1;
  unsigned char *cells = malloc(count * fnz_dtype_get_info(g->dtype)->bytes);
  ck_assert_ptr_nonnull(cells);
  OK(r->v.ctx, tensor.backend->download(tensor.backend->self, r->v.ctx, tensor.handle, cells));
  return cells;
}

/* --- Geometry --------------------------------------------------------------------------------- */

static void print_geometry(char *out, size_t capacity, const fnz_geometry *g) {
  size_t used = (size_t)snprintf(out, capacity, "%s[", fnz_dtype_get_info(g->dtype)->name);
  for (uint32_t i = 0; i < g->rank && used < capacity; i++)
    used += (size_t)snprintf(out + used, capacity - used, "%s%lld", i ? "," : "",
                             (long long)g->sizes[i]);
  for (uint32_t i = 0; i < g->rank && used < capacity; i++)
    used += (size_t)snprintf(out + used, capacity - used, "%s%lld", i ? "," : "] stride(",
                             (long long)g->strides[i]);
  if (used < capacity)
    snprintf(out + used, capacity - used, "%s offset(%lld)%s%s", g->rank ? ")" : "]",
             (long long)g->offset, g->is_conj ? " conj" : "", g->is_neg ? " neg" : "");
}

static bool same_geometry(const fnz_geometry *a, const fnz_geometry *b) {
  size_t bytes = a->rank * sizeof *a->sizes;
  return a->dtype == b->dtype && a->rank == b->rank && a->offset == b->offset &&
         a->is_conj == b->is_conj && a->is_neg == b->is_neg &&
         (!bytes ||
          (memcmp(a->sizes, b->sizes, bytes) == 0 && memcmp(a->strides, b->strides, bytes) == 0));
}

/* False when the geometry is another one. */
static bool compare_geometry(replay *r, const char *place, size_t number, size_t want,
                             fnz_eager tensor) {
  shape wanted;
  char a[WHAT_BYTES / 3], b[WHAT_BYTES / 3];
  variants_shape(&r->v, want, &wanted);
  if (same_geometry(&wanted.g, fnz_eager_geometry(tensor)))
    return true;
  print_geometry(a, sizeof a, &wanted.g);
  print_geometry(b, sizeof b, fnz_eager_geometry(tensor));
  differ(r, "%s %zu: want %s, have %s", place, number, a, b);
  return false;
}

/* `seen`: a geometry and, unless they are undefined, the elements. */
static void compare_tensor(replay *r, const char *place, size_t number, const fnzi_json *seen,
                           fnz_eager tensor) {
  if (!compare_geometry(r, place, number, (size_t)seen->u.first->u.i, tensor))
    return;
  if (!r->has_data || !seen->u.first->next)
    return;
  unsigned char *cells = cells_of(r, tensor);
  compare_cells(r, place, number, variants_block(&r->v, (size_t)seen->u.first->next->u.i), cells);
  free(cells);
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* `after`: the memories that changed, by number; NULL for none. */
static void compare_memory(replay *r, const fnzi_json *after) {
  char key[24];
  for (size_t i = 0; r->has_data && i < r->s.nbases; i++) {
    snprintf(key, sizeof key, "%zu", i);
    const fnzi_json *changed = fnzi_json_find(after, key);
    block want = changed ? variants_block(&r->v, (size_t)changed->u.i) : r->s.before[i];
    unsigned char *cells = cells_of(r, r->s.bases[i]);
    compare_cells(r, "memory", i, want, cells);
    free(cells);
  }
}

static void fill(replay *r, fnz_eager tensor, int64_t value) {
  fnz_push_tensor(r->s.side, tensor);
  fnz_push_int(r->s.side, value);
  if (fnz_call(r->v.ctx, fnz_op_find(NULL, "fill_.Scalar"), r->s.side) != FNZ_OK)
    differ(r, "cannot be filled: %s", fnz_last_error(r->v.ctx)->message);
  fnz_stack_clear(r->s.side);
}

/* Marks the bytes that a window covers. */
static void cover(const fnz_geometry *g, unsigned char *mask, size_t bytes) {
  int64_t index[SHAPE_RANK] = {0}, count = fnz_geometry_numel(g);
  size_t cell = fnz_dtype_get_info(g->dtype)->bytes;
  for (int64_t n = 0; n < count; n++) {
    int64_t at = g->offset;
    for (uint32_t d = 0; d < g->rank; d++)
      at += index[d] * g->strides[d];
    ck_assert_uint_le(((size_t)at + 1) * cell, bytes);
    memset(mask + (size_t)at * cell, 1, cell);
    for (uint32_t d = g->rank; d-- > 0;) {
      if (++index[d] < g->sizes[d])
        break;
      index[d] = 0;
    }
  }
}

/* The expected content of a memory after a tensor was filled with 0: zeros in `window`, NULL for
 * none, and the old bytes elsewhere. */
static void compare_filled(replay *r, size_t i, size_t number, const fnz_geometry *window,
                           const unsigned char *before) {
  size_t bytes = block_bytes(r->s.before[i]);
  unsigned char *mask = calloc(bytes + 1, 1), *now = cells_of(r, r->s.bases[i]);
  ck_assert_ptr_nonnull(mask);
  /* Through a lazy bit 0 is written as -0. */
  unsigned char sign = window && (window->is_conj || window->is_neg) ? 0x80 : 0;
  if (window)
    cover(window, mask, bytes);
  for (size_t k = 0; k < bytes; k++)
    if (mask[k] ? (now[k] & ~sign) != 0 : now[k] != before[k])
      differ(r, "result %zu %s memory %zu", number,
             mask[k] ? "does not share" : "shares other places of", i);
  free(mask);
  free(now);
}

/* Writes through a result: what shares memory with it, and nothing else, sees that. The ones
 * before the zeros are for memory that holds zeros. */
static void poke(replay *r, size_t number, fnz_eager tensor, size_t shared, const fnz_geometry *g) {
  unsigned char *before[SCENE_TENSORS];
  if (r->what[0] || !fnz_geometry_numel(fnz_eager_geometry(tensor)))
    return;
  for (size_t i = 0; i < r->s.nbases; i++)
    before[i] = cells_of(r, r->s.bases[i]);
  fill(r, tensor, 1);
  for (size_t i = 0; i < r->s.nbases; i++) {
    unsigned char *now = cells_of(r, r->s.bases[i]);
    if (memcmp(now, before[i], block_bytes(r->s.before[i])) != 0 && i != shared)
      differ(r, "result %zu shares memory %zu", number, i);
    free(now);
  }
  fill(r, tensor, 0);
  for (size_t i = 0; i < r->s.nbases; i++) {
    compare_filled(r, i, number, i == shared ? g : NULL, before[i]);
    free(before[i]);
  }
}

/* --- Results ---------------------------------------------------------------------------------- */

static void compare_result(replay *r, size_t number, const fnzi_json *want, fnz_eager have) {
  const fnzi_json *same = fnzi_json_find(want, "same"), *alias = fnzi_json_find(want, "alias");
  const fnzi_json *fresh = fnzi_json_find(want, "new");
  if (!have.handle) {
    differ(r, "result %zu is no tensor", number);
    return;
  }
  if (same && r->s.tensors[same->u.i].handle != have.handle)
    differ(r, "result %zu is not argument tensor %lld", number, (long long)same->u.i);
  if (alias)
    compare_geometry(r, "result", number, (size_t)alias->u.first->next->u.i, have);
  if (fresh)
    compare_tensor(r, "result", number, fresh, have);
}

/* After everything has been compared, since it destroys contents. */
static void poke_result(replay *r, size_t number, const fnzi_json *want, fnz_eager have) {
  const fnzi_json *alias = fnzi_json_find(want, "alias");
  shape window;
  if (fnzi_json_find(want, "new")) {
    poke(r, number, have, SCENE_TENSORS, NULL);
  } else if (alias) {
    variants_shape(&r->v, (size_t)alias->u.first->next->u.i, &window);
    poke(r, number, have, (size_t)alias->u.first->u.i, &window.g);
  }
}

typedef void result_fn(replay *r, size_t number, const fnzi_json *want, fnz_eager have);

/* Calls `visit` for each tensor among the results, those in lists too. */
static void each_result(replay *r, const fnzi_json *results, result_fn *visit) {
  size_t place = 0, number = 0;
  for (const fnzi_json *want = results->u.first; want; want = want->next, place++) {
    size_t item = 0;
    if (want->kind == FNZI_JSON_OBJECT) {
      visit(r, number++, want, fnz_stack_tensor(r->s.stack, place, 0));
    } else if (want->kind == FNZI_JSON_ARRAY) {
      if (fnz_stack_tensors(r->s.stack, place) != want->count)
        differ(r, "result %zu: want %u tensors, have %zu", place, want->count,
               fnz_stack_tensors(r->s.stack, place));
      for (const fnzi_json *one = want->u.first; one; one = one->next)
        visit(r, number++, one, fnz_stack_tensor(r->s.stack, place, item++));
    }
  }
}

static void compare_count(replay *r, const fnzi_json *results) {
  if (fnz_stack_count(r->s.stack) != results->count)
    differ(r, "want %u results, have %zu", results->count, fnz_stack_count(r->s.stack));
}

/* Argument tensors that have another geometry now, and tensors that must not have. */
static void compare_arguments(replay *r, const fnzi_json *moved, const fnz_geometry *before) {
  char key[24];
  for (size_t i = 0; i < r->s.ntensors; i++) {
    snprintf(key, sizeof key, "%zu", i);
    const fnzi_json *seen = fnzi_json_find(moved, key);
    if (!r->s.tensors[i].handle)
      continue;
    if (seen)
      compare_tensor(r, "argument tensor", i, seen, r->s.tensors[i]);
    else if (!same_geometry(&before[i], fnz_eager_geometry(r->s.tensors[i])))
      differ(r, "argument tensor %zu got another geometry", i);
  }
}

static void compare_warning(replay *r, const fnzi_json *notes) {
  const char *warning = fnz_stack_warning(r->s.stack);
  bool want = fnzi_json_find(notes, "warned") != NULL;
  if (want != (warning[0] != 0))
    differ(r, want ? "does not warn" : "warns: %s", warning);
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Geometries of the argument tensors, which the call may change. */
typedef struct memo {
  shape shapes[SCENE_TENSORS];
  fnz_geometry g[SCENE_TENSORS];
} memo;

static void remember(const scene *s, memo *m) {
  for (size_t i = 0; i < s->ntensors; i++) {
    const fnz_geometry *g = fnz_eager_geometry(s->tensors[i]);
    if (!g)
      continue;
    ck_assert_uint_le(g->rank, SHAPE_RANK);
    m->g[i] = *g;
    memcpy(m->shapes[i].sizes, g->sizes, g->rank * sizeof *g->sizes);
    memcpy(m->shapes[i].strides, g->strides, g->rank * sizeof *g->strides);
    m->g[i].sizes = m->shapes[i].sizes;
    m->g[i].strides = m->shapes[i].strides;
  }
}

static bool lacks_kernel(fnz_context *ctx) {
  const fnz_error *e = fnz_last_error(ctx);
  return strcmp(fnz_class_name(e->kind), "UNSUPPORTED") == 0 &&
         strstr(e->message, "no kernel for this operator");
}

/* Calls that PyTorch refuses, fnz must refuse. Then nothing may have been written, or what PyTorch
 * had written already: the first tensors of a list. */
static void compare_refusal(replay *r, const fnzi_json *notes, const memo *before) {
  const fnzi_json *written = fnzi_json_find(notes, "storages");
  if (!fnzi_json_find(notes, "raised"))
    differ(r, "refused: %s", fnz_last_error(r->v.ctx)->message);
  compare_arguments(r, NULL, before->g);
  if (r->what[0])
    return;
  compare_memory(r, NULL);
  if (!r->what[0] || !written)
    return;
  r->what[0] = 0;
  compare_memory(r, written);
}

static void compare_success(replay *r, const fnzi_json *results, const fnzi_json *notes,
                            const memo *before) {
  compare_count(r, results);
  compare_warning(r, notes);
  each_result(r, results, compare_result);
  compare_arguments(r, fnzi_json_find(notes, "moved"), before->g);
  if (fnzi_json_find(notes, "undefined"))
    return;
  compare_memory(r, fnzi_json_find(notes, "storages"));
  if (r->has_data)
    each_result(r, results, poke_result);
}

/* True when the operator has no kernel. */
static bool replay_call(replay *r, const fnz_op *op, const fnzi_json *call) {
  const fnzi_json *results = call->u.first->next, *notes = results->next;
  const fnzi_json *raised = fnzi_json_find(notes, "raised");
  memo before;
  bool lacks = false;
  r->what[0] = 0;
  if (raised && !r->has_data)
    return false;
  scene_open(&r->s, r->v.inputs.at[call->u.first->u.i]);
  remember(&r->s, &before);
  fnz_status status = fnz_call(r->v.ctx, op, r->s.stack);
  if (status != FNZ_OK && lacks_kernel(r->v.ctx))
    lacks = true;
  else if (status != FNZ_OK)
    compare_refusal(r, notes, &before);
  else if (raised)
    differ(r, "is accepted, PyTorch raises %s", raised->u.s);
  else
    compare_success(r, results, notes, &before);
  scene_close(&r->s);
  return lacks;
}

static bool has_number(const fnzi_json *list, size_t number) {
  for (const fnzi_json *item = list ? list->u.first : NULL; item; item = item->next)
    if ((size_t)item->u.i == number)
      return true;
  return false;
}

static bool has_text(const fnzi_json *list, const char *text) {
  for (const fnzi_json *item = list->u.first; item; item = item->next)
    if (strcmp(item->u.s, text) == 0)
      return true;
  return false;
}

/* Is among the calls that are known to differ on this backend. */
static bool is_known(const replay *r, size_t number) {
  const fnzi_json *list = fnzi_json_find(r->v.differences.root, "known");
  for (const fnzi_json *entry = list->u.first; entry; entry = entry->next)
    if (has_number(fnzi_json_find(fnzi_json_find(entry, "calls"), r->op), number) &&
        has_text(fnzi_json_find(entry, "backends"), r->s.backend->name))
      return true;
  return false;
}

static void judge(replay *r, size_t number) {
  bool known = is_known(r, number);
  if (!r->what[0] && known)
    differ(r, "is in differences.json and does not differ");
  else if (r->what[0] && known) {
    r->differs++;
    return;
  }
  if (!r->what[0])
    return;
  r->unexplained++;
  printf("%s: %s #%zu: %s\n", r->s.backend->name, r->op, number, r->what);
}

static void replay_operator(replay *r, const fnzi_json *calls) {
  const fnz_op *op = fnz_op_find(NULL, calls->key);
  size_t number = 0, lacking = 0;
  ck_assert_msg(op != NULL, "no operator is called %s", calls->key);
  r->op = calls->key;
  for (const fnzi_json *call = calls->u.first; call; call = call->next, number++)
    if (replay_call(r, op, call))
      lacking++;
    else
      judge(r, number);
  r->operators++;
  r->calls += number;
  r->without_kernel += lacking > 0;
  if ((lacking > 0) == has_text(fnzi_json_find(r->v.differences.root, "no_kernel"), r->op))
    return;
  r->unexplained++;
  printf("%s: %s: %s\n", r->s.backend->name, r->op,
         lacking ? "has no kernel" : "is in differences.json and has a kernel");
}

static void replay_all(create_fn *create, bool has_data) {
  replay r = {.has_data = has_data};
  scene_begin(&r.s, &r.v, "variants", create);
  const fnzi_json *calls = fnzi_json_find(r.v.calls.root, "calls");
  for (const fnzi_json *one = calls->u.first; one; one = one->next)
    replay_operator(&r, one);
  printf("%s: %zu operators, %zu calls, %zu known to differ, %zu operators without a kernel, "
         "%zu other differences\n",
         r.s.backend->name, r.operators, r.calls, r.differs, r.without_kernel, r.unexplained);
  ck_assert_uint_eq(r.operators, OPERATORS);
  ck_assert_uint_eq(r.calls, CALLS);
  ck_assert_uint_eq(r.unexplained, 0);
  scene_end(&r.s);
}

START_TEST(on_the_cpu) {
  replay_all(create_cpu, true);
}
END_TEST

START_TEST(shapes_only) {
  replay_all(fnz_meta_backend_create, false);
}
END_TEST

START_TEST(units_in_the_last_place) {
  static const tolerance exact = {0, 0}, one = {1, 0}, nine = {9, 0}, near = {0, 1};
  ck_assert(is_close(FNZ_F32, 0x3f800000, 0x3f800001, one, 0));
  ck_assert(!is_close(FNZ_F32, 0x3f800000, 0x3f800002, one, 0));
  ck_assert(!is_close(FNZ_F32, 0x3f800000, 0x3f800001, exact, 0));
  ck_assert(is_close(FNZ_F32, 0x7fc00000, 0xffc00001, exact, 0)); /* both are not a number */
  ck_assert(!is_close(FNZ_F32, 0x7f800000, 0x7fc00000, nine, 0));
  ck_assert(!is_close(FNZ_F64, 0x7ff0000000000000, 0xfff0000000000000, nine, 0));
  ck_assert(is_close(FNZ_F16, 1, 0x8000, one, 0));
  ck_assert(!is_close(FNZ_F16, 1, 0x8001, one, 0));
  ck_assert(!is_close(FNZ_BF16, 0, 0x8000, exact, 0)); /* the two zeros */
  ck_assert(!is_close(FNZ_I32, 3, 4, nine, 0));
  ck_assert(is_close(FNZ_F64, 0x3ff0000000000000, 0x3ff0000020000000, one, 0)); /* as floats */
  ck_assert(!is_close(FNZ_F64, 0x3ff0000000000000, 0x3ff0000000000002, one, 0));
  ck_assert(is_close(FNZ_F32, 0x3a800000, 0x3a800400, near, 1));
  ck_assert(!is_close(FNZ_F32, 0x3a800000, 0x3a800801, near, 1));
}
END_TEST

RUN_SUITE("eager_variants", on_the_cpu, shapes_only, units_in_the_last_place)
