/* combine.c - combinations: all ways to take r elements of a vector, in the order of their places.
 */
#include "kernels/core/window.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/recording.h"

/* The next row of places: the last place that can still move advances, and those after it
 * follow. */
static void next_places(int64_t *places, int64_t r, int64_t n, bool again) {
  int64_t k = r - 1, apart = again ? 0 : 1;
  while (k > 0 && places[k] == n - 1 - (r - 1 - k) * apart)
    k--;
  places[k]++;
  for (int64_t i = k + 1; i < r; i++)
    places[i] = places[i - 1] + apart;
}

fnz_status fnzi_kernel_combinations(fnzi_krn_call *call) {
  fnzi_krn_array *out = call->outputs[0];
  int64_t r = fnzi_krn_named_int(call, "r", 2),
          n = fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)), *places;
  bool again = fnzi_krn_named_bool(call, "with_replacement", false);
  const void *from;
  void *to;
  if (fnzi_krn_array_numel(out) == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_dense_get(call, fnzi_krn_call_input(call, 0), &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, out->window.dtype, &to));
  if (call->record) {
    const int64_t count = fnzi_krn_array_numel(out), integers[] = {n, r, again};
    fnzi_cpu_recording t = {.f = {.nwindows = 0}};
    fnzi_cpu_record_window(&t, out->window.dtype, n, from);
    fnzi_cpu_record_window(&t, out->window.dtype, count, to);
    fnzi_cpu_record_integers(&t, integers, sizeof integers);
    return fnzi_cpu_record(call, &t, "taken", count);
  }
  FNZI_NEW(&call->scratch, (size_t)r, &places);
  for (int64_t k = 0; k < r; k++)
    places[k] = again ? 0 : k;
  unsigned char *at = to;
  for (int64_t i = 0; i < out->window.sizes[0]; i++) {
    for (int64_t k = 0; k < r; k++, at += out->cell)
      memcpy(at, (const unsigned char *)from + (size_t)places[k] * out->cell, out->cell);
    next_places(places, r, n, again);
  }
  return FNZ_OK;
}
