/* words.h - a few symbols with ranges, small numbers for them, and words (program/shapes/int.h) at
 * these numbers. */
#ifndef FNZ_TESTS_HELP_WORDS_H
#define FNZ_TESTS_HELP_WORDS_H

#include "program/shapes/ints.h"
#include "soak/choices.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>
#include <stdio.h>

enum { SYMBOLS = 3, POINTS = 64 };
static const int64_t NO_VALUE = INT64_MIN; /* a division by zero, or one that is not allowed */

typedef struct words {
  fnz_context *ctx;
  fnzi_exprs set;
  fnzi_ints ints;
  fnzi_arena arena;
  size_t nsymbols, npoints;
  fnzi_int symbols[SYMBOLS];
  int64_t numbers[SYMBOLS][POINTS];
  fnzi_point points[POINTS];
  bool kept[POINTS]; /* the point keeps to the facts */
  bool bounded;      /* the ranges have ends, so that the points are all there are */
  char told[1000];   /* the ranges and facts */
} words;

static inline const char *word_text(const words *w, fnzi_int a, char out[FNZI_INT_WORDS]) {
  return fnzi_int_put(&w->ints, a, out);
}
#define WORD(w, a) word_text(w, a, (char[FNZI_INT_WORDS]){0})

static inline void words_tell(words *w, const char *text) {
  strncat(w->told, text, sizeof w->told - strlen(w->told) - 1);
}

/* The number of a word at a point; NO_VALUE where it has none. */
static inline int64_t word_at(words *w, fnzi_int a, size_t point) {
  const fnzi_expr *e;
  int64_t value;
  bool known;
  if (fnzi_int_is_number(a))
    return a.bits;
  OK(w->ctx, fnzi_ints_expr(&w->ints, a, &e));
  OK(w->ctx, fnzi_point_int(&w->points[point], e, &known, &value));
  return known ? value : NO_VALUE;
}

static inline void words_add_symbol(words *w, size_t k, int64_t least, size_t side) {
  const fnzi_expr *e;
  char name[8], text[80];
  snprintf(name, sizeof name, "s%zu", k);
  OK(w->ctx, fnzi_expr_symbol(&w->set, name, strlen(name), &e));
  const int64_t last = least + (int64_t)side - 1;
  OK(w->ctx, fnzi_size_facts_add_range(&w->ints.facts, e, least, w->bounded ? last : INT64_MAX));
  w->symbols[k] = fnzi_ints_word(e);
  snprintf(text, sizeof text, "%s from %lld to %lld%s; ", name, (long long)least, (long long)last,
           w->bounded ? "" : " and more");
  words_tell(w, text);
}

/* Up to three symbols from `least` or a little more on. */
static inline void words_open(words *w, choices *c, size_t count, int64_t least) {
  static const size_t sides[] = {9, 6, 4};
  const size_t side = sides[count - 1];
  *w = (words){.nsymbols = count, .npoints = 1, .bounded = choose(c, 2)};
  OK(NULL, fnz_context_create(NULL, &w->ctx));
  fnzi_exprs_init(&w->set, w->ctx);
  w->ints.set = &w->set;
  fnzi_arena_init(&w->ints.arena, w->ctx);
  fnzi_arena_init(&w->arena, w->ctx);
  fnzi_size_facts_init(&w->ints.facts, &w->set);
  for (size_t k = 0; k < count; k++) {
    const int64_t first = least + choose(c, 3);
    words_add_symbol(w, k, first, side);
    for (size_t i = 0, below = w->npoints; i < POINTS; i++)
      w->numbers[k][i] = first + (int64_t)(i / below % side);
    w->npoints *= side;
  }
  for (size_t i = 0; i < w->npoints; i++) {
    w->kept[i] = true;
    fnzi_point_init(&w->points[i], &w->set);
    for (size_t k = 0; k < count; k++)
      OK(w->ctx, fnzi_point_set(&w->points[i], w->set.all.data[w->symbols[k].bits - FNZI_INT_LIMIT],
                                w->numbers[k][i]));
  }
}

static inline void words_close(words *w) {
  ck_assert_int_eq(w->ints.status, FNZ_OK);
  for (size_t i = 0; i < w->npoints; i++)
    fnzi_point_free(&w->points[i]);
  fnzi_ints_close(&w->ints);
  fnzi_arena_free(&w->arena);
  fnzi_exprs_free(&w->set);
  fnz_context_destroy(w->ctx);
}

/* A guard of the program: GE or EQ of two words, unless it leaves too few points. */
static inline void words_guard(words *w, fnzi_function relation, fnzi_int a, fnzi_int b) {
  const fnzi_expr *args[2], *condition;
  bool keep[POINTS];
  char text[300];
  size_t left = 0;
  for (size_t i = 0; i < w->npoints; i++) {
    const int64_t x = word_at(w, a, i), y = word_at(w, b, i);
    keep[i] = w->kept[i] && x != NO_VALUE && y != NO_VALUE &&
              (relation == FNZI_FUNCTION_GE ? x >= y : x == y);
    left += keep[i];
  }
  OK(w->ctx, fnzi_ints_expr(&w->ints, a, &args[0]));
  OK(w->ctx, fnzi_ints_expr(&w->ints, b, &args[1]));
  OK(w->ctx, fnzi_expr_call(&w->set, relation, args, 2, &condition));
  if (left < 3 || condition->kind == FNZI_EXPR_NUMBER)
    return;
  OK(w->ctx, fnzi_size_facts_add_condition(&w->ints.facts, condition));
  memcpy(w->kept, keep, sizeof keep);
  snprintf(text, sizeof text, "%s %s %s; ", WORD(w, a),
           relation == FNZI_FUNCTION_GE ? ">=" : "==", WORD(w, b));
  words_tell(w, text);
}

#endif
