/* panels.h - the products of many rows of rows_f32.c, which includes this behind products.h.
 *
 * A panel is some columns of the second factor, FNZI_PANEL_DEPTH deep, brought side by side and
 * converted on the way. It meets some rows of the first factor at a time, which stay in the
 * innermost cache while their sums stay in registers. How the factors lie, in how many tiles a
 * product is cut, and where, changes no bit: an element's sum goes along k in order. */
#ifndef FNZI_ROWS_PANELS_H
#define FNZI_ROWS_PANELS_H

#if FNZI_ISA >= 3

enum {
  PANEL_MOST = FNZI_ISA == 4 ? 3 : 2,   /* vectors of a panel's row */
  PANEL_SUMS = FNZI_ISA == 4 ? 24 : 12, /* vectors of sums: the rest of the registers has factors */
  PANEL_TALL = FNZI_ISA == 4 ? 12 : 6,  /* rows that a panel meets at a time, at most */
  PANEL_WIDE = PANEL_MOST * WIDTH,
  BASES = PANEL_TALL / 3, /* of rows whose addresses are kept: three each */
  LINE = 16
};

_Static_assert((int)FNZI_PANEL_STEP % PANEL_WIDE == 0, "columns in front are whole panels");
_Static_assert((int)FNZI_PANEL_ROUND % WIDTH == 0, "the last panel has whole vectors");

#define EACH_ROW   _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++)
#define EACH_PART  _Pragma("GCC unroll 3") for (int p = 0; p < parts; p++)
#define EACH_BASE  _Pragma("GCC unroll 4") for (int r = 0; r < BASES; r++)
#define EACH_EIGHT _Pragma("GCC unroll 8") for (int r = 0; r < 8; r++)

static int64_t parts_of(int64_t count, int64_t most) {
  return (count + most - 1) / most;
}

/* Vectors of the next panel, if so many columns are left: two and two in place of three and one. */
INLINE int panel_parts(int64_t columns) {
  int64_t parts = parts_of(columns, WIDTH);
  return parts == PANEL_MOST + 1 ? PANEL_MOST - 1 : parts < PANEL_MOST ? (int)parts : PANEL_MOST;
}

/* --- Bringing a block side by side ------------------------------------------------------------ */
INLINE __m256 load_eight(const void *x, int64_t at, fnzi_row_kind kind) {
  if (kind == FNZI_ROW_F32)
    return _mm256_loadu_ps((const float *)x + at);
  if (kind == FNZI_ROW_I8)
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)((const int8_t *)x + at))));
  __m128i h;
  memcpy(&h, (const uint16_t *)x + at, sizeof h);
  if (kind == FNZI_ROW_F16)
    return _mm256_cvtph_ps(h);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

/* Element (r, k) of the result is element r of row k: eight of both. */
INLINE void transpose(const void *x, int64_t at, int64_t step, fnzi_row_kind kind, float *y,
                      int64_t y_row) {
  __m256 a[8], b[8];
  EACH_EIGHT a[r] = load_eight(x, at + r * step, kind);
  _Pragma("GCC unroll 4") for (int r = 0; r < 8; r += 2) {
    b[r] = _mm256_unpacklo_ps(a[r], a[r + 1]);
    b[r + 1] = _mm256_unpackhi_ps(a[r], a[r + 1]);
  }
  _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
    int half = r / 2 * 4, odd = r % 2;
    a[half + 2 * odd] = _mm256_shuffle_ps(b[half + odd], b[half + 2 + odd], 0x44);
    a[half + 2 * odd + 1] = _mm256_shuffle_ps(b[half + odd], b[half + 2 + odd], 0xee);
  }
  _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
    _mm256_storeu_ps(y + r * y_row, _mm256_permute2f128_ps(a[r], a[r + 4], 0x20));
    _mm256_storeu_ps(y + (r + 4) * y_row, _mm256_permute2f128_ps(a[r], a[r + 4], 0x31));
  }
}

/* A block of a matrix in memory: element (i, j) is data[at + i * row + j * step]. */
typedef struct block {
  const void *data;
  int64_t at, row, step, rows, columns;
  float *to; /* (i, j) goes to to[i * to_row + j] */
  int64_t to_row;
} block;

INLINE void bring_cells(const block *b, int64_t i, int64_t end, int64_t j, int64_t end_j,
                        fnzi_row_kind kind) {
  for (; i < end; i++)
    for (int64_t at = j; at < end_j; at++)
      b->to[i * b->to_row + at] = element(b->data, b->at + i * b->row + at * b->step, kind);
}

INLINE void bring_wide(const block *b, int64_t columns, fnzi_row_kind kind) {
  for (int64_t i = 0; i < b->rows; i++)
    for (int64_t j = 0; j + 8 <= columns; j += 8)
      _mm256_storeu_ps(b->to + i * b->to_row + j,
                       load_eight(b->data, b->at + i * b->row + j, kind));
}

INLINE void bring_rows(const block *b, fnzi_row_kind kind) {
  if (b->columns == PANEL_WIDE)
    bring_wide(b, PANEL_WIDE, kind);
  else
    bring_wide(b, b->columns, kind);
  bring_cells(b, 0, b->rows, b->columns / 8 * 8, b->columns, kind);
}

INLINE void bring_columns(const block *b, fnzi_row_kind kind) {
  int64_t rows = b->rows / 8 * 8, j = 0;
  for (; j + 8 <= b->columns; j += 8)
    for (int64_t i = 0; i < rows; i += 8)
      transpose(b->data, b->at + i + j * b->step, b->step, kind, b->to + i * b->to_row + j,
                b->to_row);
  bring_cells(b, 0, rows, j, b->columns, kind);
  bring_cells(b, rows, b->rows, 0, b->columns, kind);
}

INLINE void bring_as(const block *b, fnzi_row_kind kind) {
  if (b->step == 1)
    bring_rows(b, kind);
  else if (b->row == 1)
    bring_columns(b, kind);
  else
    bring_cells(b, 0, b->rows, 0, b->columns, kind);
}

/* Panels of `columns` together, row by row; b is the first of them. */
INLINE void bring_beside_as(const block *b, int64_t columns, fnzi_row_kind kind) {
  for (int64_t i = 0; i < b->rows; i++) {
    block row = *b;
    float *panel = b->to;
    row.at += i * b->row, row.rows = 1;
    for (int64_t left = columns; left > 0; left -= row.to_row) {
      row.to_row = panel_parts(left) * WIDTH, row.to = panel + i * row.to_row;
      row.columns = left < row.to_row ? left : row.to_row;
      bring_rows(&row, kind);
      row.at += row.to_row, panel += b->rows * row.to_row;
    }
  }
}

static void bring_beside(const block *b, int64_t columns, fnzi_row_kind kind) {
  if (kind == FNZI_ROW_F32)
    bring_beside_as(b, columns, FNZI_ROW_F32);
  else if (kind == FNZI_ROW_BF16)
    bring_beside_as(b, columns, FNZI_ROW_BF16);
  else if (kind == FNZI_ROW_I8)
    bring_beside_as(b, columns, FNZI_ROW_I8);
  else
    bring_beside_as(b, columns, FNZI_ROW_F16);
}

static void bring(const block *b, fnzi_row_kind kind) {
  if (kind == FNZI_ROW_F32)
    bring_as(b, FNZI_ROW_F32);
  else if (kind == FNZI_ROW_BF16)
    bring_as(b, FNZI_ROW_BF16);
  else if (kind == FNZI_ROW_I8)
    bring_as(b, FNZI_ROW_I8);
  else
    bring_as(b, FNZI_ROW_F16);
}

/* --- Rows times a panel -------------------------------------------------------------------- */
/* The part of the second factor that is brought next. Its lines are read ahead while rows meet the
 * panels that are there, because each row of it is in another page. */
typedef struct coming {
  uintptr_t at;              /* of the next line */
  int64_t left, line, lines; /* lines to come; index of the line in its row; lines of a row */
  int64_t skip, each;        /* bytes from the end of a row to the next one; lines at a time */
} coming;

enum { LINE_BYTES = LINE * sizeof(float) };

INLINE void read_coming(coming *c) {
  int64_t count = c->each < c->left ? c->each : c->left;
  c->left -= count;
  for (; count > 0; count--) {
    __builtin_prefetch((const void *)c->at);
    c->at += LINE_BYTES;
    if (++c->line == c->lines)
      c->line = 0, c->at += (uintptr_t)c->skip;
  }
}

/* Rows of a, dense within, times a panel: added to c, whose rows are c_row apart. */
typedef struct panel {
  const float *a, *b, *added; /* added: read in place of each row of c; NULL: c is */
  float *c;
  int64_t a_row, c_row, depth, b_depth; /* b_depth: rows of b, from one panel to the next */
  int parts, columns;                   /* its vectors; columns that the result has of them */
  bool reads_c;
  float alpha, beta;
  coming *ahead;
} panel;

/* A range of rows, or of the depth. */
typedef struct span {
  int64_t at, count;
} span;

INLINE void panel_put(const panel *t, int rows, int parts, vec sum[PANEL_TALL][PANEL_MOST]) {
  vec alpha = splat(t->alpha), beta = splat(t->beta);
  if (t->columns == parts * WIDTH) {
    EACH_ROW EACH_PART {
      float *c = t->c + r * t->c_row + p * WIDTH;
      const float *from = t->added ? t->added + p * WIDTH : c;
      vec value = alpha * sum[r][p];
      store(c, t->reads_c ? beta * load(from) + value : value);
    }
    return;
  }
  float found[PANEL_TALL][PANEL_WIDE];
  EACH_ROW EACH_PART store(&found[r][p * WIDTH], alpha * sum[r][p]);
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < parts * WIDTH && j < t->columns; j++) {
      float *c = t->c + r * t->c_row + j;
      const float from = !t->reads_c ? 0 : t->added ? t->added[j] : *c;
      *c = t->reads_c ? t->beta * from + found[r][j] : found[r][j];
    }
}

/* Three rows are found from one address, so that addresses fit in registers. */
INLINE void panel_rows(const panel *t, int rows, int parts) {
  vec sum[PANEL_TALL][PANEL_MOST];
  EACH_ROW EACH_PART {
    sum[r][p] = splat(0);
    __builtin_prefetch(t->c + r * t->c_row + p * WIDTH);
  }
  const int64_t a_row = t->a_row;
  const float *b = t->b, *a[BASES];
  EACH_BASE a[r] = t->a + (3 * r < rows ? 3 * r * a_row : 0);
  for (int64_t k = 0; k < t->depth;) {
    int64_t end = k + LINE < t->depth ? k + LINE : t->depth;
    EACH_ROW __builtin_prefetch(t->a + (r + rows) * a_row + k);
    if (t->ahead->left)
      read_coming(t->ahead);
    for (; k < end; k++, b += parts * WIDTH) {
      vec w[PANEL_MOST];
      EACH_PART w[p] = load(b + p * WIDTH);
      EACH_ROW {
        vec x = splat(a[r / 3][r % 3 * a_row]);
        EACH_PART sum[r][p] = floats_fused(x, w[p], sum[r][p]);
      }
      EACH_BASE a[r]++;
    }
  }
  panel_put(t, rows, parts, sum);
}

#define TO_SIX(X, parts)    X(parts, 1) X(parts, 2) X(parts, 3) X(parts, 4) X(parts, 5) X(parts, 6)
#define TO_EIGHT(X, parts)  TO_SIX(X, parts) X(parts, 7) X(parts, 8)
#define TO_TWELVE(X, parts) TO_EIGHT(X, parts) X(parts, 9) X(parts, 10) X(parts, 11) X(parts, 12)
#if FNZI_ISA == 4
#define EACH_SHAPE(X) TO_TWELVE(X, 1) TO_TWELVE(X, 2) TO_EIGHT(X, 3)
#else
#define EACH_SHAPE(X) TO_SIX(X, 1) TO_SIX(X, 2)
#endif
#define PANEL_ROWS(parts, rows)                                                                    \
  static void panel_rows_##parts##_##rows(const panel *t) {                                        \
    panel_rows(t, rows, parts);                                                                    \
  }
#define PANEL_NAME(parts, rows) [parts][rows] = panel_rows_##parts##_##rows,
EACH_SHAPE(PANEL_ROWS)
static void (*const panel_by_shape[PANEL_MOST + 1][PANEL_TALL + 1])(const panel *t) = {
    EACH_SHAPE(PANEL_NAME)};
#undef TO_SIX
#undef TO_EIGHT
#undef TO_TWELVE
#undef EACH_SHAPE
#undef PANEL_ROWS
#undef PANEL_NAME

/* Rows that meet a panel of so many vectors at a time. */
static int panel_tall(int parts) {
  return PANEL_SUMS / parts < PANEL_TALL ? PANEL_SUMS / parts : PANEL_TALL;
}

static span span_at(int64_t at, int64_t most, int64_t count) {
  return (span){at, count - at < most ? count - at : most};
}

/* If less than two tiles are left, they are split evenly, because few rows wait for their loads. */
INLINE void panel_run(panel t, int64_t rows) {
  const int tall = panel_tall(t.parts);
  for (int64_t i = 0, take; i < rows; i += take) {
    int64_t left = rows - i;
    take = left >= 2 * tall || left == tall ? tall : left > tall ? (left + 1) / 2 : left;
    panel_by_shape[t.parts][take](&t);
    t.a += take * t.a_row, t.c += take * t.c_row;
  }
}

/* Panels side by side, brought together: where rows of the second factor lie far apart, each gives
 * more at a time than a panel takes. */
static void bring_panels(const fnzi_row_panels *d, const span *k, int64_t j, int64_t columns,
                         float *to) {
  block b = {.data = d->b, .row = d->b_step, .step = d->b_column, .rows = k->count, .to = to};
  b.at = k->at * d->b_step + j * d->b_column;
  if (columns % WIDTH)
    memset(to, 0, (size_t)(parts_of(columns, WIDTH) * k->count) * sizeof(vec));
  if (d->b_column == 1 && columns > PANEL_WIDE) {
    bring_beside(&b, columns, d->b_kind);
    return;
  }
  for (int64_t left = columns; left > 0; left -= b.to_row) {
    b.to_row = panel_parts(left) * WIDTH;
    b.columns = left < b.to_row ? left : b.to_row;
    bring(&b, d->b_kind);
    b.at += b.to_row * d->b_column, b.to += k->count * b.to_row;
  }
}

/* Rows of a part of the first factor, dense within, times panels side by side. Rows stay in the
 * second cache while panels pass by. */
static void run_panels(panel t, int64_t rows, int64_t columns) {
  const float *first = t.b;
  for (int64_t i = 0; i < rows; i += FNZI_PANEL_ROWS) {
    int64_t most = rows - i < FNZI_PANEL_ROWS ? rows - i : FNZI_PANEL_ROWS;
    float *c = t.c;
    const float *added = t.added;
    t.b = first;
    for (int64_t left = columns, width; left > 0; left -= width) {
      t.parts = panel_parts(left), width = t.parts * WIDTH;
      t.columns = (int)(left < width ? left : width);
      panel_run(t, most);
      t.b += t.b_depth * width, t.c += width;
      if (t.added)
        t.added += width;
    }
    t.added = added;
    t.a += FNZI_PANEL_ROWS * t.a_row, t.c = c + FNZI_PANEL_ROWS * t.c_row;
  }
}

/* --- Blocks of the second factor, one after the other ----------------------------------------- */
/* A range of the depth, and of the columns that are brought together. */
typedef struct slab {
  span k, j;
} slab;

/* A product of nothing is one of a depth of 0. */
static int64_t deep_of(const fnzi_row_panels *d) {
  return d->depth ? parts_of(d->depth, FNZI_PANEL_DEPTH) : 1;
}

/* Whole rows of the first factor that stay in the second cache meet all of the depth first, so that
 * columns of the result are finished before the next ones. */
static slab slab_at(const fnzi_row_panels *d, bool is_whole, int64_t at) {
  int64_t across = parts_of(d->columns, FNZI_PANEL_COLUMNS), deep = deep_of(d);
  int64_t k = is_whole ? at % deep : at / across, j = is_whole ? at / deep : at % across;
  return (slab){span_at(k * FNZI_PANEL_DEPTH, FNZI_PANEL_DEPTH, d->depth),
                span_at(j * FNZI_PANEL_COLUMNS, FNZI_PANEL_COLUMNS, d->columns)};
}

/* The place of a slab in a factor of so many rows that is packed as a whole. */
static int64_t packed_at(int64_t depth, const slab *s) {
  return s->j.at * depth + s->k.at * parts_of(s->j.count, WIDTH) * WIDTH;
}

/* The slab `s`, in as many steps as `rows` rows take to meet `met`. Nothing of a factor that caches
 * hold, or whose rows are not dense. */
static coming find_coming(const fnzi_row_panels *d, const slab *s, const slab *met, int64_t rows) {
  const int64_t cell = fnzi_row_kind_bytes(d->b_kind);
  const bool by_columns = d->b_step == 1;
  coming c = {0};
  if (s->j.count <= 0 || s->k.count <= 0 || d->depth * d->columns < LARGE_FACTOR ||
      (!by_columns && d->b_column != 1))
    return c;
  c.lines = parts_of((by_columns ? s->k.count : s->j.count) * cell, LINE_BYTES);
  c.left = c.lines * (by_columns ? s->j.count : s->k.count);
  c.skip = (by_columns ? d->b_column : d->b_step) * cell - c.lines * LINE_BYTES;
  c.at = (uintptr_t)d->b + (uintptr_t)((s->k.at * d->b_step + s->j.at * d->b_column) * cell);
  if (d->packed) {
    c.left = c.lines = s->k.count * parts_of(s->j.count, LINE);
    c.skip = 0, c.at = (uintptr_t)(d->packed + packed_at(d->packed_depth, s));
  }
  int64_t steps = parts_of(rows, PANEL_SUMS / PANEL_MOST) * parts_of(met->j.count, PANEL_WIDE) *
                  parts_of(met->k.count, LINE);
  c.each = steps ? parts_of(c.left, steps) : 0;
  return c;
}

/* Rows i of the first factor, over a range of the depth, are dense within at t->a: as they lie, or
 * brought to the room. Returns the rest of the room. */
static float *open_rows(const fnzi_row_panels *d, const span *i, const span *k, panel *t) {
  const block a = {d->a,     i->at * d->a_row + k->at * d->a_step,
                   d->a_row, d->a_step,
                   i->count, k->count,
                   d->room,  k->count + FNZI_PANEL_GAP};
  t->a = (const float *)d->a + a.at, t->a_row = d->a_row;
  if (!fnzi_row_panels_bring_a(d))
    return d->room;
  bring(&a, d->a_kind);
  t->a = a.to, t->a_row = a.to_row;
  return d->room + i->count * a.to_row;
}

/* Rows that have to be brought are brought once for all columns. */
static void panels_of(const fnzi_row_panels *d, const span *i) {
  const bool is_whole = fnzi_row_panels_is_whole(d, i->count);
  const span all = {0, d->depth};
  panel first = {.c_row = d->c_row, .alpha = d->alpha};
  float *room = NULL;
  int64_t count = deep_of(d) * parts_of(d->columns, FNZI_PANEL_COLUMNS);
  for (int64_t at = 0; at < count; at++) {
    const slab now = slab_at(d, is_whole, at), next = slab_at(d, is_whole, at + 1);
    if (is_whole ? at == 0 : now.j.at == 0)
      room = open_rows(d, i, is_whole ? &all : &now.k, &first);
    coming ahead = find_coming(d, &next, &now, i->count);
    panel t = first;
    t.a += is_whole ? now.k.at : 0, t.depth = t.b_depth = now.k.count;
    t.beta = now.k.at ? 1 : d->beta, t.reads_c = t.beta != 0, t.ahead = &ahead;
    t.added = now.k.at || !d->added ? NULL : d->added + now.j.at;
    t.b = d->packed ? d->packed + packed_at(d->packed_depth, &now) : room;
    t.c = d->c + i->at * d->c_row + now.j.at;
    if (d->packed)
      t.b_depth = span_at(now.k.at, FNZI_PANEL_DEPTH, d->packed_depth).count;
    else
      bring_panels(d, &now.k, now.j.at, now.j.count, room);
    run_panels(t, i->count, now.j.count);
  }
}

/* --- The other way round ---------------------------------------------------------------------- */
/* The transposed result of some columns, between its parts and where it belongs. */
static void transpose_result(const fnzi_row_panels *d, const span *j, float *transposed,
                             bool is_back) {
  const block to = {d->c, j->at, 1, d->c_row, j->count, d->rows, transposed, d->rows};
  const block from = {transposed, 0, 1, d->rows, d->rows, j->count, d->c + j->at, d->c_row};
  bring(is_back ? &from : &to, FNZI_ROW_F32);
  for (int64_t i = 0; !is_back && i < j->count * d->rows; i++)
    transposed[i] *= d->beta;
}

/* The first factor lies transposed in panels; rows of the second one are read as they lie, once. */
static void transposed_part(const fnzi_row_panels *d, const span *j, const span *next,
                            float *transposed) {
  const float *x = d->room;
  if (d->beta != 0)
    transpose_result(d, j, transposed, false);
  for (int64_t k = 0; k < d->depth; k += FNZI_PANEL_DEPTH) {
    const slab now = {span_at(k, FNZI_PANEL_DEPTH, d->depth), {0, d->rows}};
    const span then = span_at(k + FNZI_PANEL_DEPTH, FNZI_PANEL_DEPTH, d->depth);
    const slab same = {then, *j}, after = {span_at(0, FNZI_PANEL_DEPTH, d->depth), *next};
    coming ahead = find_coming(d, then.count > 0 ? &same : &after, &now, j->count);
    panel t = {.a = (const float *)d->b + j->at * d->b_column + k, .b = x, .c = transposed};
    t.a_row = d->b_column, t.c_row = d->rows, t.depth = t.b_depth = now.k.count, t.alpha = d->alpha;
    t.reads_c = k > 0 || d->beta != 0, t.beta = t.reads_c, t.ahead = &ahead;
    run_panels(t, j->count, d->rows);
    x += now.k.count * d->rows;
  }
  transpose_result(d, j, transposed, true);
}

static void transposed(const fnzi_row_panels *d) {
  const fnzi_row_panels x = {
      .b = d->a, .b_step = d->a_step, .b_column = d->a_row, .b_kind = d->a_kind};
  float *room = d->room;
  for (int64_t i = 0; d->added && i < d->rows; i++)
    memcpy(d->c + i * d->c_row, d->added, (size_t)d->columns * sizeof *d->c);
  for (int64_t k = 0; k < d->depth; k += FNZI_PANEL_DEPTH) {
    const span part = span_at(k, FNZI_PANEL_DEPTH, d->depth);
    bring_panels(&x, &part, 0, d->rows, room);
    room += part.count * d->rows;
  }
  for (int64_t j = 0; j < d->columns; j += FNZI_PANEL_TRANSPOSED) {
    const span part = span_at(j, FNZI_PANEL_TRANSPOSED, d->columns);
    const span next = span_at(j + FNZI_PANEL_TRANSPOSED, FNZI_PANEL_TRANSPOSED, d->columns);
    transposed_part(d, &part, &next, room);
  }
}

static void panels(const fnzi_row_panels *d) {
  if (!d->packed && fnzi_row_panels_is_transposed(d)) {
    transposed(d);
    return;
  }
  int64_t rows = fnzi_row_panels_bring_a(d) || d->packed ? FNZI_PANEL_ROWS : d->rows;
  for (int64_t i = 0; i < d->rows; i += rows) {
    const span part = span_at(i, rows, d->rows);
    panels_of(d, &part);
  }
}

static void pack(const fnzi_row_panels *d, float *to) {
  int64_t count = deep_of(d) * parts_of(d->columns, FNZI_PANEL_COLUMNS);
  for (int64_t at = 0; at < count; at++) {
    const slab s = slab_at(d, true, at);
    bring_panels(d, &s.k, s.j.at, s.j.count, to + packed_at(d->depth, &s));
  }
}

#undef EACH_ROW
#undef EACH_PART
#undef EACH_BASE
#undef EACH_EIGHT

#else
#define panels NULL
#define pack   NULL
#endif
#endif
