/* collective.c - shapes of collectives: tensors of a group are joined along dimension 0, or dealt
 * out along it. How many processes there are, the operator says. */
#include "kernels/meta/collective.h"

typedef fnz_status size_rule(const fnzi_krn_call *call, const fnz_geometry *from, int64_t *first);

static fnz_status group_size(const fnzi_krn_call *call, int64_t *out) {
  *out = fnzi_krn_named_int(call, "group_size", 1);
  if (*out > 0)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "group_size %lld must be above 0",
                              (long long)*out);
}

/* Not a copy of them for each row. */
static __attribute__((noinline)) fnz_status each_by(fnzi_krn_call *call, size_rule *rule) {
  for (size_t k = 0; k < fnzi_meta_sent_count(call); k++) {
    /* Row by row, with the first size by the rule; a number has one row. */
    const fnz_geometry *from = &fnzi_meta_sent(call, k)->geometry;
    int64_t sizes[FNZ_MAX_RANK] = {1};
    for (uint32_t d = 0; d < from->rank; d++)
      sizes[d] = from->sizes[d];
    FNZ_TRY(rule(call, from, &sizes[0]));
    FNZ_TRY(fnzi_shape_add(call, from->dtype, from->rank ? from->rank : 1, sizes, NULL));
  }
  return FNZ_OK;
}

static __attribute__((noinline)) fnz_status each_the_same(fnzi_krn_call *call) {
  for (size_t k = 0; k < fnzi_meta_sent_count(call); k++) {
    const fnz_geometry *g = &fnzi_meta_sent(call, k)->geometry;
    FNZ_TRY(fnzi_shape_add(call, g->dtype, g->rank, g->sizes, NULL));
  }
  return FNZ_OK;
}

static fnz_status joined(const fnzi_krn_call *call, const fnz_geometry *from, int64_t *first) {
  int64_t group;
  (void)from;
  FNZ_TRY(group_size(call, &group));
  if (fnzi_mul_i64(*first, group, first))
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "%lld tensors together leave 64 bits",
                              (long long)group);
}

static fnz_status dealt(const fnzi_krn_call *call, const fnz_geometry *from, int64_t *first) {
  int64_t group;
  FNZ_TRY(group_size(call, &group));
  if (from->rank == 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "a tensor without dimensions has no part");
  if (*first % group != 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "dimension 0 has size %lld, no multiple of the %lld processes",
                                (long long)*first, (long long)group);
  *first /= group;
  return FNZ_OK;
}

/* Without sizes every process sends as much as it gets. */
static fnz_status exchanged(const fnzi_krn_call *call, const fnz_geometry *from, int64_t *first) {
  const fnz_arg *splits = fnzi_krn_named(call, "output_split_sizes");
  int64_t sum = 0;
  if (from->rank == 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "a tensor without dimensions has no part");
  if (splits->tag != FNZ_ARG_LIST)
    return FNZ_OK;
  for (uint32_t k = 0; k < splits->count; k++) {
    int64_t size = fnzi_krn_number_int(&splits->u.list[k]);
    if (size < 0 || !fnzi_add_i64(sum, size, &sum))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "item %u of output_split_sizes, %lld, is no size", k,
                                  (long long)size);
  }
  *first = sum;
  return FNZ_OK;
}

/* A rule for each row of library.def. */
#define RULE(name, ...)                                                                            \
  fnz_status fnzi_shape_c10d_##name(fnzi_krn_call *call) {                                         \
    return __VA_ARGS__;                                                                            \
  }
RULE(all_gather, each_by(call, joined))
RULE(all_gather_coalesced, each_by(call, joined))
RULE(all_reduce, each_the_same(call))
RULE(all_reduce_coalesced, each_the_same(call))
RULE(all_to_all, each_by(call, exchanged))
RULE(broadcast, each_the_same(call))
RULE(reduce_scatter, each_by(call, dealt))
RULE(reduce_scatter_coalesced, each_by(call, dealt))
RULE(autograd_all_gather, each_by(call, joined))
RULE(autograd_all_to_all, each_by(call, exchanged))
RULE(autograd_reduce_scatter, each_by(call, dealt))
RULE(tagged_all_gather, each_by(call, joined))
RULE(tagged_all_gather_coalesced, each_by(call, joined))
RULE(tagged_all_reduce, each_the_same(call))
RULE(tagged_all_reduce_coalesced, each_the_same(call))
RULE(tagged_all_to_all, each_by(call, exchanged))
RULE(tagged_broadcast, each_the_same(call))
RULE(tagged_reduce_scatter, each_by(call, dealt))
RULE(tagged_reduce_scatter_coalesced, each_by(call, dealt))
#undef RULE
