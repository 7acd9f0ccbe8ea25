/* bag.c - shapes of embedding bags: sums, means and largest of rows picked by number. */
#include "kernels/meta/bag.h"

static fnz_status check_indices(const fnzi_krn_call *call, const fnz_geometry *g,
                                const char *name) {
  if (g->dtype != FNZ_I64 && g->dtype != FNZ_I32)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s are %s; they must be i64 or i32", name,
                                fnzi_dtype(g->dtype)->name);
  if (g->rank != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s have %u dimensions; they need 1", name,
                                g->rank);
  return FNZ_OK;
}

/* A number that is None, or negative where None cannot be said, pads nothing. */
static fnz_status read_padding(const fnzi_krn_call *call, fnzi_meta_bags *b) {
  const fnz_arg *given = fnzi_krn_named(call, "padding_idx");
  bool wraps = strchr(call->op->name, '.') != NULL;
  b->padding = -1;
  if (!given || given->tag != FNZ_ARG_INT)
    return FNZ_OK;
  b->padding = given->u.i;
  if (!wraps)
    return FNZ_OK;
  if (b->padding < -b->rows || b->padding >= b->rows)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "padding_idx %lld is outside of %lld rows",
                                (long long)b->padding, (long long)b->rows);
  b->padding += b->padding < 0 ? b->rows : 0;
  return FNZ_OK;
}

/* If eager takes its shortcut to a sum, it leaves out which bag each index belongs to. */
static bool is_short(const fnzi_krn_call *call, const fnzi_meta_bags *b) {
  const fnz_geometry *weight = fnzi_krn_call_geometry(call, 0);
  const fnzi_krn_array *scale = fnzi_krn_named_array(call, "per_sample_weights");
  return b->mode == FNZI_BAG_SUM && b->padding < 0 && weight->dtype != FNZ_F64 &&
         weight->strides[1] == 1 && (!scale || scale->geometry.strides[0] == 1);
}

fnz_status fnzi_meta_bags_read(fnzi_krn_call *call, fnzi_meta_bags *out) {
  const fnz_geometry *weight = fnzi_krn_call_geometry(call, 0),
                     *at = fnzi_krn_call_geometry(call, 1);
  const fnz_geometry *offsets = fnzi_krn_call_geometry(call, 2);
  if (weight->rank != 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "weight has %u dimensions; it needs 2",
                                weight->rank);
  FNZ_TRY(check_indices(call, at, "indices"));
  FNZ_TRY(check_indices(call, offsets, "offsets"));
  bool open = fnzi_krn_named_bool(call, "include_last_offset", false);
  *out = (fnzi_meta_bags){.mode = fnzi_krn_named_int(call, "mode", FNZI_BAG_SUM),
                          .rows = weight->sizes[0],
                          .width = weight->sizes[1],
                          .count = at->sizes[0],
                          .bags = offsets->sizes[0] - (open ? 1 : 0)};
  if (out->mode < FNZI_BAG_SUM || out->mode > FNZI_BAG_MAX)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "mode is %lld; it must be 0, 1 or 2",
                                (long long)out->mode);
  if (out->bags < 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "offsets are empty; with include_last_offset they need one");
  FNZ_TRY(read_padding(call, out));
  const fnzi_krn_array *scale = fnzi_krn_named_array(call, "per_sample_weights");
  if (scale) {
    if (out->mode != FNZI_BAG_SUM)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                                  "per_sample_weights are for mode 0, sum");
    if (scale->geometry.dtype != fnzi_krn_call_geometry(call, 0)->dtype)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "per_sample_weights are %s, weight is %s",
                                  fnzi_dtype(scale->geometry.dtype)->name,
                                  fnzi_dtype(fnzi_krn_call_geometry(call, 0)->dtype)->name);
    if (scale->geometry.rank != 1 || fnzi_krn_array_numel(scale) != out->count)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "%lld per_sample_weights for %lld indices",
                                  (long long)fnzi_krn_array_numel(scale), (long long)out->count);
  }
  out->is_short = is_short(call, out);
  return FNZ_OK;
}

/* Sizes of results that only a backward reads differ between eager and traces; recorded ones win.
 */
static fnz_status add_kept(fnzi_krn_call *call, fnz_dtype dtype, uint32_t rank,
                           const int64_t *sizes) {
  size_t k = call->noutputs;
  const fnz_geometry *recorded = call->expected && k < call->nexpected ? call->expected[k] : NULL;
  if (recorded)
    return fnzi_shape_add(call, recorded->dtype, recorded->rank, recorded->sizes, NULL);
  return fnzi_shape_add(call, dtype, rank, sizes, NULL);
}

/* counts_offsets: of sums, results that only a backward reads have the size of the offsets. */
static fnz_status add_bags(fnzi_krn_call *call, bool counts_offsets) {
  fnzi_meta_bags b;
  FNZ_TRY(fnzi_krn_float_check(call));
  FNZ_TRY(fnzi_meta_bags_read(call, &b));
  fnz_dtype index =
      fnzi_promote(fnzi_krn_call_geometry(call, 1)->dtype, fnzi_krn_call_geometry(call, 2)->dtype);
  bool keeps = b.mode == FNZI_BAG_SUM && counts_offsets;
  const int64_t sizes[] = {b.bags, b.width}, places[] = {b.is_short ? 0 : b.count};
  const int64_t counts[] = {keeps ? fnzi_krn_call_geometry(call, 2)->sizes[0] : b.bags};
  FNZ_TRY(fnzi_shape_add(call, fnzi_krn_call_geometry(call, 0)->dtype, 2, sizes, NULL));
  FNZ_TRY(add_kept(call, index, 1, places));
  FNZ_TRY(add_kept(call, index, 1, counts));
  if (b.mode == FNZI_BAG_MAX)
    return add_kept(call, index, 2, sizes);
  return add_kept(call, index, 1, counts);
}

fnz_status fnzi_shape_bag(fnzi_krn_call *call) {
  return add_bags(call, true);
}

fnz_status fnzi_shape_bag_per_bag(fnzi_krn_call *call) {
  return add_bags(call, false);
}
