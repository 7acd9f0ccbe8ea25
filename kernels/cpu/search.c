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

/* Elements as integers, as doubles, or as floats where they are floats. */
static fnz_status take(fnzi_krn_call *call, const fnzi_krn_array *array, bool are_integers,
                       fnzi_cpu_reals *reals, const int64_t **integers) {
  bool are_floats = array->place.dtype == FNZ_F32 && !are_integers && !call->record;
  const void *data;
  FNZ_TRY(fnzi_krn_dense_get_as(call, array,
                                are_integers ? FNZ_I64
                                : are_floats ? FNZ_F32
                                             : FNZ_F64,
                                &data));
  *integers = are_integers ? data : NULL;
  *reals = are_integers ? (fnzi_cpu_reals){NULL, NULL}
           : are_floats ? (fnzi_cpu_reals){data, NULL}
                        : (fnzi_cpu_reals){NULL, data};
  return FNZ_OK;
}

/* A number takes the type of the boundaries; a float f32 beside integers. */
static fnz_status open_number(fnzi_krn_call *call, const fnz_arg *number, fnz_dtype boundaries,
                              search *s) {
  bool is_wider = number->tag == FNZ_ARG_FLOAT && !fnzi_is_float(boundaries);
  fnz_dtype dtype = is_wider ? FNZ_F32 : boundaries;
  fnzi_krn_window from, to;
  unsigned char room[16];
  void *wanted;
  s->are_integers = !fnzi_is_float(dtype);
  FNZ_TRY(fnzi_krn_room_take(call, 1, sizeof(int64_t), &wanted));
  fnzi_krn_window_number(number, dtype, room, &from);
  fnzi_krn_window_dense(&to, s->are_integers ? FNZ_I64 : FNZ_F64, 0, NULL, wanted);
  if (s->are_integers)
    s->wanted_integers = wanted;
  else
    s->wanted.d = wanted;
  return fnzi_krn_window_assign(call, &to, &from, false);
}

static fnz_status open_wanted(fnzi_krn_call *call, const fnz_arg *wanted, fnz_dtype boundaries,
                              search *s) {
  const fnzi_krn_array *array = fnzi_krn_arg_array(wanted);
  if (!array)
    return open_number(call, wanted, boundaries, s);
  s->are_integers = !fnzi_is_float(fnzi_promote(array->place.dtype, boundaries));
  return take(call, array, s->are_integers, &s->wanted, &s->wanted_integers);
}

/* The formula of each element, recorded: sorted ones, wanted ones, places. */
static fnz_status record(fnzi_krn_call *call, const search *s, int64_t nsorted, int64_t nwanted,
                         int64_t count, const void *found) {
  const int64_t integers[] = {s->length, s->per_row, s->are_integers, s->right};
  fnz_dtype dtype = s->are_integers ? FNZ_I64 : FNZ_F64;
  fnzi_cpu_recording t = {.f = {.nwindows = 0}};
  const void *sorted = s->are_integers ? (const void *)s->sorted_integers : s->sorted.d;
  const void *wanted = s->are_integers ? (const void *)s->wanted_integers : s->wanted.d;
  fnzi_cpu_record_window(&t, dtype, nsorted, sorted);
  fnzi_cpu_record_window(&t, dtype, nwanted, wanted);
  fnzi_cpu_record_window(&t, FNZ_I64, count, found);
  fnzi_cpu_record_integers(&t, integers, sizeof integers);
  return fnzi_cpu_record(call, &t, "found", count);
}

static fnz_status run(fnzi_krn_call *call, const fnzi_krn_array *sorted, const fnz_arg *wanted,
                      search *s) {
  const fnz_geometry *g = &sorted->place, *out = &call->outputs[0]->place;
  int64_t count = fnz_geometry_numel(out);
  void *found;
  s->length = g->sizes[g->rank - 1];
  s->per_row = g->rank > 1 && count ? out->sizes[out->rank - 1] : 0;
  FNZ_TRY(open_wanted(call, wanted, g->dtype, s));
  FNZ_TRY(take(call, sorted, s->are_integers, &s->sorted, &s->sorted_integers));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &found));
  if (call->record)
    return record(call, s, fnz_geometry_numel(g), count, count, found);
  for (int64_t i = 0; i < count; i++)
    ((int64_t *)found)[i] = found_at(s, i);
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
    FNZ_TRY(fnzi_meta_index_values(call, sorter, sorted->place.sizes[sorted->place.rank - 1], false,
                                   &s.order));
  return run(call, sorted, fnzi_krn_named(call, "self"), &s);
}

fnz_status fnzi_kernel_bucketize(fnzi_krn_call *call) {
  search s = {.right = fnzi_krn_named_bool(call, "right", false)};
  return run(call, fnzi_krn_named_array(call, "boundaries"), fnzi_krn_named(call, "self"), &s);
}
