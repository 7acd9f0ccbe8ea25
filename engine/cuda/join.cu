/* join.cu - what the threads of a warp or of a block of 256 have found becomes one, which all of them
 * get: in an order that the number of threads alone decides. */
#undef LEAST
#undef MOST

template <class Fold, class T> VALUE T join_warp(T mine) {
  for (int by = 16; by > 0; by /= 2) {
    const T other = (T)__shfl_xor_sync(~0u, mine, by);
    mine = threadIdx.x & by ? Fold::take(other, mine) : Fold::take(mine, other);
  }
  return mine;
}

template <class Fold, class T> VALUE T join_block(T mine) {
  SHARED(T, parts, 8);
  mine = join_warp<Fold, T>(mine);
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = parts[0];
  for (int k = 1; k < 8; k++)
    mine = Fold::take(mine, parts[k]);
  __syncthreads();
  return mine;
}

/* All warps of the block have the same rows, one for each lane. */
template <class Fold, class T> VALUE T join_across(T mine) {
  SHARED(T, parts, 256);
  parts[threadIdx.x] = mine;
  __syncthreads();
  mine = parts[threadIdx.x % 32];
  for (int k = 1; k < 8; k++)
    mine = Fold::take(mine, parts[threadIdx.x % 32 + 32 * k]);
  __syncthreads();
  return mine;
}

/* An element and its place; -1: none yet. The first of equal elements is taken. */
template <class T> struct picked {
  T value;
  int64_t at;
};

template <class Pick, class T> VALUE picked<T> take(picked<T> a, picked<T> x) {
  if (x.at < 0 || a.at < 0)
    return x.at < 0 ? a : x;
  if (Pick::is_better(a.value, x.value))
    return x;
  return Pick::is_better(x.value, a.value) || a.at < x.at ? a : x;
}

template <class Pick, class T> VALUE picked<T> join_picked_warp(picked<T> mine) {
  for (int by = 16; by > 0; by /= 2) {
    const picked<T> other = {(T)__shfl_xor_sync(~0u, mine.value, by),
                             (int64_t)__shfl_xor_sync(~0u, mine.at, by)};
    mine = take<Pick, T>(mine, other);
  }
  return mine;
}

template <class Pick, class T> VALUE picked<T> join_picked_block(picked<T> mine) {
  SHARED(T, values, 8);
  SHARED(int64_t, places, 8);
  mine = join_picked_warp<Pick, T>(mine);
  if (threadIdx.x % 32 == 0) {
    values[threadIdx.x / 32] = mine.value;
    places[threadIdx.x / 32] = mine.at;
  }
  __syncthreads();
  mine.value = values[0];
  mine.at = places[0];
  for (int k = 1; k < 8; k++) {
    const picked<T> other = {values[k], places[k]};
    mine = take<Pick, T>(mine, other);
  }
  __syncthreads();
  return mine;
}

template <class Pick, class T> VALUE picked<T> join_picked_across(picked<T> mine) {
  SHARED(T, values, 256);
  SHARED(int64_t, places, 256);
  values[threadIdx.x] = mine.value;
  places[threadIdx.x] = mine.at;
  __syncthreads();
  mine.value = values[threadIdx.x % 32];
  mine.at = places[threadIdx.x % 32];
  for (int k = 1; k < 8; k++) {
    const picked<T> other = {values[threadIdx.x % 32 + 32 * k], places[threadIdx.x % 32 + 32 * k]};
    mine = take<Pick, T>(mine, other);
  }
  __syncthreads();
  return mine;
}

/* --- Scans: each thread gets the sum of the elements before its own ---------------------------- */
template <class Run, class T> struct over {
  VALUE picked<T> take(picked<T> a, picked<T> x) {
    return Run::takes_over(a.value, x.value) ? x : a;
  }
};

template <class T> VALUE T from_below(T mine, int by) {
  return (T)__shfl_up_sync(~0u, mine, by);
}
template <class T> VALUE picked<T> from_below(picked<T> mine, int by) {
  return {(T)__shfl_up_sync(~0u, mine.value, by), (int64_t)__shfl_up_sync(~0u, mine.at, by)};
}

/* Running sums of `each` times 256 elements; a thread has one in each 256. `sum` is the sum of all
 * elements before them, and then includes them. The threads of a block wait for each other twice. */
template <class Fold, class T, int each> VALUE void scan_block(T (&mine)[each], T &sum, bool is_first) {
  SHARED(T, parts, 8 * each);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int u = 0; u < each; u++) {
    for (int by = 1; by < 32; by *= 2) {
      const T below = from_below(mine[u], by);
      if (lane >= by)
        mine[u] = Fold::take(below, mine[u]);
    }
    if (lane == 31)
      parts[8 * u + warp] = mine[u];
  }
  __syncthreads();
  T before = sum;
#pragma unroll
  for (int u = 0; u < each; u++) {
    const T own = mine[u];
    for (int k = 0; k < 8; k++) {
      const T part = parts[8 * u + k];
      const bool any = u > 0 || k > 0 || !is_first;
      if (k == warp && any)
        mine[u] = Fold::take(before, own);
      before = any ? Fold::take(before, part) : part;
    }
  }
  sum = before;
  __syncthreads();
}
