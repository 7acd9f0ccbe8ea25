/* attend.cu - softmax(q k^T * scale + mask) v, by blocks of 256 threads. What is read is O's: its
 * sums' type, q(head, query, w), k(head, key, w), v(head, key, w), masked(head, query, key, score),
 * put(head, query, w, value) and put_log(head, query, value); drops, and where that is true
 * dropped(head, query, key, exponential), what is left of it.
 *
 * A block has 64 queries of one head, and goes over the keys by 64 with the maximum and the sum so
 * far. Of few queries (attend_few) a block has one, and a piece of the keys; attend_pieces joins
 * the pieces. Each sum is formed in an order that depends on sizes alone. A row whose keys are all
 * masked gives zeros, as eager does. */
namespace attention {
enum { TILE = 64, LINE = TILE + 1, EACH = 4, ACROSS = TILE / EACH, THREADS = 256, SHARES = THREADS / TILE };

VALUE float add_product(float a, float b, float c) {
  return fmaf(a, b, c);
}
VALUE double add_product(double a, double b, double c) {
  return fma(a, b, c);
}
VALUE float exponential(float x) {
  return expf(x);
}
VALUE double exponential(double x) {
  return exp(x);
}
VALUE float logarithm(float x) {
  return logf(x);
}
VALUE double logarithm(double x) {
  return log(x);
}
VALUE float larger(float a, float b) {
  return fmaxf(a, b);
}
VALUE double larger(double a, double b) {
  return fmax(a, b);
}

/* DEPTH elements of a row at once in shared memory; PARTS times 64 columns of the result. */
template <int DEPTH, int PARTS, class O>
VALUE void attend(const O &o, int64_t heads, int64_t queries, int64_t keys, int64_t width, int64_t out_width,
                  typename O::sum scale, bool causal) {
  typedef typename O::sum sum;
  SHARED(sum, left, DEPTH * LINE);
  SHARED(sum, right, DEPTH * LINE);
  SHARED(sum, scores, TILE * LINE);
  SHARED(sum, most, TILE);
  SHARED(sum, total, TILE);
  SHARED(sum, shrunk, TILE);
  SHARED(sum, parts, TILE * SHARES);
  const sum nothing = -(sum)INFINITY;
  const int64_t tiles = (queries + TILE - 1) / TILE, across = (out_width + TILE * PARTS - 1) / (TILE * PARTS);
  const int t = (int)threadIdx.x, row = t / ACROSS * EACH, col = t % ACROSS * EACH;
  const int own = t / SHARES, from = t % SHARES * (TILE / SHARES); /* a row's scores in four shares */
  for (int64_t at = blockIdx.x; at < heads * tiles * across; at += gridDim.x) {
    const int64_t head = at / across / tiles, first = at / across % tiles * TILE, w0 = at % across * TILE * PARTS;
    const int64_t last = first + TILE < queries ? first + TILE : queries, seen = causal && last < keys ? last : keys;
    sum results[EACH][EACH * PARTS] = {};
    if (t < TILE) {
      most[t] = nothing;
      total[t] = 0;
    }
    for (int64_t j0 = 0; j0 < seen; j0 += TILE) {
      sum found[EACH][EACH] = {};
      for (int64_t d0 = 0; d0 < width; d0 += DEPTH) {
        const int deep = width - d0 < DEPTH ? (int)(width - d0) : DEPTH;
        for (int x = t; x < TILE * DEPTH; x += THREADS) {
          const int d = x % DEPTH, i = x / DEPTH;
          left[d * LINE + i] = d < deep && first + i < queries ? o.q(head, first + i, d0 + d) : (sum)0;
          right[d * LINE + i] = d < deep && j0 + i < seen ? o.k(head, j0 + i, d0 + d) : (sum)0;
        }
        __syncthreads();
        for (int d = 0; d < deep; d++) {
          sum a[EACH], b[EACH];
          for (int e = 0; e < EACH; e++)
            a[e] = left[d * LINE + row + e], b[e] = right[d * LINE + col + e];
          for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++)
              found[i][j] = add_product(a[i], b[j], found[i][j]);
        }
        __syncthreads();
      }
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
          const int64_t query = first + row + i, key = j0 + col + j;
          const bool is_seen = query < queries && key < seen && (!causal || key <= query);
          scores[(row + i) * LINE + col + j] = is_seen ? o.masked(head, query, key, found[i][j] * scale) : nothing;
        }
      __syncthreads();
      sum high = nothing;
      for (int j = from; j < from + TILE / SHARES; j++)
        high = larger(high, scores[own * LINE + j]);
      parts[t] = high;
      __syncthreads();
      if (t < TILE) {
        sum was = most[t], now = was;
        for (int s = 0; s < SHARES; s++)
          now = larger(now, parts[t * SHARES + s]);
        shrunk[t] = was == now ? (sum)1 : exponential(was - now);
        most[t] = now;
      }
      __syncthreads();
      const sum base = most[own] == nothing ? (sum)0 : (sum)most[own];
      sum part = 0;
      for (int j = from; j < from + TILE / SHARES; j++) {
        const sum e = exponential(scores[own * LINE + j] - base);
        scores[own * LINE + j] = e;
        part = part + e;
      }
      if (O::drops)
#pragma unroll 1
        for (int j = from; j < from + TILE / SHARES; j++)
          if (first + own < queries && j0 + j < keys)
            scores[own * LINE + j] = o.dropped(head, first + own, j0 + j, scores[own * LINE + j]);
      parts[t] = part;
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH * PARTS; j++)
          results[i][j] = results[i][j] * shrunk[row + i];
      __syncthreads();
      if (t < TILE) {
        sum all = total[t] * shrunk[t];
        for (int s = 0; s < SHARES; s++)
          all = all + parts[t * SHARES + s];
        total[t] = all;
      }
      const int some = seen - j0 < TILE ? (int)(seen - j0) : TILE;
      for (int k0 = 0; k0 < some; k0 += DEPTH)
        for (int p = 0; p < PARTS; p++) {
          const int deep = some - k0 < DEPTH ? some - k0 : DEPTH;
          const int64_t w1 = w0 + p * TILE;
          for (int x = t; x < TILE * DEPTH; x += THREADS) {
            const int k = x / TILE, w = x % TILE;
            right[k * LINE + w] = k < deep && w1 + w < out_width ? o.v(head, j0 + k0 + k, w1 + w) : (sum)0;
          }
          __syncthreads();
          for (int k = 0; k < deep; k++) {
            sum a[EACH], b[EACH];
            for (int e = 0; e < EACH; e++)
              a[e] = scores[(row + e) * LINE + k0 + k], b[e] = right[k * LINE + col + e];
            for (int i = 0; i < EACH; i++)
              for (int j = 0; j < EACH; j++)
                results[i][p * EACH + j] = add_product(a[i], b[j], results[i][p * EACH + j]);
          }
          __syncthreads();
        }
    }
    __syncthreads();
    for (int i = 0; i < EACH; i++) {
      const sum all = total[row + i] == 0 ? (sum)1 : (sum)total[row + i];
      for (int j = 0; j < EACH * PARTS; j++) {
        const int64_t w = w0 + j / EACH * TILE + col + j % EACH;
        if (first + row + i < queries && w < out_width)
          o.put(head, first + row + i, w, results[i][j] / all);
      }
    }
    if (t < TILE && w0 == 0 && first + t < queries) {
      const sum high = most[t], base = high == nothing ? (sum)0 : high;
      o.put_log(head, first + t, high == -nothing ? high : base + logarithm(total[t]));
    }
    __syncthreads();
  }
}

/* --- Few queries ------------------------------------------------------------------------------ */
enum { WARPS = THREADS / 32, AT_ONCE = 4 };

/* What a row's greatest score, its sum of exponentials and its sums of values become: the result, */
template <class O> struct whole {
  typedef typename O::sum sum;
  const O &o;
  __device__ void put(int64_t head, int64_t query, int64_t piece, int64_t w, sum value, sum total) const {
    o.put(head, query, w, value / (total == 0 ? (sum)1 : total));
  }
  __device__ void put_sums(int64_t head, int64_t query, int64_t piece, sum high, sum total) const {
    const sum nothing = -(sum)INFINITY, base = high == nothing ? (sum)0 : high;
    o.put_log(head, query, high == -nothing ? high : base + logarithm(total));
  }
};

/* or what is kept of a piece: o.keep(piece, k, v), o.kept(piece, k). */
enum { HIGH, TOTAL, VALUES };
template <class O> struct part {
  typedef typename O::sum sum;
  const O &o;
  __device__ void put(int64_t head, int64_t query, int64_t piece, int64_t w, sum value, sum total) const {
    o.keep(piece, VALUES + w, value);
  }
  __device__ void put_sums(int64_t head, int64_t query, int64_t piece, sum high, sum total) const {
    o.keep(piece, HIGH, high);
    o.keep(piece, TOTAL, total);
  }
};

/* exp(from - to), where `to` is the greater one and both may be what no score is below. */
template <class T> VALUE T shrink(T from, T to) {
  return from == to ? (T)1 : exponential(from - to);
}

/* Of each query `pieces` pieces. A warp goes over its keys by AT_ONCE; WIDE times 32 elements are the most that a row
 * of q, k or v has. */
template <int WIDE, class E, class O>
VALUE void attend_few(const O &o, int64_t heads, int64_t queries, int64_t keys, int64_t width, int64_t out_width,
                      typename O::sum scale, bool causal, int64_t pieces) {
  typedef typename O::sum sum;
  SHARED(sum, highest, WARPS);
  SHARED(sum, totals, WARPS);
  SHARED(sum, values, WARPS * WIDE * 32);
  const E end = {o};
  const sum nothing = -(sum)INFINITY;
  const int64_t share = (keys + pieces - 1) / pieces;
  const int t = (int)threadIdx.x, lane = t % 32, warp = t / 32;
  for (int64_t at = blockIdx.x; at < heads * queries * pieces; at += gridDim.x) {
    const int64_t head = at / pieces / queries, query = at / pieces % queries, first = at % pieces * share;
    const int64_t seen = causal && query < keys ? query + 1 : keys, last = first + share < seen ? first + share : seen;
    sum q[WIDE], results[WIDE] = {}, high = nothing, total = 0;
    for (int e = 0; e < WIDE; e++)
      q[e] = lane + 32 * e < width ? o.q(head, query, lane + 32 * e) : (sum)0;
    for (int64_t j0 = first + warp * AT_ONCE; j0 < last; j0 += WARPS * AT_ONCE) {
      sum scores[AT_ONCE], above = high;
      for (int i = 0; i < AT_ONCE; i++) {
        scores[i] = 0;
        for (int e = 0; e < WIDE; e++)
          if (lane + 32 * e < width && j0 + i < last)
            scores[i] = add_product(q[e], o.k(head, j0 + i, lane + 32 * e), scores[i]);
      }
      for (int by = 16; by > 0; by /= 2)
        for (int i = 0; i < AT_ONCE; i++)
          scores[i] = scores[i] + (sum)__shfl_xor_sync(~0u, scores[i], by);
      for (int i = 0; i < AT_ONCE; i++) {
        scores[i] = j0 + i < last ? o.masked(head, query, j0 + i, scores[i] * scale) : nothing;
        above = larger(above, scores[i]);
      }
      const sum shrunk = shrink(high, above), base = above == nothing ? (sum)0 : above;
      total = total * shrunk;
      for (int e = 0; e < WIDE; e++)
        results[e] = results[e] * shrunk;
      for (int i = 0; i < AT_ONCE && j0 + i < last; i++) {
        const sum x = exponential(scores[i] - base);
        const sum left = O::drops ? o.dropped(head, query, j0 + i, x) : x;
        total = total + x;
        for (int e = 0; e < WIDE; e++)
          if (lane + 32 * e < out_width)
            results[e] = add_product(left, o.v(head, j0 + i, lane + 32 * e), results[e]);
      }
      high = above;
    }
    if (lane == 0) {
      highest[warp] = high;
      totals[warp] = total;
    }
    for (int e = 0; e < WIDE; e++)
      values[(warp * WIDE + e) * 32 + lane] = results[e];
    __syncthreads();
    sum most = nothing, all = 0;
    for (int k = 0; k < WARPS; k++)
      most = larger(most, highest[k]);
    for (int k = 0; k < WARPS; k++)
      all = all + totals[k] * shrink((sum)highest[k], most);
    for (int w = t; w < out_width; w += THREADS) {
      sum value = 0;
      for (int k = 0; k < WARPS; k++)
        value = value + values[k * WIDE * 32 + w] * shrink((sum)highest[k], most);
      end.put(head, query, at, w, value, all);
    }
    if (t == 0)
      end.put_sums(head, query, at, most, all);
    __syncthreads();
  }
}

/* A block has a row of the result. */
template <class O>
VALUE void attend_pieces(const O &o, int64_t heads, int64_t queries, int64_t out_width, int64_t pieces) {
  typedef typename O::sum sum;
  const whole<O> end = {o};
  for (int64_t at = blockIdx.x; at < heads * queries; at += gridDim.x) {
    const int64_t first = at * pieces, head = at / queries, query = at % queries;
    sum most = -(sum)INFINITY, all = 0;
    for (int64_t p = first; p < first + pieces; p++)
      most = larger(most, o.kept(p, HIGH));
    for (int64_t p = first; p < first + pieces; p++)
      all = all + o.kept(p, TOTAL) * shrink(o.kept(p, HIGH), most);
    for (int64_t w = threadIdx.x; w < out_width; w += THREADS) {
      sum value = 0;
      for (int64_t p = first; p < first + pieces; p++)
        value = value + o.kept(p, VALUES + w) * shrink(o.kept(p, HIGH), most);
      end.put(head, query, at, w, value, all);
    }
    if (threadIdx.x == 0)
      end.put_sums(head, query, at, most, all);
  }
}
} /* namespace attention */
