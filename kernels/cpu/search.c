/* search.c - the indices at which numbers would be inserted into sorted ones: searchsorted,
 * bucketize. */
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/recording.h"

#define VALUE    static
#define INTEGERS const int64_t *
static int64_t integer_at(const int64_t *x, int64_t at) {
  return x[at];
}
#include "kernels/cpu/search_values.h"
#undef VALUE

/* Elements as integers, as doubles, or as floats. */
static fnz_status take(fnzi_krn_call *call, const fnzi_krn_array *array, fnz_dtype dtype,
                       fnzi_cpu_reals *reals, const int64_t **integers) {
  const void *data;
  FNZ_TRY(fnzi_krn_dense_get_as(call, array, dtype, &data));
  *integers = dtype == FNZ_I64 ? data : NULL;
  *reals = (fnzi_cpu_reals){dtype == FNZ_F32 ? data : NULL, dtype == FNZ_F64 ? data : NULL};
  return FNZ_OK;
}

/* A number takes the type of the boundaries; a float f32 beside integers. */
static fnz_status search_open_number(fnzi_krn_call *call, const fnz_arg *number,
                                     fnz_dtype boundaries, search *s) {
  bool is_wider = number->tag == FNZ_ARG_FLOAT && !fnzi_is_float(boundaries);
  fnz_dtype dtype = is_wider ? FNZ_F32 : boundaries;
  fnzi_krn_window from, to;
  unsigned char room[16];
  void *wanted;
  s->are_integers = !fnzi_is_float(dtype);
  FNZ_TRY(fnzi_krn_scratch_take(call, 1, sizeof(int64_t), &wanted));
  fnzi_krn_window_number(number, dtype, room, &from);
  fnzi_krn_window_dense(&to, s->are_integers ? FNZ_I64 : FNZ_F64, 0, NULL, wanted);
  if (s->are_integers)
    s->wanted_integers = wanted;
  else
    s->wanted.d = wanted;
  return fnzi_krn_window_assign(call, &to, &from, false);
}

/* Takes a step of each search. With `guards` a search at its end stays there. */
#define STEP_ALL(T, goes_on, many, guards)                                                         \
  for (int k = 0; k < (many); k++) {                                                               \
    const int64_t half = (int64_t)((uint64_t)left[k] / 2), at = low[k] + half;                     \
    const T a = sorted[(guards) && at == length ? length - 1 : at], b = wanted[i + k];             \
    const int64_t is_before = -(int64_t)((!(guards) || left[k] > 0) & (goes_on));                  \
    low[k] += (half + 1) & is_before;                                                              \
    left[k] = half - ((2 * half + 1 - left[k]) & is_before);                                       \
  }
/* As found_at() does, with the same comparisons: with NaN another one first would find another
 * place. Without branches, which no processor foresees, so each search takes as many steps as the
 * longest, which may be one more than the shortest; searches side by side do not wait for each
 * other. Registers hold fewer of wider types. */
#define FIND(T, goes_on, many)                                                                     \
  for (; count - i >= (many); i += (many)) {                                                       \
    int64_t low[many] = {0}, left[many];                                                           \
    for (int k = 0; k < (many); k++)                                                               \
      left[k] = length;                                                                            \
    for (int64_t rest = length / 2 + length % 2; rest > 0; rest /= 2)                              \
      STEP_ALL(T, goes_on, many, false)                                                            \
    if (length & (length + 1))                                                                     \
      STEP_ALL(T, goes_on, many, true)                                                             \
    for (int k = 0; k < (many); k++)                                                               \
      found[i + k] = low[k];                                                                       \
  }
#define FIND_ALL(name, T, many)                                                                    \
  static void name(const T *sorted, int64_t length, const T *wanted, int64_t *found,               \
                   int64_t count, bool right) {                                                    \
    int64_t i = 0;                                                                                 \
    if (right) {                                                                                   \
      FIND(T, !(a > b), many)                                                                      \
      FIND(T, !(a > b), 1)                                                                         \
    } else {                                                                                       \
      FIND(T, !(a >= b), many)                                                                     \
      FIND(T, !(a >= b), 1)                                                                        \
    }                                                                                              \
  }
FIND_ALL(find_integers, int64_t, 4)
FIND_ALL(find_floats, float, 8)
FIND_ALL(find_doubles, double, 4)

/* `count` wanted ones from `at`, in the row of sorted ones from `start`. */
static void find_in_row(const search *s, int64_t start, int64_t at, int64_t count, int64_t *found) {
  if (s->order || (!s->are_integers && !s->sorted.f != !s->wanted.f))
    for (int64_t i = at; i < at + count; i++)
      found[i] = found_at(s, i);
  else if (s->are_integers)
    find_integers(s->sorted_integers + start, s->length, s->wanted_integers + at, found + at, count,
                  s->right);
  else if (s->sorted.f)
    find_floats(s->sorted.f + start, s->length, s->wanted.f + at, found + at, count, s->right);
  else
    find_doubles(s->sorted.d + start, s->length, s->wanted.d + at, found + at, count, s->right);
}

static fnz_status search_run(fnzi_krn_call *call, const fnzi_krn_array *sorted,
                             const fnz_arg *wanted, search *s) {
  const fnz_geometry *g = &sorted->window, *out = &call->outputs[0]->window;
  int64_t count = fnz_geometry_numel(out);
  void *found;
  s->length = g->sizes[g->rank - 1];
  s->per_row = g->rank > 1 && count ? out->sizes[out->rank - 1] : 0;
  const fnzi_krn_array *array = fnzi_krn_arg_array(wanted);
  if (array)
    s->are_integers = !fnzi_is_float(fnzi_promote(array->window.dtype, g->dtype));
  else
    FNZ_TRY(search_open_number(call, wanted, g->dtype, s));
  bool are_floats = g->dtype == FNZ_F32 && (!array || array->window.dtype == FNZ_F32);
  fnz_dtype dtype = s->are_integers ? FNZ_I64 : are_floats && !call->record ? FNZ_F32 : FNZ_F64;
  if (array)
    FNZ_TRY(take(call, array, dtype, &s->wanted, &s->wanted_integers));
  FNZ_TRY(take(call, sorted, dtype, &s->sorted, &s->sorted_integers));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &found));
  if (call->record) { /* sorted ones, wanted ones, places */
    const int64_t integers[] = {s->length, s->per_row, s->are_integers, s->right};
    fnzi_cpu_recording t = {.f = {.nwindows = 0}};
    fnzi_cpu_record_window(&t, dtype, fnz_geometry_numel(g),
                           s->are_integers ? (const void *)s->sorted_integers : s->sorted.d);
    fnzi_cpu_record_window(&t, dtype, count,
                           s->are_integers ? (const void *)s->wanted_integers : s->wanted.d);
    fnzi_cpu_record_window(&t, FNZ_I64, count, found);
    fnzi_cpu_record_integers(&t, integers, sizeof integers);
    return fnzi_cpu_record(call, &t, "found", count);
  }
  int64_t per_row = s->per_row ? s->per_row : count;
  for (int64_t at = 0; at < count; at += per_row)
    find_in_row(s, s->per_row ? at / per_row * s->length : 0, at, per_row, found);
  return FNZ_OK;
}

fnz_status fnzi_kernel_searchsorted(fnzi_krn_call *call) {
  const fnzi_krn_array *sorted = fnzi_krn_call_input(call, 0),
                       *sorter = fnzi_krn_named_array(call, "sorter");
  search s = {.right = fnzi_krn_named_bool(call, "right", false) ||
                       strcmp(fnzi_krn_named_string(call, "side"), "right") == 0};
  if (sorter && call->record)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "a sorter is not recorded");
  if (sorter)
    FNZ_TRY(fnzi_meta_index_values(call, sorter, sorted->window.sizes[sorted->window.rank - 1],
                                   false, &s.order));
  return search_run(call, sorted, fnzi_krn_named(call, "self"), &s);
}

fnz_status fnzi_kernel_bucketize(fnzi_krn_call *call) {
  search s = {.right = fnzi_krn_named_bool(call, "right", false)};
  return search_run(call, fnzi_krn_named_array(call, "boundaries"), fnzi_krn_named(call, "self"),
                    &s);
}
