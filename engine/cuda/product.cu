/* product.cu - products of matrices, and convolutions as such, by blocks of 256 threads. O, which
 * text_product.c writes, has the type of sums, the factors a(batch, i, k) and b(batch, k, j), and
 * put(batch, i, j, sum).
 *
 * Sizes alone decide the order of each sum. */
namespace product {
enum { TILE = 64, DEPTH = 16, LINE = TILE + 1, EACH = 4, ACROSS = TILE / EACH, THREADS = 256 };

VALUE float add_product(float a, float b, float c) {
  return fmaf(a, b, c);
}
VALUE double add_product(double a, double b, double c) {
  return fma(a, b, c);
}
VALUE uint64_t add_product(uint64_t a, uint64_t b, uint64_t c) {
  return a * b + c;
}
VALUE cell_C64 add_product(cell_C64 a, cell_C64 b, cell_C64 c) {
  cell_C64 v = {fmaf(-a.im, b.im, fmaf(a.re, b.re, c.re)), fmaf(a.im, b.re, fmaf(a.re, b.im, c.im))};
  return v;
}
VALUE cell_C128 add_product(cell_C128 a, cell_C128 b, cell_C128 c) {
  cell_C128 v = {fma(-a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))};
  return v;
}

VALUE float sum_of(float a, float b) {
  return a + b;
}
VALUE double sum_of(double a, double b) {
  return a + b;
}
VALUE uint64_t sum_of(uint64_t a, uint64_t b) {
  return a + b;
}
VALUE cell_C64 sum_of(cell_C64 a, cell_C64 b) {
  cell_C64 v = {a.re + b.re, a.im + b.im};
  return v;
}
VALUE cell_C128 sum_of(cell_C128 a, cell_C128 b) {
  cell_C128 v = {a.re + b.re, a.im + b.im};
  return v;
}

VALUE float scaled(float a, float by) {
  return a * by;
}
VALUE double scaled(double a, double by) {
  return a * by;
}
VALUE uint64_t scaled(uint64_t a, uint64_t by) {
  return a * by;
}
VALUE cell_C64 scaled(cell_C64 a, float by) {
  cell_C64 v = {a.re * by, a.im * by};
  return v;
}
VALUE cell_C128 scaled(cell_C128 a, double by) {
  cell_C128 v = {a.re * by, a.im * by};
  return v;
}

/* A block has a tile of 64 by 64 results, and each thread 4 by 4 of them. Both factors are loaded by
 * 16 of k. Threads that follow one another read what does, along i and j or along k. */
template <class O>
VALUE void product_by_tiles(const O &o, int64_t batch, int64_t m, int64_t n, int64_t depth) {
  typedef typename O::sum sum;
  SHARED(sum, left, DEPTH * LINE);
  SHARED(sum, right, DEPTH * LINE);
  const int64_t across = (n + TILE - 1) / TILE, down = (m + TILE - 1) / TILE;
  const int t = (int)threadIdx.x, row = t / ACROSS * EACH, col = t % ACROSS * EACH;
  for (int64_t at = blockIdx.x; at < batch * down * across; at += gridDim.x) {
    const int64_t p = at / across / down, i0 = at / across % down * TILE, j0 = at % across * TILE;
    sum sums[EACH][EACH] = {};
    for (int64_t k0 = 0; k0 < depth; k0 += DEPTH) {
      const int deep = depth - k0 < DEPTH ? (int)(depth - k0) : DEPTH;
      for (int x = t; x < TILE * DEPTH; x += THREADS) {
        const int k = O::left_along ? x % DEPTH : x / TILE, i = O::left_along ? x / DEPTH : x % TILE;
        left[k * LINE + i] = k < deep && i0 + i < m ? o.a(p, i0 + i, k0 + k) : sum();
      }
      for (int x = t; x < TILE * DEPTH; x += THREADS) {
        const int k = O::right_along ? x % DEPTH : x / TILE, j = O::right_along ? x / DEPTH : x % TILE;
        right[k * LINE + j] = k < deep && j0 + j < n ? o.b(p, k0 + k, j0 + j) : sum();
      }
      __syncthreads();
      for (int k = 0; k < deep; k++) {
        sum a[EACH], b[EACH];
        for (int e = 0; e < EACH; e++)
          a[e] = left[k * LINE + row + e], b[e] = right[k * LINE + col + e];
        for (int i = 0; i < EACH; i++)
          for (int j = 0; j < EACH; j++)
            sums[i][j] = add_product(a[i], b[j], sums[i][j]);
      }
      __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
      for (int j = 0; j < EACH; j++)
        if (i0 + row + i < m && j0 + col + j < n)
          o.put(p, i0 + row + i, j0 + col + j, sums[i][j]);
  }
}

/* A block has one result: threads take elements of the sum in turns, and join theirs in pairs. */
template <class O>
VALUE void product_by_sums(const O &o, int64_t batch, int64_t m, int64_t n, int64_t depth) {
  typedef typename O::sum sum;
  SHARED(sum, parts, THREADS);
  const int t = (int)threadIdx.x;
  for (int64_t at = blockIdx.x; at < batch * m * n; at += gridDim.x) {
    const int64_t p = at / n / m, i = at / n % m, j = at % n;
    sum part = sum();
    for (int64_t k = t; k < depth; k += THREADS)
      part = add_product(o.a(p, i, k), o.b(p, k, j), part);
    parts[t] = part;
    for (int half = THREADS / 2; half > 0; half /= 2) {
      __syncthreads();
      if (t < half)
        parts[t] = sum_of(parts[t], parts[t + half]);
    }
    if (t == 0)
      o.put(p, i, j, parts[0]);
    __syncthreads();
  }
}
} /* namespace product */
