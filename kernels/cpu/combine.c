/* combine.c - combinations: all ways to take r elements of a vector, in the order of their places.
 */
#include "kernels/cpu/cpu.h"

/* A row has so many elements at most: more would be more bytes than there are for one row. */
enum { MOST_TAKEN = 1 << 20 };

/* n over r, for r <= n; false when it leaves 63 bits. */
static bool binomial(int64_t n, int64_t r, int64_t *out) {
  int64_t count = 1;
  r = r < n - r ? r : n - r;
  for (int64_t k = 1; k <= r; k++) {
    __extension__ unsigned __int128 next = (unsigned __int128)count * (uint64_t)(n - r + k);
    if (next / (uint64_t)k > INT64_MAX)
      return false;
    count = (int64_t)(next / (uint64_t)k);
  }
  *out = count;
  return true;
}

fnz_status fnzi_shape_combinations(fnzi_call *call) {
  const fnz_geometry *self = fnzi_input_geometry(call, 0);
  int64_t r = fnzi_named_int(call, "r", 2), sizes[2] = {0, r};
  bool again = fnzi_named_bool(call, "with_replacement", false);
  if (self->rank != 1)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "self has %u dimensions, it must be a vector",
                       self->rank);
  if (r < 0)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "r is %lld; it must not be negative", (long long)r);
  int64_t n = self->sizes[0];
  if (r == 0)
    return fnzi_shape_add(call, self->dtype, 1, sizes, NULL);
  int64_t among = again && n > 0 ? n + (r < MOST_TAKEN ? r : 0) - 1 : n;
  if (r > MOST_TAKEN || (among >= r && !binomial(among, r, &sizes[0])))
    return fnzi_refuse(call, FNZ_CLASS_OVERFLOW, "%lld of %lld elements are too many ways",
                       (long long)r, (long long)n);
  return fnzi_shape_add(call, self->dtype, 2, sizes, NULL);
}

/* The next row of places: the last one that can still move goes on, and those behind it follow. */
static void next_places(int64_t *places, int64_t r, int64_t n, bool again) {
  int64_t k = r - 1, apart = again ? 0 : 1;
  while (k > 0 && places[k] == n - 1 - (r - 1 - k) * apart)
    k--;
  places[k]++;
  for (int64_t i = k + 1; i < r; i++)
    places[i] = places[i - 1] + apart;
}

fnz_status fnzi_kernel_combinations(fnzi_call *call) {
  fnzi_array *out = call->outputs[0];
  int64_t r = fnzi_named_int(call, "r", 2), n = fnzi_array_numel(fnzi_input(call, 0)), *places;
  bool again = fnzi_named_bool(call, "with_replacement", false);
  const void *from;
  void *to;
  if (fnzi_array_numel(out) == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_dense(call, fnzi_input(call, 0), &from));
  FNZ_TRY(fnzi_result_as(call, 0, out->place.dtype, &to));
  FNZI_NEW(&call->scratch, (size_t)r, &places);
  for (int64_t k = 0; k < r; k++)
    places[k] = again ? 0 : k;
  unsigned char *at = to;
  for (int64_t i = 0; i < out->place.sizes[0]; i++) {
    for (int64_t k = 0; k < r; k++, at += out->cell)
      memcpy(at, (const unsigned char *)from + (size_t)places[k] * out->cell, out->cell);
    next_places(places, r, n, again);
  }
  return FNZ_OK;
}
