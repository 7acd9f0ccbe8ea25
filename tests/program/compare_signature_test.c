/* checks: 2
 * compare_signature_test.c - programs whose nodes are the same and that differ in other parts:
 * ranges, guards, weights, and the entries of inputs and outputs in the signature. */
#include "tests/help/test.h"

#include <fnz/fnz.h>

#include <stdio.h>

/* The text before `program`, its inputs, its outputs; the node between is always the same. */
typedef struct form {
  const char *head, *inputs, *outputs;
} form;

#define PLAIN                                                                                      \
  { "", "%x: f32[2]", "%y" }
#define WEIGHT(spec)                                                                               \
  { "", "%x: f32[2] " spec, "%y" }
#define OUTPUT(said)                                                                               \
  { "", "%x: f32[2]", "%y " said }
#define WINDOW(type)                                                                               \
  { "", "%x: f32[2], %z: f32[4]", "%y in %z as " type }

static const struct {
  form a, b;
  const char *says; /* NULL: nothing is between them */
} pairs[] = {
    {PLAIN, PLAIN, NULL},
    {{"symbol s0 = 4 range s0 2..8\n", "%x: f32[2]", "%y"},
     {"symbol s0 = 4 range s0 2..8\n", "%x: f32[2]", "%y"},
     NULL},
    {{"symbol s0 = 4 range s0 2..8\n", "%x: f32[2]", "%y"},
     {"symbol s0 = 4 range s0 2..9\n", "%x: f32[2]", "%y"},
     "symbol s0 has another range"},
    {{"symbol s0 = 4 range s0 2..8\n", "%x: f32[2]", "%y"}, PLAIN, "symbol s0 has another range"},
    {{"symbol s0 = 4 range s0 2..8\n", "%x: f32[2]", "%y"},
     {"symbol s1 = 4 range s1 2..8\n", "%x: f32[2]", "%y"},
     "has another range"},
    {{"symbol s0 = 4 guard \"s0 >= 3\"\n", "%x: f32[2]", "%y"},
     {"symbol s0 = 4 guard \"s0 >= 3\"\n", "%x: f32[2]", "%y"},
     NULL},
    {{"symbol s0 = 4 guard \"s0 >= 3\"\n", "%x: f32[2]", "%y"},
     {"symbol s0 = 4 guard \"s0 >= 4\"\n", "%x: f32[2]", "%y"},
     "has the guard"},
    {{"symbol s0 = 4 guard \"s0 >= 3\"\n", "%x: f32[2]", "%y"}, PLAIN, "has the guard"},
    {{"guard disjoint \"x\" \"z\"\n", "%x: f32[2], %z: f32[2]", "%y"},
     {"guard disjoint \"x\" \"z\"\n", "%x: f32[2], %z: f32[2]", "%y"},
     NULL},
    /* User inputs go by their places. */
    {{"guard disjoint \"x\" \"z\"\n", "%x: f32[2], %z: f32[2]", "%y"},
     {"guard disjoint \"x\" \"other\"\n", "%x: f32[2], %other: f32[2]", "%y"},
     NULL},
    {{"guard disjoint \"x\" \"z\"\n", "%x: f32[2], %z: f32[2], %w: f32[2]", "%y"},
     {"guard disjoint \"x\" \"w\"\n", "%x: f32[2], %z: f32[2], %w: f32[2]", "%y"},
     "that inputs share no memory"},
    {{"guard disjoint \"x\" \"z\"\n", "%x: f32[2], %z: f32[2]", "%y"},
     {"", "%x: f32[2], %z: f32[2]", "%y"},
     "that inputs share no memory"},
    {WEIGHT("buffer \"b\""), WEIGHT("buffer \"b\""), NULL},
    {WEIGHT("buffer \"b\" persistent"), WEIGHT("buffer \"b\""), "persistent in one program only"},
    {WEIGHT("buffer \"b\""), WEIGHT("parameter \"b\""), "program has buffer b"},
    {WEIGHT("buffer \"b\""), WEIGHT("buffer \"c\""), "program has buffer b"},
    {OUTPUT("loss"), OUTPUT("user"), "kinds: "},
    {{"", "%x: f32[2], %z: f32[2]", "%y input_mutation \"x\""},
     {"", "%x: f32[2], %z: f32[2]", "%y input_mutation \"z\""},
     "of `input 0` and of `input 1`"},
    {OUTPUT("input_mutation \"x\""), OUTPUT("input_mutation \"x\" metadata"),
     "changes sizes or strides"},
    {OUTPUT("new"), OUTPUT("is %x"), "other memory of the original"},
    {WINDOW("f32[2]"), WINDOW("f32[2] offset(1)"), "other memory of the original"},
    {WINDOW("f32[2] offset(1)"), WINDOW("f32[2] offset(1)"), NULL},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static fnz_program *read_form(fnz_context *ctx, const form *f) {
  char text[1024];
  fnz_program *p;
  int n = snprintf(text, sizeof text,
                   "fnz 1\n%sprogram(%s) {\n  %%y: f32[2] = sin(%%x)\n  return %s\n}\n", f->head,
                   f->inputs, f->outputs);
  OK(ctx, fnz_program_read(ctx, text, (size_t)n, FNZ_FORMAT_TEXT, &p));
  return p;
}

/* Compares the two of a pair, in this order or the other. */
static void check(size_t k, bool swapped) {
  fnz_context *ctx;
  fnz_difference *d;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *a = read_form(ctx, swapped ? &pairs[k].b : &pairs[k].a);
  fnz_program *b = read_form(ctx, swapped ? &pairs[k].a : &pairs[k].b);
  fnz_status status = fnz_program_compare(ctx, a, b, &d);
  ck_assert_msg(status == (pairs[k].says ? FNZ_DIFFERENT : FNZ_OK), "pair %zu: status %d: %s", k,
                (int)status, d ? d->what : "");
  ck_assert_msg(!d == !pairs[k].says, "pair %zu", k);
  if (d && !swapped)
    ck_assert_msg(strstr(d->what, pairs[k].says) != NULL, "pair %zu: \"%s\", not \"%s\"", k,
                  d->what, pairs[k].says);
  fnz_difference_destroy(d);
  fnz_program_destroy(a);
  fnz_program_destroy(b);
  fnz_context_destroy(ctx);
}

START_TEST(differences_around_the_nodes_are_told) {
  for (size_t k = 0; k < PAIRS; k++)
    check(k, false);
}
END_TEST

START_TEST(which_one_is_first_does_not_matter) {
  for (size_t k = 0; k < PAIRS; k++)
    check(k, true);
}
END_TEST

RUN_SUITE("compare_signature", differences_around_the_nodes_are_told,
          which_one_is_first_does_not_matter)
