/* checks: 1
 * reference_test.c - every functional operator that the CPU computes, in every element type,
 * against what PyTorch gives: fixtures/reference. Operators that move, choose or compare elements
 * must agree bit by bit, payloads of NaN too; other numbers may be apart by a few roundings of the
 * largest one.
 *
 * Calls that differ are in differences.json, with the reason; a call that agrees must not be. */
#include "base/watched.h"
#include "tests/help/variant_fixture.h"

#include <stdio.h>

enum { OPERATORS = 990, CALLS = 40553, WIDER = 996, NARROWER = 436, WHAT_BYTES = 400 };

typedef struct replay {
  variants v;
  scene s;
  bool exact, equal; /* results agree bit by bit, or but for the bits of NaN */
  size_t calls, refused, differs, unexplained;
  size_t wider, narrower; /* element types that only fnz, or only PyTorch has a kernel for */
  char what[WHAT_BYTES];  /* the first thing in which a call differs, "" for nothing */
} replay;

static bool has_text(const fnzi_json *list, const char *text) {
  for (const fnzi_json *item = list ? list->u.first : NULL; item; item = item->next)
    if (strcmp(item->u.s, text) == 0)
      return true;
  return false;
}

static bool has_number(const fnzi_json *list, size_t number) {
  for (const fnzi_json *item = list ? list->u.first : NULL; item; item = item->next)
    if ((size_t)item->u.i == number)
      return true;
  return false;
}

/* --- Results ---------------------------------------------------------------------------------- */

static void print_cell(const unsigned char *cell, size_t bytes, char *out) {
  for (size_t i = 0; i < bytes; i++)
    snprintf(out + 2 * i, 3, "%02x", cell[bytes - 1 - i]);
}

/* Complex numbers have two parts. */
static size_t part_bytes(fnz_dtype dtype) {
  bool pairs = dtype == FNZ_C32 || dtype == FNZ_C64 || dtype == FNZ_C128;
  return fnz_dtype_get_info(dtype)->bytes / (pairs ? 2 : 1);
}

static bool is_nan(fnz_dtype dtype, const unsigned char *cell) {
  uint64_t bits = 0, infinity = dtype == FNZ_BF16 ? 0x7f80 : 0x7c00;
  size_t bytes = part_bytes(dtype);
  char category = fnz_dtype_get_info(dtype)->category;
  memcpy(&bits, cell, bytes);
  if (bytes > 2)
    infinity = bytes == 4 ? 0x7f800000 : UINT64_C(0x7ff0000000000000);
  return (category == 'f' || category == 'c') &&
         (bits & ~(UINT64_C(1) << (8 * bytes - 1))) > infinity;
}

static void compare_bits(replay *r, size_t k, block want, const unsigned char *have) {
  size_t bytes = part_bytes(want.dtype), count = block_bytes(want) / bytes;
  char a[40], b[40];
  for (size_t i = 0; i < count; i++) {
    if (memcmp(want.cells + i * bytes, have + i * bytes, bytes) == 0 ||
        (r->equal && is_nan(want.dtype, want.cells + i * bytes) &&
         is_nan(want.dtype, have + i * bytes)))
      continue;
    print_cell(want.cells + i * bytes, bytes, a);
    print_cell(have + i * bytes, bytes, b);
    snprintf(r->what, sizeof r->what, "result %zu, %s %zu: bits %s instead of %s", k,
             fnz_dtype_get_info(want.dtype)->name, i, b, a);
    return;
  }
}

static void compare_elements(replay *r, size_t k, block want, fnz_eager have) {
  unsigned char *cells = malloc(block_bytes(want) + 1);
  ck_assert_ptr_nonnull(cells);
  OK(r->v.ctx, r->s.backend->download(r->s.backend->self, r->v.ctx, have.handle, cells));
  if (r->exact || r->equal)
    compare_bits(r, k, want, cells);
  else
    block_compare(want, cells, k, r->what, sizeof r->what);
  free(cells);
}

static void compare_tensor(replay *r, size_t k, const fnzi_json *seen, fnz_eager have) {
  shape want;
  variants_shape(&r->v, (size_t)seen->u.first->u.i, &want);
  const fnz_geometry *g = fnz_eager_geometry(have);
  size_t bytes = want.g.rank * sizeof *want.g.sizes;
  if (g->dtype != want.g.dtype)
    snprintf(r->what, sizeof r->what, "result %zu is %s instead of %s", k,
             fnz_dtype_get_info(g->dtype)->name, fnz_dtype_get_info(want.g.dtype)->name);
  else if (g->rank != want.g.rank || (bytes && memcmp(g->sizes, want.g.sizes, bytes) != 0))
    snprintf(r->what, sizeof r->what, "result %zu has other sizes", k);
  else if (bytes && memcmp(g->strides, want.g.strides, bytes) != 0)
    snprintf(r->what, sizeof r->what, "result %zu has other strides", k);
  else if (seen->u.first->next)
    compare_elements(r, k, variants_block(&r->v, (size_t)seen->u.first->next->u.i), have);
}

static void compare_result(replay *r, size_t k, const fnzi_json *want, fnz_eager have) {
  const fnzi_json *seen = fnzi_json_find(want, "new");
  bool is_tensor = want->kind == FNZI_JSON_OBJECT;
  if (is_tensor != (have.handle != 0))
    snprintf(r->what, sizeof r->what, "result %zu is %s", k, is_tensor ? "undefined" : "a tensor");
  else if (seen)
    compare_tensor(r, k, seen, have);
}

static bool is_number(const fnzi_json *want) {
  return want->kind == FNZI_JSON_INT || want->kind == FNZI_JSON_FLOAT ||
         want->kind == FNZI_JSON_BOOL;
}

static void compare_results(replay *r, const fnzi_json *results) {
  size_t place = 0, k = 0;
  if (fnz_stack_count(r->s.stack) != results->count)
    snprintf(r->what, sizeof r->what, "%zu results instead of %u", fnz_stack_count(r->s.stack),
             results->count);
  for (const fnzi_json *want = results->u.first; want && !r->what[0]; want = want->next, place++) {
    size_t item = 0;
    bool listed = want->kind == FNZI_JSON_ARRAY;
    for (const fnzi_json *one = listed ? want->u.first : want; one && !r->what[0];
         one = listed ? one->next : NULL, k++)
      if (!is_number(one))
        compare_result(r, k, one, fnz_stack_tensor(r->s.stack, place, item++));
  }
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Computing an element type for which PyTorch has no kernel is no difference, nor is saying that
 * there is none. */
static bool is_of_one_side(replay *r, fnz_status status, const fnzi_json *raised) {
  const fnz_error *e = fnz_last_error(r->v.ctx);
  bool wider = status == FNZ_OK && raised && strcmp(raised->u.s, "NotImplementedError") == 0;
  bool narrower =
      status != FNZ_OK && !raised && e->kind == FNZ_CLASS_UNSUPPORTED &&
      (strstr(e->message, "no kernel for") || strstr(e->message, "cannot be converted"));
  r->wider += wider;
  r->narrower += narrower;
  return wider || narrower;
}

static void replay_call(replay *r, const fnz_op *op, const fnzi_json *call) {
  const fnzi_json *results = call->u.first->next;
  const fnzi_json *raised = fnzi_json_find(results->next, "raised");
  r->what[0] = 0;
  scene_open(&r->s, r->v.inputs.at[call->u.first->u.i]);
  fnz_status status = fnz_call(r->v.ctx, op, r->s.stack);
  if (is_of_one_side(r, status, raised))
    r->what[0] = 0;
  else if (status != FNZ_OK && !raised)
    snprintf(r->what, sizeof r->what, "refused: %s", fnz_last_error(r->v.ctx)->message);
  else if (status == FNZ_OK && raised)
    snprintf(r->what, sizeof r->what, "is accepted, PyTorch raises %s", raised->u.s);
  else if (status == FNZ_OK)
    compare_results(r, results);
  r->refused += raised != NULL;
  scene_close(&r->s);
}

/* An entry may be for one processor only. */
static bool is_for_this_processor(const fnzi_json *entry) {
#ifdef __aarch64__
  static const char name[] = "aarch64";
#else
  static const char name[] = "x86-64";
#endif
  const fnzi_json *on = fnzi_json_find(entry, "on");
  return !on || strcmp(on->u.s, name) == 0;
}

/* The entry of the calls that are known to differ that has this call; NULL for none. */
static const fnzi_json *find_known(const replay *r, const char *op, size_t number) {
  const fnzi_json *list = fnzi_json_find(r->v.differences.root, "known");
  for (const fnzi_json *entry = list->u.first; entry; entry = entry->next)
    if (is_for_this_processor(entry) &&
        has_number(fnzi_json_find(fnzi_json_find(entry, "calls"), op), number))
      return entry;
  return NULL;
}

static void replay_operator(replay *r, const fnzi_json *calls) {
  const fnz_op *op = fnz_op_find(NULL, calls->key);
  size_t number = 0;
  ck_assert_msg(op != NULL, "no operator is called %s", calls->key);
  r->exact = has_text(fnzi_json_find(r->v.calls.root, "exact"), calls->key);
  r->equal = has_text(fnzi_json_find(r->v.calls.root, "equal"), calls->key);
  for (const fnzi_json *call = calls->u.first; call; call = call->next, number++) {
    if (FNZI_WATCHED && number % 4) /* there all takes half a minute */
      continue;
    replay_call(r, op, call);
    const fnzi_json *known = find_known(r, calls->key, number);
    bool varies = known && fnzi_json_find(known, "varies");
    r->differs += known != NULL;
    if (varies || (known != NULL) == (r->what[0] != 0))
      continue;
    r->unexplained++;
    printf("%s #%zu: %s\n", calls->key, number,
           known ? "is in differences.json and does not differ" : r->what);
  }
  r->calls += number;
}

START_TEST(results_are_eagers) {
  replay r = {.calls = 0};
  size_t operators = 0;
  scene_begin(&r.s, &r.v, "reference", create_cpu);
  const fnzi_json *calls = fnzi_json_find(r.v.calls.root, "calls");
  for (const fnzi_json *one = calls->u.first; one; one = one->next, operators++)
    replay_operator(&r, one);
  printf(
      "%zu operators, %zu calls, %zu refused by PyTorch; %zu only fnz computes, %zu only PyTorch; "
      "%zu known to differ, %zu other differences\n",
      operators, r.calls, r.refused, r.wider, r.narrower, r.differs, r.unexplained);
  ck_assert_uint_eq(operators, OPERATORS);
  ck_assert_uint_eq(r.calls, CALLS);
  if (!FNZI_WATCHED) {
    ck_assert_uint_eq(r.wider, WIDER);
    ck_assert_uint_eq(r.narrower, NARROWER);
  }
  ck_assert_uint_eq(r.unexplained, 0);
  scene_end(&r.s);
}
END_TEST

RUN_SUITE("reference", results_are_eagers)
