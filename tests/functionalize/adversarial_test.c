/* checks: 8
 * adversarial_test.c - programs made to be expensive: their cost grows like their bytes. Cost is
 * counted, not timed: bytes requested from the allocator, and nodes of the result. All run on a
 * stack of 64 kB. */
#include "base/watched.h"
#include "tests/help/stack.h"

#include <fnz/fnz.h>

#include <stdio.h>

enum {
  MILLION = FNZI_WATCHED ? 50000 : 1000000,
  STACK = FNZI_WATCHED ? 512 * 1024 : 64 * 1024,
  LARGE = FNZI_WATCHED ? 500 : 2000
};

static fnz_context *ctx;
static uint64_t asked; /* bytes, of the allocator, ever */

static void *resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  (void)user;
  asked += new_bytes > old_bytes ? new_bytes - old_bytes : 0;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

/* --- programs --------------------------------------------------------------------------------- */
typedef void maker(fnz_buffer *t, int n);

#define ADD(t, ...) OK(ctx, fnzi_printf(ctx, t, __VA_ARGS__))

static const char *turned(int i) {
  return i % 2 ? "f32[2,3]" : "f32[3,2] stride(1,3)";
}

static void views(fnz_buffer *t, int n) {
  ADD(t, "fnz 1\nprogram(%%x: f32[2,3]) {\n%%v0: %s = t(%%x)\n", turned(0));
  for (int i = 1; i < n; i++)
    ADD(t, "%%v%d: %s = t(%%v%d)\n", i, turned(i), i - 1);
}

/* A chain of views, written at both ends now and then. */
static void chain(fnz_buffer *t, int n) {
  ADD(t, "fnz 1\nprogram(%%x: f32[2,3]) {\n%%v0: %s = t(%%x)\n", turned(0));
  for (int i = 1; i < n; i++) {
    ADD(t, "%%v%d: %s = t(%%v%d)\n", i, turned(i), i - 1);
    if (i % 50 == 49)
      ADD(t, "%%a%d: f32[2,3] = add_.Scalar(%%x, 1)\n%%b%d: %s = mul_.Scalar(%%v%d, 2)\n", i, i,
          turned(i), i);
  }
  ADD(t, "return %%x\n}\n");
}

/* A chain of views, then as many writes at its two ends in turn: replayed view by view, that is the
 * square of it. */
static void bomb(fnz_buffer *t, int n) {
  views(t, n);
  for (int i = 0; i < n / 2; i++)
    ADD(t, "%%a%d: f32[2,3] = add_.Scalar(%%x, 1)\n%%b%d: %s = mul_.Scalar(%%v%d, 2)\n", i, i,
        turned(n - 1), n - 1);
  ADD(t, "return %%x\n}\n");
}

/* Each view is the one before without its first element; all of them are written. */
static void staircase(fnz_buffer *t, int n) {
  ADD(t, "fnz 1\nprogram(%%v0: f32[%d]) {\n", n + 1);
  for (int i = 1; i <= n; i++)
    ADD(t, "%%v%d: f32[%d] offset(%d) = slice.Tensor(%%v%d, 0, 1)\n", i, n + 1 - i, i, i - 1);
  for (int i = 1; i <= n; i++)
    ADD(t, "%%a%d: f32[%d] offset(%d) = add_.Scalar(%%v%d, 1)\n", i, n + 1 - i, i, i);
  ADD(t, "return %%v0\n}\n");
}

/* Windows side by side, written one after the other, and everything read in between. */
static void pieces(fnz_buffer *t, int n) {
  ADD(t, "fnz 1\nprogram(%%x: f32[%d,2]) {\n", n);
  for (int i = 0; i < n; i++)
    ADD(t, "%%v%d: f32[2] offset(%d) = select.int(%%x, 0, %d)\n", i, 2 * i, i);
  for (int i = 0; i < n; i++)
    ADD(t, "%%a%d: f32[2] offset(%d) = add_.Scalar(%%v%d, 1)\n%%r%d: f32[] = sum(%%x)\n", i, 2 * i,
        i, i);
  ADD(t, "return %%x, %%r%d\n}\n", n - 1);
}

/* Windows that overlap their neighbours; others are read than were written. */
static void tiles(fnz_buffer *t, int n) {
  ADD(t, "fnz 1\nprogram(%%x: f32[%d]) {\n", n + 2);
  for (int i = 0; i < n; i++)
    ADD(t, "%%v%d: f32[2] offset(%d) = slice.Tensor(%%x, 0, %d, %d)\n", i, i, i, i + 2);
  for (int i = 0; i < n; i++)
    ADD(t, "%%a%d: f32[2] offset(%d) = add_.Scalar(%%v%d, 1)\n%%b%d: f32[2] = neg(%%v%d)\n", i, i,
        i, i, (int)((long long)i * 7919 % n));
  ADD(t, "return %%x, %%b%d\n}\n", n - 1);
}

/* Many inputs, all written; many outputs. */
static void inputs(fnz_buffer *t, int n) {
  ADD(t, "fnz 1\nprogram(");
  for (int i = 0; i < n; i++)
    ADD(t, "%s%%x%d: f32[%d]", i ? ",\n" : "", i, i + 1);
  ADD(t, ") {\n");
  for (int i = 0; i < n; i++)
    ADD(t, "%%y%d: f32[%d] = add_.Scalar(%%x%d, 1)\n", i, i + 1, i);
  ADD(t, "return ");
  for (int i = 0; i < n; i++)
    ADD(t, "%s%%x%d", i ? ",\n" : "", i);
  ADD(t, "\n}\n");
}

/* Bodies, two for each node. */
static void bodies(fnz_buffer *t, int n) {
  ADD(t, "fnz 1\nprogram(%%x: f32[2], %%p: bool[]) {\n");
  for (int i = 0; i < n; i++)
    ADD(t, "[%%y%d: f32[2]] = higher_order.cond(%%p, @t%d, @f%d, [%%x])\n", i, i, i);
  ADD(t, "return %%y%d\n}\n", n - 1);
  for (int i = 0; i < n; i++)
    ADD(t,
        "graph t%d(%%q: f32[2]) {\n%%w: f32[2] = neg(%%q)\nreturn %%w\n}\n"
        "graph f%d(%%q: f32[2]) {\n%%w: f32[2] = abs(%%q)\nreturn %%w\n}\n",
        i, i);
}

/* One list of many, written as a whole. */
static void lists(fnz_buffer *t, int n) {
  ADD(t, "fnz 1\nprogram(%%x: f32[%d]) {\n", n);
  for (int i = 0; i < n; i++)
    ADD(t, "%%v%d: f32[1] offset(%d) = slice.Tensor(%%x, 0, %d, %d)\n", i, i, i, i + 1);
  ADD(t, "_foreach_add_.Scalar([");
  for (int i = 0; i < n; i++)
    ADD(t, "%s%%v%d", i ? ",\n" : "", i);
  ADD(t, "], 1)\nreturn %%x\n}\n");
}

/* --- what it costs
 * --------------------------------------------------------------------------------- */
typedef struct cost {
  maker *make;
  int n;
  size_t bytes, nodes_in, nodes_out, bytes_out;
  uint64_t asked;
} cost;

static size_t nodes_of(const fnz_program *p) {
  size_t count = 0;
  for (size_t i = 0; i < fnz_graph_count(p); i++)
    count += fnz_node_count(p, i);
  return count;
}

/* Reads, functionalizes, writes, and reads what was written. Running is left out: the elements of a
 * staircase are the square of its steps. */
static void *convert(void *user) {
  cost *c = user;
  fnz_program *p, *made, *again;
  fnz_buffer text = {NULL, 0, 0}, out = {NULL, 0, 0};
  c->make(&text, c->n);
  c->bytes = text.size;
  asked = 0;
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &made));
  OK(ctx, fnz_program_write(ctx, made, FNZ_FORMAT_CBOR, &out));
  OK(ctx, fnz_program_read(ctx, out.data, out.size, FNZ_FORMAT_CBOR, &again));
  c->asked = asked;
  c->nodes_in = nodes_of(p);
  c->nodes_out = nodes_of(again);
  c->bytes_out = out.size;
  fnz_program_destroy(again);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &out);
  fnz_buffer_free(ctx, &text);
  return NULL;
}

static void measure(cost *c) {
  fnz_allocator counting = {resize, NULL};
  ck_assert_int_eq(fnz_context_create(&counting, &ctx), FNZ_OK);
  on_stack(STACK, convert, c);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  ck_assert_uint_gt(c->nodes_in, 0);
  ck_assert_uint_le(c->nodes_out, 4 * c->nodes_in + 1024);
  fnz_context_destroy(ctx);
}

/* Four times the program costs at most five times as much: tables double, so it is not exact. */
static void grows_linearly(const char *name, maker *make, int n) {
  cost one = {.make = make, .n = n}, four = one;
  four.n = 4 * n;
  measure(&one);
  measure(&four);
  ck_assert_msg(four.asked <= 5 * one.asked + (1 << 20), "%s: %llu bytes asked for, then %llu",
                name, (unsigned long long)one.asked, (unsigned long long)four.asked);
  ck_assert_msg(four.nodes_out <= 5 * one.nodes_out + 16, "%s: %zu nodes, then %zu", name,
                one.nodes_out, four.nodes_out);
  ck_assert_msg(four.bytes_out <= 5 * one.bytes_out + 256, "%s: %zu bytes, then %zu", name,
                one.bytes_out, four.bytes_out);
}

START_TEST(chains) {
  grows_linearly("chain", chain, 2 * LARGE);
  grows_linearly("bomb", bomb, 2 * LARGE);
  grows_linearly("staircase", staircase, LARGE);
}
END_TEST

START_TEST(windows) {
  grows_linearly("pieces", pieces, LARGE / 2);
  grows_linearly("tiles", tiles, LARGE / 2);
  grows_linearly("lists", lists, LARGE);
}
END_TEST

START_TEST(tables) {
  grows_linearly("inputs", inputs, LARGE / 2);
  grows_linearly("bodies", bodies, LARGE / 4);
}
END_TEST

START_TEST(a_million_views) {
  cost c = {.make = chain, .n = MILLION};
  measure(&c);
  ck_assert_uint_ge(c.nodes_in, MILLION);
  ck_assert_uint_lt(c.asked, 1500 * (uint64_t)c.nodes_in);
}
END_TEST

START_TEST(a_large_bomb) {
  cost c = {.make = bomb, .n = MILLION / 10};
  measure(&c);
  ck_assert_uint_ge(c.nodes_in, 2 * (MILLION / 10));
  ck_assert_uint_lt(c.asked, 3000 * (uint64_t)c.nodes_in);
}
END_TEST

/* --- names that were chosen to collide
 * -------------------------------------------------------------- */
enum { NAMES = 1000, PLACES = 1024, KEYS = 20, DEEP = 12 };

/* How many of the names fall into the fullest place of a table of as many places as names: names
 * by chance, about 6. */
static int fullest(const fnz_context *of, char (*names)[16]) {
  int places[PLACES] = {0}, most = 0;
  for (int i = 0; i < NAMES; i++) {
    int *place = &places[fnzi_hash(of, names[i], strlen(names[i])) % PLACES];
    *place += 1;
    most = *place > most ? *place : most;
  }
  return most;
}

/* Names that all fall into one place, for an attacker who knows the context's key. */
static void forge(const fnz_context *of, char (*names)[16]) {
  for (int i = 0, tried = 0; i < NAMES; tried++) {
    snprintf(names[i], sizeof *names, "name%d", tried);
    i += fnzi_hash(of, names[i], strlen(names[i])) % PLACES == 0;
  }
}

START_TEST(chosen_names) {
  char names[NAMES][16];
  fnz_context *known;
  ck_assert_int_eq(fnz_context_create(NULL, &known), FNZ_OK);
  forge(known, names);
  ck_assert_int_eq(fullest(known, names), NAMES);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  ck_assert_int_lt(fullest(ctx, names), DEEP);
  fnz_context_destroy(known);
  fnz_context_destroy(ctx);
}
END_TEST

/* Names that differ in a few bytes, early or late, and sums: under any key they must not meet. */
START_TEST(names_that_are_alike) {
  static const char *const forms[] = {"%c%c",       "aaaaa%c%c",     "aaaaaa%c%c",
                                      "%c%caaaaaa", "aaaaaaa%c%caa", "aaaaaaaaaaaa%c%c",
                                      "%caaaaaaa%c"};
  char names[NAMES][16];
  for (size_t form = 0; form <= sizeof forms / sizeof *forms; form++) {
    for (int i = 0; i < NAMES; i++)
      if (form < sizeof forms / sizeof *forms)
        snprintf(names[i], sizeof *names, forms[form], 'A' + i / 40, 'A' + i % 40);
      else
        snprintf(names[i], sizeof *names, "a + %d", 10000 + i);
    for (int key = 0; key < KEYS; key++) {
      ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
      ck_assert_int_lt(fullest(ctx, names), DEEP);
      fnz_context_destroy(ctx);
    }
  }
}
END_TEST

/* One bit of a word and the bits that it comes to in the next one: no difference may go away. */
START_TEST(differences_that_meet) {
  for (int key = 0; key < KEYS; key++) {
    ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
    uint64_t word[2] = {1, 2}, other[2] = {1 ^ 1ull << 63, 2 ^ 1ull << 63 ^ 1ull << 31};
    ck_assert_uint_ne(fnzi_hash(ctx, word, sizeof word), fnzi_hash(ctx, other, sizeof other));
    fnz_context_destroy(ctx);
  }
}
END_TEST

RUN_SUITE("adversarial programs", chosen_names, names_that_are_alike, differences_that_meet, chains,
          windows, tables, a_million_views, a_large_bomb)
