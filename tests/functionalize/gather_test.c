/* checks: 4
 * gather_test.c - more writes to one memory than may be dirty at once: whatever pieces they write,
 * in whatever order, with reads in between, each dialect means what eager does; and where the
 * pieces cover the memory, they cost one node. */
#include "base/watched.h"
#include "program/program.h"
#include "soak/judge.h"
#include "soak/programs.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <stdarg.h>
#include <stdio.h>

enum { SIDE = 48, TEXT = 1 << 16 };

/* The form of the pieces: rows or columns, with their dimension of 1 or without. */
typedef struct pattern {
  const char *name;
  int dim;
  bool slices;
  const char *dense, *strides; /* the type of a copy of one, and what else one has */
} pattern;

static const pattern patterns[] = {{"rows, selected", 0, false, "f32[48]", ""},
                                   {"columns, selected", 1, false, "f32[48]", "stride(48)"},
                                   {"rows, sliced", 0, true, "f32[1,48]", ""},
                                   {"columns, sliced", 1, true, "f32[48,1]", "stride(48,1)"}};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* In which order places are written, and which of them. */
typedef int an_order(int k);
static int in_turn(int k) {
  return k % SIDE;
}
static int backwards(int k) {
  return SIDE - 1 - k % SIDE;
}
static int shuffled(int k) {
  return k * 29 % SIDE;
}
static int all_but_one(int k) {
  return k % (SIDE - 1) + 1;
}
static int first_ones_twice(int k) {
  return k % (SIDE - 7);
}
static int last_one_first(int k) {
  return (k + SIDE - 1) % SIDE;
}
static an_order *const orders[] = {in_turn,     backwards,        shuffled,
                                   all_but_one, first_ones_twice, last_one_first};
enum { ORDERS = sizeof orders / sizeof *orders };

typedef struct text {
  char data[TEXT];
  int count;
} text;

static void add(text *t, const char *format, ...) FNZI_PRINTF(2, 3);
static void add(text *t, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  t->count += vsnprintf(t->data + t->count, (size_t)(TEXT - t->count), format, ap);
  va_end(ap);
  ck_assert_int_lt(t->count, TEXT);
}

/* Write k, which reads what was written `far` writes ago, if that is not 0. */
static void add_write(text *t, const pattern *p, an_order *order, int k, int far) {
  char type[64];
  int i = order(k);
  snprintf(type, sizeof type, "%s %s offset(%d)", p->dense, p->strides, p->dim ? i : i * SIDE);
  if (p->slices)
    add(t, "%%v%d: %s = slice.Tensor(%%x, %d, %d, %d)  at \"m.py:%d\"\n", k, type, p->dim, i, i + 1,
        k);
  else
    add(t, "%%v%d: %s = select.int(%%x, %d, %d)  at \"m.py:%d\"\n", k, type, p->dim, i, k);
  if (far && k >= far)
    add(t,
        "%%n%d: %s = neg(%%v%d)  at \"m.py:%d\"\n"
        "%%w%d: %s = copy_(%%v%d, %%n%d)  at \"m.py:%d\"\n",
        k, p->dense, k - far, k, k, type, k, k, k);
  else
    add(t, "%%w%d: %s = add_.Scalar(%%v%d, %d)  at \"m.py:%d\"\n", k, type, k, k + 1, k);
}

/* `ending`: the nodes after the writes. */
static fnz_program *write_pieces(const pattern *p, an_order *order, int count, int far,
                                 const char *ending) {
  static text t;
  fnz_program *out;
  t.count = 0;
  add(&t, "fnz 1\nprogram(%%x: f32[48,48])\n{\n");
  for (int k = 0; k < count; k++)
    add_write(&t, p, order, k, far);
  add(&t, "%s\n}\n", ending);
  OK(ctx, fnz_program_read(ctx, t.data, (size_t)t.count, FNZ_FORMAT_TEXT, &out));
  return out;
}

static void mean_the_same(fnzi_judge *judge, const pattern *p, an_order *order, int count, int far,
                          const char *ending) {
  fnz_arrays *inputs;
  fnz_program *program = write_pieces(p, order, count, far, ending);
  OK(ctx, fnzi_random_inputs(ctx, program, 7, &inputs));
  ck_assert_msg(fnzi_judge_program(judge, program, inputs, FNZI_CHECK_ALL) == FNZI_VERDICT_EQUAL,
                "%s, %d writes, reading %d back: %s", p->name, count, far, judge->reason);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(program);
}

START_TEST(any_order_means_the_same) {
  static const int counts[] = {33, SIDE, 2 * SIDE}, fars[] = {0, 1, 40};
  fnzi_judge *judge;
  begin();
  OK(ctx, fnzi_judge_create(ctx, &judge));
  for (int p = 0; p < PATTERNS; p++)
    for (int o = 0; o < ORDERS; o++)
      for (int k = 0; k < 9; k += FNZI_WATCHED ? 4 : 1) /* there all takes a minute */
        mean_the_same(judge, &patterns[p], orders[o], counts[k % 3], fars[k / 3], "return %x");
  fnzi_judge_destroy(judge);
  end();
}
END_TEST

/* Reads through other views, one of them apart from all pieces that wait. */
START_TEST(what_is_read_beside_them) {
  static const char *const endings[] = {
      "%a: f32[48,2] stride(48,1) = slice.Tensor(%x, 1, 0, 2)  at \"m.py:90\"\n"
      "%b: f32[2,2] stride(48,1) offset(2208) = slice.Tensor(%a, 0, 46, 48)  at \"m.py:91\"\n"
      "%c: f32[2,2] = neg(%b)  at \"m.py:92\"\n"
      "%d: f32[48,2] = neg(%a)  at \"m.py:93\"\n"
      "return %c, %d",
      "%a: f32[48,48] stride(1,48) = t(%x)  at \"m.py:90\"\n"
      "%b: f32[48] stride(48) offset(47) = select.int(%a, 0, 47)  at \"m.py:91\"\n"
      "%c: f32[48] = neg(%b)  at \"m.py:92\"\n"
      "%d: f32[48,48] stride(1,48) = neg(%a)  at \"m.py:93\"\n"
      "return %c, %d",
      "%a: f32[48,48] = add_.Scalar(%x, 7)  at \"m.py:90\"\n"
      "return %x",
      "%a: f32[8,48] offset(1920) = slice.Tensor(%x, 0, 40, 48)  at \"m.py:90\"\n"
      "%b: f32[7] stride(49) offset(1961) = diagonal(%a, 41)  at \"m.py:91\"\n"
      "%c: f32[7] = neg(%b)  at \"m.py:92\"\n"
      "%d: f32[8,48] = neg(%a)  at \"m.py:93\"\n"
      "return %c, %d",
      "%a: f32[24,96] = view(%x, [24, 96])  at \"m.py:90\"\n"
      "%b: f32[96] offset(2208) = select.int(%a, 0, 23)  at \"m.py:91\"\n"
      "%c: f32[96] offset(2208) = add_.Scalar(%b, 7)  at \"m.py:92\"\n"
      "%d: f32[24,96] = neg(%a)  at \"m.py:93\"\n"
      "return %d",
  };
  fnzi_judge *judge;
  begin();
  OK(ctx, fnzi_judge_create(ctx, &judge));
  for (int p = 0; p < PATTERNS; p++)
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
      for (int count = 33; count <= SIDE; count += FNZI_WATCHED ? 15 : 5)
        mean_the_same(judge, &patterns[p], count % 2 ? last_one_first : in_turn, count, 0,
                      endings[e]);
  fnzi_judge_destroy(judge);
  end();
}
END_TEST

/* A view and an addition each, and one node more. */
START_TEST(what_covers_the_memory_is_one_node) {
  begin();
  for (int p = 0; p < PATTERNS; p++)
    for (int o = 0; o < 3; o++) {
      fnz_program *program = write_pieces(&patterns[p], orders[o], SIDE, 0, "return %x"),
                  *functional;
      OK(ctx, fnz_functionalize(ctx, program, NULL, &functional));
      ck_assert_msg(fnz_node_count(functional, 0) == 2 * SIDE + 1, "%s: %zu nodes",
                    patterns[p].name, fnz_node_count(functional, 0));
      fnz_program_destroy(functional);
      fnz_program_destroy(program);
    }
  end();
}
END_TEST

static fnz_status functionalize(fnz_context *c, const void *user) {
  fnz_program *functional;
  fnz_status status = fnz_functionalize(c, user, NULL, &functional);
  fnz_program_destroy(functional);
  return status;
}

START_TEST(out_of_memory) {
  begin();
  for (int k = 0; k < 2; k++) {
    fnz_program *program = write_pieces(&patterns[0], orders[k ? 3 : 0], SIDE, 0, "return %x");
    ck_assert_uint_gt(each_fault(functionalize, program), 20);
    fnz_program_destroy(program);
  }
  end();
}
END_TEST

RUN_SUITE("gather", any_order_means_the_same, what_is_read_beside_them,
          what_covers_the_memory_is_one_node, out_of_memory)
