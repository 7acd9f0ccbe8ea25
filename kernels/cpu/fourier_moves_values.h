/* fourier_moves_values.h - points of lines to and from memory of one type, T (fourier_moves.c). */
typedef T NAMED(part) __attribute__((vector_size(sizeof(T) * WIDTH)));

/* Pairs that lie one behind the other. */
INLINE void NAMED(load_pairs)(const T *at, vec *re, vec *im) {
  NAMED(part) a, b;
  memcpy(&a, at, sizeof a);
  memcpy(&b, at + WIDTH, sizeof b);
  *re = __builtin_convertvector(__builtin_shufflevector(a, b, FNZI_EVENS), vec);
  *im = __builtin_convertvector(__builtin_shufflevector(a, b, FNZI_ODDS), vec);
}

INLINE void NAMED(store_pairs)(T *at, vec re, vec im) {
  NAMED(part)
  a = __builtin_convertvector(re, NAMED(part)), b = __builtin_convertvector(im, NAMED(part)),
  low = __builtin_shufflevector(a, b, FNZI_LOWS), high = __builtin_shufflevector(a, b, FNZI_HIGHS);
  memcpy(at, &low, sizeof low);
  memcpy(at + WIDTH, &high, sizeof high);
}

INLINE vec NAMED(load_some)(const T *at) {
  NAMED(part) a;
  memcpy(&a, at, sizeof a);
  return __builtin_convertvector(a, vec);
}

INLINE void NAMED(store_some)(T *at, vec v) {
  NAMED(part) a = __builtin_convertvector(v, NAMED(part));
  memcpy(at, &a, sizeof a);
}

/* Points from `first` on, one by one. */
static void NAMED(gather_any)(const track *t, int64_t first, int64_t lanes, const T *data,
                              block to) {
  for (int64_t k = first; k < t->count; k++)
    for (int64_t q = 0; q < lanes; q++) {
      const T *at = data + t->starts[q] + k * t->step;
      to.re[k * lanes + q] = (double)at[0];
      to.im[k * lanes + q] = (double)at[t->behind];
    }
}

static void NAMED(scatter_any)(const track *t, int64_t first, int64_t lanes, block from, T *data) {
  for (int64_t k = first; k < t->count; k++)
    for (int64_t q = 0; q < t->used; q++) {
      T *at = data + t->starts[q] + k * t->step;
      at[0] = (T)(from.re[k * lanes + q] * t->re);
      at[t->behind] = (T)(from.im[k * lanes + q] * t->im);
    }
}

/* Lines that are rows of pairs: squares are transposed. */
static void NAMED(gather_rows)(const track *t, const T *data, block to) {
  int64_t k = 0;
  for (; k + WIDTH <= t->count; k += WIDTH)
    for (int64_t lane = 0; lane < FNZI_FFT_LANES; lane += WIDTH) {
      vec re[WIDTH], im[WIDTH];
      for (int i = 0; i < WIDTH; i++)
        NAMED(load_pairs)(data + t->starts[lane + i] + 2 * k, &re[i], &im[i]);
      transpose(re);
      transpose(im);
      for (int i = 0; i < WIDTH; i++)
        store(to, (k + i) * FNZI_FFT_LANES + lane, re[i], im[i]);
    }
  NAMED(gather_any)(t, k, FNZI_FFT_LANES, data, to);
}

/* The step is 2, or -2. */
static void NAMED(scatter_rows)(const track *t, block from, T *data) {
  int64_t k = 0;
  for (; k + WIDTH <= t->count; k += WIDTH)
    for (int64_t lane = 0; lane < t->used; lane += WIDTH) {
      vec re[WIDTH], im[WIDTH];
      for (int i = 0; i < WIDTH; i++)
        load_scaled(t, from, (k + i) * FNZI_FFT_LANES + lane, &re[i], &im[i]);
      transpose(re);
      transpose(im);
      for (int i = 0; i < WIDTH && lane + i < t->used; i++)
        NAMED(store_pairs)
      (data + t->starts[lane + i] + (t->step < 0 ? -2 * (k + WIDTH - 1) : 2 * k),
       t->step < 0 ? back(re[i]) : re[i], t->step < 0 ? back(im[i]) : im[i]);
    }
  NAMED(scatter_any)(t, k, FNZI_FFT_LANES, from, data);
}

/* Lines that are columns: lanes lie next to each other. */
static void NAMED(gather_columns)(const track *t, int64_t apart, const T *data, block to) {
  for (int64_t k = 0; k < t->count; k++)
    for (int64_t lane = 0; lane < FNZI_FFT_LANES; lane += WIDTH) {
      const T *at = data + t->starts[0] + apart * lane + k * t->step;
      vec re, im;
      if (apart == 2) {
        NAMED(load_pairs)(at, &re, &im);
      } else {
        re = NAMED(load_some)(at);
        im = NAMED(load_some)(at + t->behind);
      }
      store(to, k * FNZI_FFT_LANES + lane, re, im);
    }
}

static void NAMED(scatter_columns)(const track *t, int64_t apart, block from, T *data) {
  for (int64_t k = 0; k < t->count; k++)
    for (int64_t lane = 0; lane < FNZI_FFT_LANES; lane += WIDTH) {
      T *at = data + t->starts[0] + apart * lane + k * t->step;
      vec re, im;
      load_scaled(t, from, k * FNZI_FFT_LANES + lane, &re, &im);
      if (apart == 2) {
        NAMED(store_pairs)(at, re, im);
      } else {
        NAMED(store_some)(at, re);
        NAMED(store_some)(at + t->behind, im);
      }
    }
}

/* A single line. */
static void NAMED(gather_line)(const track *t, const T *data, block to) {
  int64_t k = 0;
  for (; k + WIDTH <= t->count; k += WIDTH) {
    vec re, im;
    NAMED(load_pairs)(data + t->starts[0] + 2 * k, &re, &im);
    store(to, k, re, im);
  }
  NAMED(gather_any)(t, k, 1, data, to);
}

static void NAMED(scatter_line)(const track *t, block from, T *data) {
  int64_t k = 0;
  for (; k + WIDTH <= t->count; k += WIDTH) {
    vec re, im;
    load_scaled(t, from, k, &re, &im);
    if (t->step < 0)
      NAMED(store_pairs)(data + t->starts[0] - 2 * (k + WIDTH - 1), back(re), back(im));
    else
      NAMED(store_pairs)(data + t->starts[0] + 2 * k, re, im);
  }
  NAMED(scatter_any)(t, k, 1, from, data);
}

static void NAMED(gather)(const track *t, int64_t lanes, const void *memory, block to) {
  const T *data = memory;
  int64_t apart = lanes == 1 ? 0 : lanes_apart(t);
  bool are_pairs = t->behind == 1 && t->step == 2;
  if (lanes == 1 && are_pairs)
    NAMED(gather_line)(t, data, to);
  else if ((apart == 2 && t->behind == 1) || apart == 1)
    NAMED(gather_columns)(t, apart, data, to);
  else if (lanes == FNZI_FFT_LANES && are_pairs)
    NAMED(gather_rows)(t, data, to);
  else
    NAMED(gather_any)(t, 0, lanes, data, to);
}

static void NAMED(scatter)(const track *t, int64_t lanes, block from, void *memory,
                           int64_t offset) {
  T *data = (T *)memory + offset;
  int64_t apart = lanes == 1 || t->used != lanes ? 0 : lanes_apart(t);
  bool are_pairs = t->behind == 1 && (t->step == 2 || t->step == -2);
  if (lanes == 1 && are_pairs)
    NAMED(scatter_line)(t, from, data);
  else if ((apart == 2 && t->behind == 1) || apart == 1)
    NAMED(scatter_columns)(t, apart, from, data);
  else if (lanes == FNZI_FFT_LANES && are_pairs)
    NAMED(scatter_rows)(t, from, data);
  else
    NAMED(scatter_any)(t, 0, lanes, from, data);
}
