/* attend.cu - softmax(q k^T * scale + mask) v, by blocks of 256 threads.
 *
 * O, which text_attention.c writes, reads and stores: it has the type of sums, q(head, query, w),
 * k(head, key, w), v(head, key, w), masked(head, query, key, score), put(head, query, w, value) and
 * put_log(head, query, value). If O::drops is true, dropped(head, query, key, exponential) gives
 * the rest of an exponential after dropout.
 *
 * A block has 64 queries of one head, and goes over the keys by 64 with the maximum and the sum so
 * far. If there are few queries (attend_few), a block has one of them and a piece of the keys, and
 * attend_pieces joins the pieces. Sizes alone decide the order of each sum. A row whose keys are all
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

/* `heads` are all heads of the batch. In attend_few each query has `pieces` pieces. */
template <class T> struct shape {
  int64_t heads, queries, keys, width, out_width;
  T scale;
  bool causal;
  int64_t pieces;
};

/* --- Many queries ----------------------------------------------------------------------------- */
/* Queries from `first` on, columns of the result from `w0` on, keys below `seen`. */
struct tile {
  int64_t head, first, w0, seen;
};

/* Memory that the threads of a block share: DEPTH elements of rows of both factors at once; scores;
 * of each row the greatest score, the sum of exponentials, and the factor by which the sums before
 * shrink; a number of each thread. */
template <int DEPTH, class T> struct memory {
  SHARED_FIELD(T, left, DEPTH * LINE);
  SHARED_FIELD(T, right, DEPTH * LINE);
  SHARED_FIELD(T, scores, TILE * LINE);
  SHARED_FIELD(T, most, TILE);
  SHARED_FIELD(T, total, TILE);
  SHARED_FIELD(T, shrunk, TILE);
  SHARED_FIELD(T, parts, TILE * SHARES);
};

/* A thread computes 4 by 4 elements, from `row` and `col` on. It also has a quarter of row `own` of
 * the scores, from column `from` on. */
struct thread {
  int t, row, col, own, from;
};

VALUE thread this_thread() {
  const int t = (int)threadIdx.x;
  return {t, t / ACROSS * EACH, t % ACROSS * EACH, t / SHARES, t % SHARES * (TILE / SHARES)};
}

/* found += q k^T for the keys from j0 on. */
template <int DEPTH, class O>
VALUE void add_scores(const O &o, const shape<typename O::sum> &s, const memory<DEPTH, typename O::sum> &m,
                      const tile &b, int64_t j0, typename O::sum (&found)[EACH][EACH]) {
  typedef typename O::sum sum;
  const thread me = this_thread();
  for (int64_t d0 = 0; d0 < s.width; d0 += DEPTH) {
    const int deep = s.width - d0 < DEPTH ? (int)(s.width - d0) : DEPTH;
    for (int x = me.t; x < TILE * DEPTH; x += THREADS) {
      const int d = x % DEPTH, i = x / DEPTH;
      m.left[d * LINE + i] = d < deep && b.first + i < s.queries ? o.q(b.head, b.first + i, d0 + d) : (sum)0;
      m.right[d * LINE + i] = d < deep && j0 + i < b.seen ? o.k(b.head, j0 + i, d0 + d) : (sum)0;
    }
    __syncthreads();
    for (int d = 0; d < deep; d++) {
      sum x[EACH], y[EACH];
      for (int e = 0; e < EACH; e++)
        x[e] = m.left[d * LINE + me.row + e], y[e] = m.right[d * LINE + me.col + e];
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
          found[i][j] = add_product(x[i], y[j], found[i][j]);
    }
    __syncthreads();
  }
}

/* Stores the scores of the keys from j0 on, with scale and mask. */
template <int DEPTH, class O>
VALUE void put_scores(const O &o, const shape<typename O::sum> &s, const memory<DEPTH, typename O::sum> &m,
                      const tile &b, int64_t j0, const typename O::sum (&found)[EACH][EACH]) {
  const typename O::sum nothing = -(typename O::sum)INFINITY;
  const thread me = this_thread();
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) {
      const int64_t query = b.first + me.row + i, key = j0 + me.col + j;
      const bool is_seen = query < s.queries && key < b.seen && (!s.causal || key <= query);
      m.scores[(me.row + i) * LINE + me.col + j] =
          is_seen ? o.masked(b.head, query, key, found[i][j] * s.scale) : nothing;
    }
  __syncthreads();
}

/* The greatest score of each row so far. */
template <int DEPTH, class T> VALUE void find_most(const memory<DEPTH, T> &m) {
  const thread me = this_thread();
  T high = -(T)INFINITY;
  for (int j = me.from; j < me.from + TILE / SHARES; j++)
    high = larger(high, m.scores[me.own * LINE + j]);
  m.parts[me.t] = high;
  __syncthreads();
  if (me.t < TILE) {
    T was = m.most[me.t], now = was;
    for (int s = 0; s < SHARES; s++)
      now = larger(now, m.parts[me.t * SHARES + s]);
    m.shrunk[me.t] = was == now ? (T)1 : exponential(was - now);
    m.most[me.t] = now;
  }
  __syncthreads();
}

/* Scores become exponentials, and their sum in this thread is stored. The sum is without dropout. */
template <int DEPTH, class O>
VALUE void put_exponentials(const O &o, const shape<typename O::sum> &s, const memory<DEPTH, typename O::sum> &m,
                            const tile &b, int64_t j0) {
  typedef typename O::sum sum;
  const thread me = this_thread();
  const sum base = m.most[me.own] == -(sum)INFINITY ? (sum)0 : (sum)m.most[me.own];
  const int64_t query = b.first + me.own;
  sum part = 0;
  for (int j = me.from; j < me.from + TILE / SHARES; j++) {
    const sum e = exponential(m.scores[me.own * LINE + j] - base);
    m.scores[me.own * LINE + j] = e;
    part = part + e;
  }
  if (O::drops)
#pragma unroll 1
    for (int j = me.from; j < me.from + TILE / SHARES; j++)
      if (query < s.queries && j0 + j < s.keys)
        m.scores[me.own * LINE + j] = o.dropped(b.head, query, j0 + j, m.scores[me.own * LINE + j]);
  m.parts[me.t] = part;
}

/* Adds the sums of threads to that of each row. */
template <int DEPTH, class T> VALUE void add_totals(const memory<DEPTH, T> &m) {
  const int t = (int)threadIdx.x;
  __syncthreads();
  if (t >= TILE)
    return;
  T all = m.total[t] * m.shrunk[t];
  for (int s = 0; s < SHARES; s++)
    all = all + m.parts[t * SHARES + s];
  m.total[t] = all;
}

/* results += exponentials v for the keys from j0 on. WIDTH: elements of a row that a thread has. */
template <int DEPTH, int WIDTH, class O>
VALUE void add_values(const O &o, const shape<typename O::sum> &s, const memory<DEPTH, typename O::sum> &m,
                      const tile &b, int64_t j0, typename O::sum (&results)[EACH][WIDTH]) {
  typedef typename O::sum sum;
  const thread me = this_thread();
  const int some = b.seen - j0 < TILE ? (int)(b.seen - j0) : TILE;
  for (int k0 = 0; k0 < some; k0 += DEPTH)
#pragma unroll
    for (int p = 0; p < WIDTH / EACH; p++) {
      const int deep = some - k0 < DEPTH ? some - k0 : DEPTH;
      const int64_t w1 = b.w0 + p * TILE;
      for (int x = me.t; x < TILE * DEPTH; x += THREADS) {
        const int k = x / TILE, w = x % TILE;
        m.right[k * LINE + w] = k < deep && w1 + w < s.out_width ? o.v(b.head, j0 + k0 + k, w1 + w) : (sum)0;
      }
      __syncthreads();
      for (int k = 0; k < deep; k++) {
        sum x[EACH], y[EACH];
        for (int e = 0; e < EACH; e++)
          x[e] = m.scores[(me.row + e) * LINE + k0 + k], y[e] = m.right[k * LINE + me.col + e];
        for (int i = 0; i < EACH; i++)
          for (int j = 0; j < EACH; j++)
            results[i][p * EACH + j] = add_product(x[i], y[j], results[i][p * EACH + j]);
      }
      __syncthreads();
    }
}

template <int DEPTH, int WIDTH, class O>
VALUE void put_results(const O &o, const shape<typename O::sum> &s, const memory<DEPTH, typename O::sum> &m,
                       const tile &b, const typename O::sum (&results)[EACH][WIDTH]) {
  typedef typename O::sum sum;
  const thread me = this_thread();
  for (int i = 0; i < EACH; i++) {
    const sum all = m.total[me.row + i] == 0 ? (sum)1 : (sum)m.total[me.row + i];
    for (int j = 0; j < WIDTH; j++) {
      const int64_t w = b.w0 + j / EACH * TILE + me.col + j % EACH;
      if (b.first + me.row + i < s.queries && w < s.out_width)
        o.put(b.head, b.first + me.row + i, w, results[i][j] / all);
    }
  }
  if (me.t < TILE && b.w0 == 0 && b.first + me.t < s.queries) {
    const sum high = m.most[me.t], base = high == -(sum)INFINITY ? (sum)0 : high;
    o.put_log(b.head, b.first + me.t, high == (sum)INFINITY ? high : base + logarithm(m.total[me.t]));
  }
}

/* PARTS: the columns of the result that a block has, by 64. */
template <int DEPTH, int PARTS, class O> VALUE void attend(const O &o, const shape<typename O::sum> &s) {
  typedef typename O::sum sum;
  SHARED(sum, left, DEPTH * LINE);
  SHARED(sum, right, DEPTH * LINE);
  SHARED(sum, scores, TILE * LINE);
  SHARED(sum, most, TILE);
  SHARED(sum, total, TILE);
  SHARED(sum, shrunk, TILE);
  SHARED(sum, parts, TILE * SHARES);
  const memory<DEPTH, sum> m = {left, right, scores, most, total, shrunk, parts};
  const int64_t tiles = (s.queries + TILE - 1) / TILE, across = (s.out_width + TILE * PARTS - 1) / (TILE * PARTS);
  const thread me = this_thread();
  for (int64_t at = blockIdx.x; at < s.heads * tiles * across; at += gridDim.x) {
    const int64_t first = at / across % tiles * TILE, last = first + TILE < s.queries ? first + TILE : s.queries;
    const tile b = {at / across / tiles, first, at % across * TILE * PARTS,
                    s.causal && last < s.keys ? last : s.keys};
    sum results[EACH][EACH * PARTS] = {};
    if (me.t < TILE) {
      most[me.t] = -(sum)INFINITY;
      total[me.t] = 0;
    }
    for (int64_t j0 = 0; j0 < b.seen; j0 += TILE) {
      sum found[EACH][EACH] = {};
      add_scores(o, s, m, b, j0, found);
      put_scores(o, s, m, b, j0, found);
      find_most(m);
      put_exponentials(o, s, m, b, j0);
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH * PARTS; j++)
          results[i][j] = results[i][j] * shrunk[me.row + i];
      add_totals(m);
      add_values(o, s, m, b, j0, results);
    }
    __syncthreads();
    put_results(o, s, m, b, results);
    __syncthreads();
  }
}

/* --- Few queries ------------------------------------------------------------------------------ */
enum { WARPS = THREADS / 32, AT_ONCE = 4 };

/* Stores a row of the result from the row's greatest score, sum of exponentials and sums of values. */
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

/* Keeps the same numbers for a piece of the keys: o.keep(piece, k, v), o.kept(piece, k). */
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

/* exp(from - to), where `to` is the greater one. Both may be -INFINITY, the least score. */
template <class T> VALUE T shrink(T from, T to) {
  return from == to ? (T)1 : exponential(from - to);
}

/* A piece of the keys for one query: keys below `last`. */
struct piece {
  int64_t head, query, last;
};

/* A row's sums over the keys of one warp: of each lane every 32nd element of v. */
template <int WIDE, class T> struct row_sums {
  T values[WIDE], high, total;
};

/* The scores of the keys from j0 on. A lane has every 32nd element of q. */
template <int WIDE, class O>
VALUE void find_scores(const O &o, const shape<typename O::sum> &s, const piece &b, int64_t j0,
                       const typename O::sum (&q)[WIDE], typename O::sum (&scores)[AT_ONCE]) {
  typedef typename O::sum sum;
  const int lane = (int)threadIdx.x % 32;
  for (int i = 0; i < AT_ONCE; i++) {
    scores[i] = 0;
    for (int e = 0; e < WIDE; e++)
      if (lane + 32 * e < s.width && j0 + i < b.last)
        scores[i] = add_product(q[e], o.k(b.head, j0 + i, lane + 32 * e), scores[i]);
  }
  for (int by = 16; by > 0; by /= 2)
    for (int i = 0; i < AT_ONCE; i++)
      scores[i] = scores[i] + (sum)__shfl_xor_sync(~0u, scores[i], by);
  for (int i = 0; i < AT_ONCE; i++)
    scores[i] = j0 + i < b.last ? o.masked(b.head, b.query, j0 + i, scores[i] * s.scale) : -(sum)INFINITY;
}

/* Adds the exponentials of scores, and the values of their keys. */
template <int WIDE, class O>
VALUE void add_keys(const O &o, const shape<typename O::sum> &s, const piece &b, int64_t j0,
                    const typename O::sum (&scores)[AT_ONCE], row_sums<WIDE, typename O::sum> &r) {
  typedef typename O::sum sum;
  const int lane = (int)threadIdx.x % 32;
  sum above = r.high;
  for (int i = 0; i < AT_ONCE; i++)
    above = larger(above, scores[i]);
  const sum shrunk = shrink(r.high, above), base = above == -(sum)INFINITY ? (sum)0 : above;
  r.total = r.total * shrunk;
  for (int e = 0; e < WIDE; e++)
    r.values[e] = r.values[e] * shrunk;
  for (int i = 0; i < AT_ONCE && j0 + i < b.last; i++) {
    const sum x = exponential(scores[i] - base);
    const sum left = O::drops ? o.dropped(b.head, b.query, j0 + i, x) : x;
    r.total = r.total + x;
    for (int e = 0; e < WIDE; e++)
      if (lane + 32 * e < s.out_width)
        r.values[e] = add_product(left, o.v(b.head, j0 + i, lane + 32 * e), r.values[e]);
  }
  r.high = above;
}

/* Joins the sums of the warps in their order. `at`: the piece among all. */
template <int WIDE, class E, class T>
VALUE void join_warps(const E &end, const piece &b, int64_t at, int64_t out_width, const row_sums<WIDE, T> &r) {
  SHARED(T, highest, WARPS);
  SHARED(T, totals, WARPS);
  SHARED(T, values, WARPS * WIDE * 32);
  const int t = (int)threadIdx.x, lane = t % 32, warp = t / 32;
  if (lane == 0) {
    highest[warp] = r.high;
    totals[warp] = r.total;
  }
  for (int e = 0; e < WIDE; e++)
    values[(warp * WIDE + e) * 32 + lane] = r.values[e];
  __syncthreads();
  T most = -(T)INFINITY, all = 0;
  for (int k = 0; k < WARPS; k++)
    most = larger(most, highest[k]);
  for (int k = 0; k < WARPS; k++)
    all = all + totals[k] * shrink((T)highest[k], most);
  for (int w = t; w < out_width; w += THREADS) {
    T value = 0;
    for (int k = 0; k < WARPS; k++)
      value = value + values[k * WIDE * 32 + w] * shrink((T)highest[k], most);
    end.put(b.head, b.query, at, w, value, all);
  }
  if (t == 0)
    end.put_sums(b.head, b.query, at, most, all);
  __syncthreads();
}

/* A block has a piece. A warp goes over its keys by AT_ONCE. WIDE times 32 is the largest number of
 * elements in a row of q, k or v. */
template <int WIDE, class E, class O> VALUE void attend_few(const O &o, const shape<typename O::sum> &s) {
  typedef typename O::sum sum;
  const E end = {o};
  const int64_t share = (s.keys + s.pieces - 1) / s.pieces;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  for (int64_t at = blockIdx.x; at < s.heads * s.queries * s.pieces; at += gridDim.x) {
    const int64_t query = at / s.pieces % s.queries, first = at % s.pieces * share;
    const int64_t seen = s.causal && query < s.keys ? query + 1 : s.keys;
    const piece b = {at / s.pieces / s.queries, query, first + share < seen ? first + share : seen};
    row_sums<WIDE, sum> r = {{}, -(sum)INFINITY, 0};
    sum q[WIDE];
    for (int e = 0; e < WIDE; e++)
      q[e] = lane + 32 * e < s.width ? o.q(b.head, query, lane + 32 * e) : (sum)0;
    for (int64_t j0 = first + warp * AT_ONCE; j0 < b.last; j0 += WARPS * AT_ONCE) {
      sum scores[AT_ONCE];
      find_scores(o, s, b, j0, q, scores);
      add_keys(o, s, b, j0, scores, r);
    }
    join_warps(end, b, at, s.out_width, r);
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
