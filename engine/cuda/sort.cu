/* sort.cu - rows sorted by keys and, of equal ones, by places: a block sorts tiles in shared memory,
 * and sorted runs are merged two by two, where each element finds out how many of the other run
 * come before it. Behind the first ones that count nothing is written. */
VALUE int64_t sort_key_at(const cells *w, const int64_t *n, int64_t row, int64_t i) {
  const int64_t at =
      (row / n[SORT_INNER] * n[SORT_LENGTH] + i) * n[SORT_INNER] + row % n[SORT_INNER];
  const int64_t key =
      n[SORT_INTEGERS] ? integer_at(&w[0], at) : sort_real_key(fnzi_cpu_real_at(&w[0], at));
  return n[SORT_DESCENDS] ? ~key : key;
}

/* By Batcher's bitonic network; a tile has as many rows as fit, the width is a power of two. */
VALUE void formula_sorted(int64_t at, const cells *w, const int64_t *n, const double *d) {
  SHARED(int64_t, keys, SORT_TILE);
  SHARED(int, places, SORT_TILE);
  const int width = (int)n[SORT_WIDTH], me = threadIdx.x;
  const int64_t length = n[SORT_LENGTH], tiles = (length + width - 1) / width,
                first = at * (SORT_TILE / width);
  __syncthreads();
  for (int s = me; s < SORT_TILE; s += 256) {
    const int64_t row = (first + s / width) / tiles,
                  i = (first + s / width) % tiles * width + s % width;
    keys[s] = row < n[SORT_ROWS] && i < length ? sort_key_at(w, n, row, i) : INT64_MAX;
    places[s] = s % width;
  }
  for (int size = 2; size <= width; size *= 2)
    for (int by = size / 2; by > 0; by /= 2) {
      __syncthreads();
      for (int pair = me; pair < SORT_TILE / 2; pair += 256) {
        const int a = 2 * pair - (pair & (by - 1)), b = a + by;
        const bool rises = (a & size) == 0 || size == width;
        const int64_t key_a = keys[a], key_b = keys[b];
        const int place_a = places[a], place_b = places[b];
        const bool is_above = key_a > key_b || (key_a == key_b && place_a > place_b);
        if (is_above == rises) {
          keys[a] = key_b, keys[b] = key_a;
          places[a] = place_b, places[b] = place_a;
        }
      }
    }
  __syncthreads();
  for (int s = me; s < SORT_TILE; s += 256) {
    const int64_t row = (first + s / width) / tiles, begin = (first + s / width) % tiles * width,
                  to = row * length + begin + s % width;
    if (row >= n[SORT_ROWS] || s % width >= n[SORT_KEEP] || begin + s % width >= length)
      continue;
    integer_put(&w[1], to, keys[s]);
    integer_put(&w[2], to, begin + places[s]);
  }
}

/* How many of the run from `start` come before the key; `through`: equal ones do. */
VALUE int64_t sort_before(const cells *keys, int64_t start, int64_t count, int64_t key,
                          bool through) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2, other = integer_at(keys, start + middle);
    if (through ? other <= key : other < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Keys and places, and the same merged. `at` counts by rows, runs, and the elements of a run that are
 * kept. */
VALUE void formula_merged(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t length = n[SORT_LENGTH], run = n[SORT_WIDTH], keep = n[SORT_KEEP],
                count = run < keep ? run : keep, runs = (length + run - 1) / run,
                row = at / (runs * count), own = at / count % runs * run, i = at % count,
                other = (own / run ^ 1) * run, start = row * length;
  if (own + i >= length)
    return;
  int64_t there = other < length ? length - other : 0;
  there = there < count ? there : count;
  const int64_t key = integer_at(&w[0], start + own + i),
                to = i + sort_before(&w[0], start + other, there, key, other < own);
  if (to >= keep)
    return;
  const int64_t begin = start + (other < own ? other : own);
  integer_put(&w[2], begin + to, key);
  integer_put(&w[3], begin + to, integer_at(&w[1], start + own + i));
}

/* Elements of the sorted places, and these: at, by rows. n[SORT_WIDTH]: the window of the elements,
 * or 0; behind it that of the places. */
VALUE void formula_ranked(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t keep = n[SORT_KEEP], inner = n[SORT_INNER], row = at / keep, i = at % keep,
                place = integer_at(&w[0], row * n[SORT_LENGTH] + i),
                to = (row / inner * keep + i) * inner + row % inner;
  const int places = n[SORT_WIDTH] ? 3 : 2;
  if (n[SORT_WIDTH])
    move_cell_or(&w[2], to, &w[1], (row / inner * n[SORT_LENGTH] + place) * inner + row % inner, 0);
  if (w[places].at)
    integer_put(&w[places], to, place);
}

/* The end of the run of equal keys that begins at `at`, from the start of the row; 0 if none begins
 * there. */
VALUE void formula_run_end(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t i = at % n[SORT_LENGTH], key = integer_at(&w[0], at);
  const bool begins = i == 0 || integer_at(&w[0], at - 1) != key;
  integer_put(&w[1], at,
              begins ? i + sort_before(&w[0], at, n[SORT_LENGTH] - i, key, true) : (int64_t)0);
}
