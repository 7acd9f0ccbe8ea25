/* formula_cells.cu - how formulas reach their operands on a GPU: by the names that the CPU's text
 * has for it (kernels/cpu/special_reals.h). Operands are row-major. */
struct cells {
  char *at;
  int bytes; /* of an element */
};
/* The last window of a kernel is the flag. If the kernel draws random numbers, the generator's seed
 * and offset are in the windows before it. */
enum { WINDOWS = 8, SEED = WINDOWS - 3, OFFSET, FLAG };
typedef cells fnzi_cpu_reals;
typedef cells fnzi_cpu_reals_out;
#define INTEGERS const cells *

VALUE double fnzi_cpu_real_at(const cells *x, int64_t i) {
  return x->bytes == 8 ? LOAD(double, x->at + 8 * i) : (double)LOAD(float, x->at + 4 * i);
}
VALUE double fnzi_cpu_real_round(const cells *x, double v) {
  return x->bytes == 8 ? v : (double)(float)v;
}
VALUE void fnzi_cpu_real_put(const cells *x, int64_t i, double v) {
  if (x->bytes == 8)
    STORE(double, x->at + 8 * i, v);
  else
    STORE(float, x->at + 4 * i, (float)v);
}
VALUE int64_t integer_at(const cells *x, int64_t i) {
  return LOAD(int64_t, x->at + 8 * i);
}
VALUE void integer_put(const cells *x, int64_t i, int64_t v) {
  STORE(int64_t, x->at + 8 * i, v);
}
/* k < 0: the bits of `nothing`. */
VALUE void move_cell_or(const cells *to, int64_t i, const cells *from, int64_t k,
                        uint64_t nothing) {
  char *a = to->at + i * to->bytes, *b = from->at + k * from->bytes;
  switch (to->bytes) {
  case 1:
    STORE(uint8_t, a, k < 0 ? (uint8_t)nothing : LOAD(uint8_t, b));
    break;
  case 2:
    STORE(uint16_t, a, k < 0 ? (uint16_t)nothing : LOAD(uint16_t, b));
    break;
  case 4:
    STORE(uint32_t, a, k < 0 ? (uint32_t)nothing : LOAD(uint32_t, b));
    break;
  case 8:
    STORE(uint64_t, a, k < 0 ? nothing : LOAD(uint64_t, b));
    break;
  default:
    STORE(uint64_t, a, k < 0 ? nothing : LOAD(uint64_t, b));
    STORE(uint64_t, a + 8, k < 0 ? nothing : LOAD(uint64_t, b + 8));
  }
}

/* Sets the flag unless it holds: the CPU runs the call again and says what is wrong. */
VALUE void refuse_unless(bool holds, const cells *w) {
  if (!holds)
    STORE(uint32_t, w[FLAG].at, 1u);
}

/* Words that kernels/cpu/random_values.h uses. PyTorch draws with these fast functions of floats, so
 * other functions would give other numbers. */
#define RANDOM_OUT const cells *
VALUE void random_put(const cells *x, int64_t i, double v) {
  if (x->bytes == 1)
    STORE(uint8_t, x->at + i, v != 0);
  else
    fnzi_cpu_real_put(x, i, v);
}
VALUE void random_put_integer(const cells *x, int64_t i, int64_t v) {
  integer_put(x, i, v);
}
VALUE int64_t random_integer_at(const cells *x, int64_t i) {
  return integer_at(x, i);
}
VALUE float random_log(float v) {
  return __logf(v);
}
VALUE float random_exp(float v) {
  return __expf(v);
}
VALUE float random_tan(float v) {
  return __tanf(v);
}
VALUE void random_sincos(float v, float *sine, float *cosine) {
  __sincosf(v, sine, cosine);
}
VALUE void random_sincospi(double v, double *sine, double *cosine) {
  sincospi(v, sine, cosine);
}

/* Keys of a sorted row (kernels/cpu/order_values.h). */
struct sorted_row {
  const cells *keys;
  int64_t start;
};
typedef const sorted_row *SORTED;
VALUE int64_t sorted_key(SORTED s, int64_t i) {
  return integer_at(s->keys, s->start + i);
}
/* Rows of keys and of places (kernels/cpu/select_values.h). */
struct PAIR {
  int64_t key, place;
};
struct pair_row {
  const cells *keys, *places;
  int64_t start;
};
typedef const pair_row *PAIRS;
VALUE PAIR pair_at(PAIRS r, int64_t i) {
  return PAIR{integer_at(r->keys, r->start + i), integer_at(r->places, r->start + i)};
}
VALUE void pair_put(PAIRS r, int64_t i, PAIR x) {
  integer_put(r->keys, r->start + i, x.key);
  integer_put(r->places, r->start + i, x.place);
}
VALUE double exp_as(bool is_double, double x) {
  return is_double ? exp(x) : (double)expf((float)x);
}
