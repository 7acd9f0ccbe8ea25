/* checks: 3
 * int_test.c - words that are numbers or expressions, and geometries of them, against plain
 * arithmetic at all small numbers of the symbols. */
#include "program/shapes/int.h"
#include "tests/help/memory.h"
#include "tests/help/words.h"

/* --- numbers at the borders ------------------------------------------------------------------- */
static const int64_t BORDER = (int64_t)1 << 61;
static const int64_t numbers[] = {0,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  3,
                                  7,
                                  -7,
                                  1 << 20,
                                  -(1 << 20),
                                  1 << 30,
                                  ((int64_t)1 << 31) + 1,
                                  BORDER / 2,
                                  -BORDER / 2,
                                  BORDER / 2 - 1,
                                  BORDER / 2 + 1,
                                  BORDER - 1,
                                  -BORDER,
                                  BORDER - 2,
                                  1 - BORDER};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static bool has_word(int64_t n) {
  return n >= -BORDER && n < BORDER;
}

/* a * b has a word. */
static bool has_product(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return true;
  const uint64_t x = (uint64_t)(a < 0 ? -a : a), y = (uint64_t)(b < 0 ? -b : b);
  const uint64_t most = (uint64_t)BORDER - ((a < 0) == (b < 0));
  return x <= most / y;
}

static void check_border(fnzi_int told, bool fits, int64_t is, const char *what, size_t i,
                         size_t k) {
  const bool right = fits ? fnzi_int_is_number(told) && told.bits == is : fnzi_int_is_none(told);
  ck_assert_msg(right, "%s of %lld and %lld: told %lld", what, (long long)numbers[i],
                (long long)numbers[k], (long long)told.bits);
}

static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static void check_numbers(fnzi_ints *s, size_t i, size_t k) {
  const int64_t a = numbers[i], b = numbers[k];
  const fnzi_int x = fnzi_int_of(a), y = fnzi_int_of(b), none = FNZI_INT_NONE;
  const bool fits = has_product(a, b);
  check_border(fnzi_int_add(s, x, y), has_word(a + b), a + b, "the sum", i, k);
  check_border(fnzi_int_sub(s, x, y), has_word(a - b), a - b, "the difference", i, k);
  check_border(fnzi_int_mul(s, x, y), fits, fits ? a * b : 0, "the product", i, k);
  check_border(fnzi_int_min(s, x, y), true, a < b ? a : b, "the minimum", i, k);
  check_border(fnzi_int_max(s, x, y), true, a > b ? a : b, "the maximum", i, k);
  if (b > 0) {
    check_border(fnzi_int_div_down(s, x, y), true, floor_of(a, b), "the quotient", i, k);
    check_border(fnzi_int_div_up(s, x, y), true, -floor_of(-a, b), "the quotient, up", i, k);
    ck_assert_int_eq(fnzi_int_is_multiple(s, x, y), a % b == 0);
  }
  ck_assert_int_eq(fnzi_int_is_less(s, x, y), a < b);
  ck_assert_int_eq(fnzi_int_is_at_least(s, x, y), a >= b);
  if (!s) /* without a set only results are looked at */
    return;
  ck_assert(fnzi_int_is_none(fnzi_int_add(s, x, none)));
  ck_assert(fnzi_int_is_none(fnzi_int_sub(s, none, x)));
  ck_assert(fnzi_int_is_none(fnzi_int_mul(s, none, x)));
  ck_assert(!fnzi_int_is_less(s, none, x) && !fnzi_int_is_less(s, x, none));
  ck_assert(!fnzi_int_is_at_least(s, none, x) && !fnzi_int_is_at_least(s, x, none));
}

START_TEST(numbers_end_at_the_borders) {
  static words w;
  choices c;
  choices_start(&c, 1, 0);
  words_open(&w, &c, 1, 0);
  for (size_t i = 0; i < NUMBERS; i++)
    for (size_t k = 0; k < NUMBERS; k++) {
      check_numbers(NULL, i, k);
      check_numbers(&w.ints, i, k);
    }
  ck_assert(fnzi_int_is(fnzi_int_of(INT64_MAX), BORDER - 1));
  ck_assert(fnzi_int_is(fnzi_int_of(INT64_MIN), -BORDER));
  ck_assert(!fnzi_int_is_number((fnzi_int){BORDER}) && !fnzi_int_is_number(FNZI_INT_NONE));
  ck_assert(!fnzi_int_is_number(w.symbols[0]) && !fnzi_int_is_none(w.symbols[0]));
  words_close(&w);
}
END_TEST

/* --- a pool of words -------------------------------------------------------------------------- */
enum { POOL = 14, LARGEST = 100000 };

typedef struct member {
  fnzi_int word;
  int64_t at[POINTS];
} member;

typedef struct pool {
  words w;
  member members[POOL];
  size_t count;
} pool;

typedef struct tally {
  size_t asked, yes, so, missed; /* so: at all numbers there are; missed: of these not proved */
} tally;

typedef enum op { ADD, SUB, MUL, DOWN, UP, MIN, MAX, FROM_END } op;

static int64_t apply(op o, int64_t a, int64_t b) {
  if (a == NO_VALUE || b == NO_VALUE || ((o == DOWN || o == UP) && b < 1))
    return NO_VALUE;
  switch (o) {
  case ADD:
    return a + b;
  case SUB:
    return a - b;
  case MUL:
    return a * b;
  case DOWN:
    return floor_of(a, b);
  case UP:
    return -floor_of(-a, b);
  case MIN:
    return a < b ? a : b;
  case MAX:
    return a > b ? a : b;
  default:
    return a < 0 ? a + b : a;
  }
}

static fnzi_int compute(fnzi_ints *s, op o, fnzi_int a, fnzi_int b) {
  static fnzi_int (*const functions[])(fnzi_ints *, fnzi_int,
                                       fnzi_int) = {[DOWN] = fnzi_int_div_down,
                                                    [UP] = fnzi_int_div_up,
                                                    [MIN] = fnzi_int_min,
                                                    [MAX] = fnzi_int_max,
                                                    [FROM_END] = fnzi_int_from_end};
  return o == ADD   ? fnzi_int_add(s, a, b)
         : o == SUB ? fnzi_int_sub(s, a, b)
         : o == MUL ? fnzi_int_mul(s, a, b)
                    : functions[o](s, a, b);
}

/* The word is this number at each point that keeps to the facts. */
static void check_values(pool *p, fnzi_int word, const int64_t *at, const char *what) {
  for (size_t i = 0; i < p->w.npoints; i++) {
    if (!p->w.kept[i] || at[i] == NO_VALUE)
      continue;
    const int64_t told = word_at(&p->w, word, i);
    ck_assert_msg(told == at[i], "%s, %s, is %lld and not %lld at s0 = %lld: %s", what,
                  WORD(&p->w, word), (long long)told, (long long)at[i],
                  (long long)p->w.numbers[0][i], p->w.told);
  }
}

/* Leaves the pool as it is where a number is large, or has no value anywhere. */
static void add_member(pool *p, choices *c) {
  static const op often[] = {ADD, ADD, SUB, SUB, MUL, MUL, DOWN, UP, MIN, MAX, FROM_END};
  const op o = often[choose(c, sizeof often / sizeof *often)];
  const member *a = &p->members[choose(c, (uint32_t)p->count)],
               *b = &p->members[choose(c, (uint32_t)p->count)];
  member *m = &p->members[p->count];
  bool any = false;
  for (size_t i = 0; i < p->w.npoints; i++) {
    m->at[i] = apply(o, a->at[i], b->at[i]);
    any = any || m->at[i] != NO_VALUE;
    if (m->at[i] != NO_VALUE && (m->at[i] > LARGEST || m->at[i] < -LARGEST))
      return;
  }
  if (!any || (fnzi_int_is_number(b->word) && b->word.bits < 1 && (o == DOWN || o == UP)))
    return;
  m->word = compute(&p->w.ints, o, a->word, b->word);
  if (fnzi_int_is_none(m->word)) { /* an index of an unknown sign; nothing else here is large */
    ck_assert_int_eq(o, FROM_END);
    return;
  }
  char what[300];
  snprintf(what, sizeof what, "operation %d of %s and %s", o, WORD(&p->w, a->word),
           WORD(&p->w, b->word));
  check_values(p, m->word, m->at, what);
  p->count++;
}

static void add_known(pool *p, fnzi_int word) {
  member *m = &p->members[p->count++];
  m->word = word;
  for (size_t i = 0; i < p->w.npoints; i++)
    m->at[i] = word_at(&p->w, word, i);
}

/* --- questions -------------------------------------------------------------------------------- */
typedef enum question { LESS, AT_LEAST, MULTIPLE, SAME, QUESTIONS } question;

static bool holds(question q, int64_t a, int64_t b) {
  return q == LESS ? a < b : q == AT_LEAST ? a >= b : q == MULTIPLE ? a % b == 0 : a == b;
}

static bool is_told(fnzi_ints *s, question q, fnzi_int a, fnzi_int b) {
  return q == LESS       ? fnzi_int_is_less(s, a, b)
         : q == AT_LEAST ? fnzi_int_is_at_least(s, a, b)
         : q == MULTIPLE ? fnzi_int_is_multiple(s, a, b)
                         : fnzi_int_same(a, b);
}

static void ask(pool *p, question q, const member *a, const member *b, tally *sum) {
  const bool by_number = q == MULTIPLE && fnzi_int_is_number(b->word);
  size_t yes = 0, no = 0;
  if (by_number && b->word.bits < 1)
    return;
  const bool told = is_told(&p->w.ints, q, a->word, b->word);
  for (size_t i = 0; i < p->w.npoints; i++)
    if (p->w.kept[i] && a->at[i] != NO_VALUE && b->at[i] != NO_VALUE &&
        (q != MULTIPLE || b->at[i] > 0))
      ++*(holds(q, a->at[i], b->at[i]) ? &yes : &no);
  ck_assert_msg(!told || !no, "question %d of %s and %s: yes, but not at %zu of %zu points: %s", q,
                WORD(&p->w, a->word), WORD(&p->w, b->word), no, yes + no, p->w.told);
  sum->asked++;
  sum->yes += told;
  sum->so += !no && yes && p->w.bounded;
  sum->missed += !told && !no && yes && p->w.bounded;
}

/* Two words that are equal somewhere are equal from now on. */
static void assume(pool *p, choices *c) {
  const member *a = &p->members[choose(c, (uint32_t)p->count)],
               *b = &p->members[choose(c, (uint32_t)p->count)];
  bool keep[POINTS] = {false};
  size_t left = 0;
  for (size_t i = 0; i < p->w.npoints; i++) {
    keep[i] = p->w.kept[i] && a->at[i] != NO_VALUE && a->at[i] == b->at[i];
    left += keep[i];
  }
  if (left < 3)
    return;
  fnzi_int_assume_same(&p->w.ints, a->word, b->word);
  memcpy(p->w.kept, keep, sizeof keep);
  words_tell(&p->w, WORD(&p->w, a->word));
  words_tell(&p->w, " is ");
  words_tell(&p->w, WORD(&p->w, b->word));
  words_tell(&p->w, "; ");
}

static void open_pool(pool *p, choices *c, int64_t least) {
  p->count = 0;
  words_open(&p->w, c, 1 + choose(c, SYMBOLS), least);
  for (size_t k = 0; k < p->w.nsymbols; k++)
    add_known(p, p->w.symbols[k]);
  add_known(p, fnzi_int_of(choose(c, 3)));
  add_known(p, fnzi_int_of(2 + choose(c, 4)));
}

/* Most answers that are true at all numbers are proved. */
static void check_tally(const tally *t, const char *what, size_t share) {
  if (getenv("FNZ_TALLY"))
    printf("%s: %zu asked, %zu yes; in boxes %zu are so, %zu of them missed\n", what, t->asked,
           t->yes, t->so, t->missed);
  ck_assert_msg(t->yes > 100 && t->so > 100, "%s: only %zu yes", what, t->yes);
  ck_assert_msg(t->missed * 100 < t->so * share, "%s: %zu of %zu missed", what, t->missed, t->so);
}

START_TEST(answers_hold_at_all_numbers) {
  static pool p;
  static choices c;
  tally sums[QUESTIONS] = {{0}};
  for (uint64_t i = 0; i < 800; i++) {
    choices_start(&c, 2, i);
    open_pool(&p, &c, perhaps(&c, 30) ? -2 : 0);
    for (size_t round = 0; round < 2; round++) {
      for (size_t tries = 0; p.count < POOL && tries < 10; tries++)
        add_member(&p, &c);
      for (size_t k = 0; k < p.count * p.count; k++) {
        const question q = (question)choose(&c, QUESTIONS);
        ask(&p, q, &p.members[k / p.count], &p.members[k % p.count], &sums[q]);
      }
      assume(&p, &c);
    }
    words_close(&p.w);
  }
  check_tally(&sums[LESS], "less", 20);
  check_tally(&sums[AT_LEAST], "at least", 20);
  check_tally(&sums[MULTIPLE], "multiple", 40);
  check_tally(&sums[SAME], "same", 20);
}
END_TEST

/* --- geometries ------------------------------------------------------------------------------- */
enum { RANK = 4 };

typedef struct layout {
  fnz_geometry g;
  int64_t sizes[RANK], strides[RANK];
} layout;

/* The geometry at a point; false where a word has no value there, or a size is negative. */
static bool evaluate(pool *p, const fnz_geometry *g, size_t point, layout *out) {
  out->g = *g;
  out->g.sizes = out->sizes;
  out->g.strides = out->strides;
  out->g.offset = word_at(&p->w, fnzi_int_offset(g), point);
  bool fits = p->w.kept[point] && out->g.offset >= 0;
  for (uint32_t d = 0; d < g->rank; d++) {
    out->sizes[d] = word_at(&p->w, fnzi_int_size(g, d), point);
    out->strides[d] = word_at(&p->w, fnzi_int_stride(g, d), point);
    fits = fits && out->sizes[d] >= 0 && out->sizes[d] < 50 && out->strides[d] >= 0;
  }
  return fits;
}

static int64_t most_of(const fnz_geometry *g) {
  int64_t last = g->offset;
  for (uint32_t d = 0; d < g->rank; d++)
    last += (g->sizes[d] - 1) * g->strides[d];
  return last + 1;
}

static bool is_in_rows(const fnz_geometry *g) {
  for (int64_t i = 0, n = count_elements(g); i < n; i++)
    if (place_of(g, i) != g->offset + i)
      return false;
  return true;
}

/* The elements fill a range of the memory. */
static bool is_filled(const fnz_geometry *g) {
  static bool seen[1 << 14];
  const int64_t n = count_elements(g);
  if (n >= 1 << 14)
    return true; /* too many to look at */
  memset(seen, 0, (size_t)n);
  for (int64_t i = 0; i < n; i++) {
    const int64_t place = place_of(g, i) - g->offset;
    if (place >= n || seen[place])
      return false;
    seen[place] = true;
  }
  return true;
}

/* Each dimension steps over what the following ones reach, and those left out have one element. */
static bool is_nested(const fnz_geometry *g, const uint32_t *order, uint32_t count) {
  int64_t reach = 1;
  uint32_t listed = 0;
  for (uint32_t k = count; k-- > 0;) {
    if (g->strides[order[k]] < reach)
      return false;
    reach += (g->sizes[order[k]] - 1) * g->strides[order[k]];
    listed |= (uint32_t)1 << order[k];
  }
  for (uint32_t d = 0; d < g->rank; d++)
    if (!(listed >> d & 1) && g->sizes[d] != 1)
      return false;
  return true;
}

/* Row-major, a permutation of that, cut along a dimension, or with a stride of its own. */
static void draw_layout(pool *p, choices *c, layout *out) {
  fnzi_ints *s = &p->w.ints;
  fnzi_int rows[RANK];
  out->g = (fnz_geometry){.dtype = FNZ_F32, .rank = choose(c, RANK)};
  out->g.sizes = out->sizes;
  out->g.strides = out->strides;
  for (uint32_t d = 0; d < out->g.rank; d++)
    out->sizes[d] = p->members[choose(c, (uint32_t)p->count)].word.bits;
  fnzi_int_row_strides(s, &out->g, rows);
  const uint32_t turn = choose(c, out->g.rank), kind = choose(c, 4);
  const layout plain = *out;
  for (uint32_t d = 0; d < out->g.rank; d++) {
    const uint32_t from = kind ? (d + turn) % out->g.rank : d;
    out->sizes[d] = plain.sizes[from];
    out->strides[d] = rows[from].bits;
  }
  if (kind == 2 && out->g.rank)
    out->sizes[turn] = p->members[choose(c, (uint32_t)p->count)].word.bits;
  if (kind == 3 && out->g.rank)
    out->strides[turn] = p->members[choose(c, (uint32_t)p->count)].word.bits;
  if (perhaps(c, 30))
    out->g.offset = p->members[choose(c, (uint32_t)p->count)].word.bits;
}

typedef enum asked { CONTIGUOUS, DENSE, NESTED, EXTENT, NUMEL, ROWS, ASKED } asked;

typedef struct answers {
  bool told[ASKED];
  uint32_t order[FNZ_MAX_RANK], count;
  fnzi_int low, high, numel, rows[RANK];
} answers;

static answers ask_layout(fnzi_ints *s, const fnz_geometry *g) {
  answers a = {.told = {[ROWS] = true}};
  a.told[CONTIGUOUS] = fnzi_int_is_contiguous(s, g);
  a.told[DENSE] = fnzi_int_is_dense(s, g);
  a.told[NESTED] = fnzi_int_nested(s, g, a.order, &a.count);
  a.told[EXTENT] = fnzi_int_extent(s, g, &a.low, &a.high);
  a.numel = fnzi_int_numel(s, g);
  a.told[NUMEL] = !fnzi_int_is_none(a.numel);
  fnzi_int_row_strides(s, g, a.rows);
  return a;
}

/* Whether each answer is right where the geometry has elements; elsewhere none says anything. */
static void find_truth(pool *p, const answers *a, const fnz_geometry *g, size_t point, bool *is) {
  int64_t stride = 1;
  is[CONTIGUOUS] = is_in_rows(g);
  is[DENSE] = is_filled(g);
  is[NESTED] = !a->told[NESTED] || is_nested(g, a->order, a->count);
  is[EXTENT] = !a->told[EXTENT] || (word_at(&p->w, a->low, point) == g->offset &&
                                    word_at(&p->w, a->high, point) == most_of(g));
  is[NUMEL] = word_at(&p->w, a->numel, point) == count_elements(g);
  is[ROWS] = true;
  for (uint32_t d = g->rank; d-- > 0; stride *= g->sizes[d])
    is[ROWS] = is[ROWS] && word_at(&p->w, a->rows[d], point) == stride;
}

static void check_layout(pool *p, choices *c, tally *sums) {
  layout words, here;
  draw_layout(p, c, &words);
  const answers a = ask_layout(&p->w.ints, &words.g);
  bool all[ASKED] = {true, true, true, true, true, true}, any = false;
  for (size_t i = 0; i < p->w.npoints; i++) {
    bool is[ASKED];
    if (!evaluate(p, &words.g, i, &here))
      continue;
    if (count_elements(&here.g) == 0) {
      ck_assert(!a.told[NUMEL] || word_at(&p->w, a.numel, i) == 0);
      continue;
    }
    any = true;
    find_truth(p, &a, &here.g, i, is);
    for (size_t q = 0; q < ASKED; q++) {
      if (a.told[q] && !is[q])
        print_window("at a point", &here.g);
      ck_assert_msg(!a.told[q] || is[q], "answer %zu is wrong: %s", q, p->w.told);
      all[q] = all[q] && is[q];
    }
  }
  for (size_t q = 0; q < ASKED && any; q++) {
    sums[q].asked++;
    sums[q].yes += a.told[q];
    sums[q].so += all[q] && p->w.bounded;
    sums[q].missed += all[q] && p->w.bounded && !a.told[q];
  }
}

START_TEST(geometries_are_right_at_all_numbers) {
  static pool p;
  static choices c;
  tally sums[ASKED] = {{0}};
  for (uint64_t i = 0; i < 600; i++) {
    choices_start(&c, 3, i);
    open_pool(&p, &c, 0);
    for (size_t tries = 0; p.count < POOL / 2 && tries < 8; tries++)
      add_member(&p, &c);
    for (size_t k = 0; k < 12; k++)
      check_layout(&p, &c, sums);
    words_close(&p.w);
  }
  check_tally(&sums[CONTIGUOUS], "contiguous", 20);
  check_tally(&sums[DENSE], "dense", 20);
  check_tally(&sums[NESTED], "nested", 20);
  check_tally(&sums[EXTENT], "extent", 1);
  check_tally(&sums[NUMEL], "numel", 1);
  check_tally(&sums[ROWS], "row strides", 1);
}
END_TEST

RUN_SUITE("int", numbers_end_at_the_borders, answers_hold_at_all_numbers,
          geometries_are_right_at_all_numbers)
