/* norms.c - normalizations that write their running statistics in training, which is not in their
 * schema. */
#include "run/eager/eager.h"
#include "run/eager/overlap.h"
#include "schema/aten_names.h"

/* --- Batch norm ------------------------------------------------------------------------------- */

static fnz_status write_statistics(fnzi_eag_op *s, const fnz_handle *values) {
  fnz_backend *b = s->in->run.backend;
  fnz_status status = FNZ_OK;
  for (int i = 0; i < 2; i++) {
    fnzi_eag_tensor *target = fnzi_eag_tensor_of(s->in, s->args[FNZI_RUN_NORM_MEAN + i].u.value);
    if (status == FNZ_OK)
      status = fnzi_eag_tensor_write(s->in, target, values[i], NULL);
    else if (values[i] != 0)
      b->release(b->self, values[i]);
  }
  return status;
}

/* Eager's loop order decides the result if statistics share elements with themselves, or with
 * operands that it reads meanwhile: the arguments from `first_read` on. */
static fnz_status check_statistics(fnzi_eag_op *s, size_t first_read) {
  for (size_t k = FNZI_RUN_NORM_MEAN; k <= FNZI_RUN_NORM_VAR; k++) {
    const fnzi_eag_tensor *target = fnzi_eag_tensor_of(s->in, s->args[k].u.value);
    bool meet;
    FNZ_TRY(fnzi_eag_places_overlap(s->ctx, target->g, &meet));
    for (size_t i = first_read; i < k && !meet; i++) {
      const fnzi_eag_tensor *t = fnzi_eag_arg_tensor(s->in, &s->args[i]);
      meet = t && t->memory == target->memory;
      if (meet)
        FNZ_TRY(fnzi_eag_bytes_meet(s->ctx, target->g, t->g, &meet));
    }
    if (meet)
      return fnzi_fail(s->ctx, FNZ_CLASS_OVERLAP, "",
                       "%s writes %s, whose elements share memory with each other or with another "
                       "argument; clone it before",
                       s->op->name, s->op->params[k].name);
  }
  return FNZ_OK;
}

static fnz_status batch_norm(fnzi_eag_op *s) {
  const fnz_op *op = fnzi_ops_find("_native_batch_norm_legit_functional");
  const fnz_geometry *expected[5], *channel;
  fnz_handle values[5];
  fnz_arg *results;
  size_t count;
  if (op == NULL)
    return fnzi_fail(s->ctx, FNZ_CLASS_INTERNAL, "", "no functional batch norm");
  FNZ_TRY(check_statistics(s, 0));
  FNZ_TRY(fnzi_run_node_results(&s->in->run, s->node, &results, &count));
  /* One statistic per channel, in the dtype of the running ones. */
  fnz_geometry *g;
  fnzi_eag_tensor *mean;
  FNZI_NEW(&s->in->run.scratch, 1, &g);
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[FNZI_RUN_NORM_MEAN], &mean));
  *g = *mean->g;
  g->offset = 0;
  channel = g;
  for (size_t i = 0; i < 5; i++)
    expected[i] = i < 3 && i < count ? fnzi_eag_op_recorded(s, results, i) : channel;
  const fnz_request call = {op, s->args, FNZI_RUN_NORM_EPS + 1, expected, ""};
  FNZ_TRY(fnzi_eag_apply(s->in, call, values, 5));
  fnz_backend *b = s->in->run.backend;
  fnz_status kept = FNZ_OK;
  for (int i = 0; i < 3; i++) {
    if (kept == FNZ_OK)
      kept = fnzi_eag_op_push_value(s, expected[i], values[i]);
    if (values[i] != 0)
      b->release(b->self, values[i]);
  }
  fnz_status written = write_statistics(s, values + 3);
  return kept != FNZ_OK ? kept : written;
}

/* --- Instance norm ---------------------------------------------------------------------------- */

typedef struct int_list {
  const int64_t *data;
  uint32_t count;
} int_list;

/* Applies an operator of a tensor and a list to a handle; the result has these sizes, row-major. */
static fnz_status apply_list(fnzi_eag_op *s, const char *name, fnz_handle self, int_list list,
                             int_list sizes, fnz_handle *out) {
  const fnz_op *op = fnzi_ops_find(name);
  fnz_backend *b = s->in->run.backend;
  int64_t strides[FNZ_MAX_RANK];
  fnz_arg items[FNZ_MAX_RANK];
  if (op == NULL)
    return fnzi_fail(s->ctx, FNZ_CLASS_INTERNAL, "", "there is no operator %s", name);
  for (uint32_t i = 0; i < list.count; i++)
    items[i] = fnzi_arg_int(list.data[i]);
  const fnz_arg args[2] = {{.tag = FNZ_ARG_VALUE, .u.value = self},
                           {.tag = FNZ_ARG_LIST, .count = list.count, .u.list = items}};
  const fnz_geometry g = {.dtype = b->geometry(b->self, self)->dtype,
                          .rank = sizes.count,
                          .sizes = sizes.data,
                          .strides = strides};
  fnzi_contiguous_strides(sizes.data, sizes.count, strides);
  const fnz_geometry *expected[1] = {&g};
  fnz_request call = {op, args, 2, expected, ""};
  return fnzi_run_lower_apply(&s->in->run, &call, out, 1);
}

static fnz_status value_at(fnzi_eag_op *s, size_t i, fnz_handle *out) {
  fnzi_eag_tensor *t;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[i], &t));
  return fnzi_eag_tensor_value(s->in, t, out);
}

/* Each instance as channels of one batch; held[0] is the input, held[1] and held[2] are the running
 * statistics, and held[3] to held[7] the results of batch norm. */
static fnz_status norm_instances(fnzi_eag_op *s, const fnz_geometry *g, fnz_handle held[8]) {
  const fnz_op *op = fnzi_ops_find("_native_batch_norm_legit_functional");
  fnz_backend *b = s->in->run.backend;
  int64_t whole[FNZ_MAX_RANK] = {1};
  const int64_t all = whole[1] = g->sizes[0] * g->sizes[1];
  const fnz_geometry *expected[5];
  fnz_handle value;
  for (uint32_t d = 2; d < g->rank; d++)
    whole[d] = g->sizes[d];
  FNZ_TRY(value_at(s, 0, &value));
  const int_list merged = {whole, g->rank};
  FNZ_TRY(apply_list(s, "view_copy", value, merged, merged, &held[0]));
  for (size_t i = 0; i < 2; i++) {
    FNZ_TRY(value_at(s, FNZI_RUN_NORM_MEAN + i, &value));
    FNZ_TRY(
        apply_list(s, "repeat", value, (int_list){g->sizes, 1}, (int_list){&all, 1}, &held[1 + i]));
  }
  for (size_t i = 0; i < 5; i++)
    expected[i] = b->geometry(b->self, held[i > 0]);
  fnz_arg args[FNZI_RUN_NORM_EPS + 1];
  memcpy(args, s->args, sizeof args);
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = held[0]};
  args[1] = args[2] = (fnz_arg){.tag = FNZ_ARG_NONE};
  args[FNZI_RUN_NORM_MEAN] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = held[1]};
  args[FNZI_RUN_NORM_VAR] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = held[2]};
  fnz_request call = {op, args, FNZI_RUN_NORM_EPS + 1, expected, ""};
  return fnzi_run_lower_apply(&s->in->run, &call, held + 3, 5);
}

/* The mean over the batch of a statistic of each instance; the caller owns it. */
static fnz_status over_batch(fnzi_eag_op *s, const fnz_geometry *g, fnz_handle of,
                             fnz_handle *out) {
  fnz_backend *b = s->in->run.backend;
  const int64_t zero = 0; /* the dimension of the batch */
  fnz_handle square;
  const int_list pair = {g->sizes, 2}, batch = {&zero, 1}, channels = {&g->sizes[1], 1};
  FNZ_TRY(apply_list(s, "view_copy", of, pair, pair, &square));
  fnz_status status = apply_list(s, "mean.dim", square, batch, channels, out);
  b->release(b->self, square);
  return status;
}

/* The result does not depend on the running statistics. */
static fnz_status plain_norm(fnzi_eag_op *s, const fnz_geometry *g) {
  const fnz_geometry *expected[1] = {g};
  fnz_arg *args;
  FNZI_NEW(&s->in->run.scratch, s->op->nparams, &args);
  memcpy(args, s->args, s->op->nparams * sizeof *args);
  args[FNZI_RUN_NORM_MEAN] = args[FNZI_RUN_NORM_VAR] = (fnz_arg){.tag = FNZ_ARG_NONE};
  fnzi_eag_op plain = *s;
  plain.args = args;
  fnz_status status = fnzi_eag_op_compute(&plain, NULL, expected, 1);
  s->results = plain.results;
  return status;
}

static fnz_status instance_norm(fnzi_eag_op *s) {
  fnz_backend *b = s->in->run.backend;
  fnz_handle statistics[2] = {0};
  fnzi_eag_tensor *input;
  FNZ_TRY(fnzi_eag_op_tensor(s, &s->args[0], &input));
  if (input->g->rank < 2)
    return fnzi_eag_op_refuse(s, "at least two dimensions are needed", input->g->rank, 2);
  FNZ_TRY(check_statistics(s, FNZI_RUN_NORM_MEAN));
  fnz_handle held[8] = {0};
  fnz_status status = norm_instances(s, input->g, held);
  for (size_t i = 0; i < 2 && status == FNZ_OK; i++)
    status = over_batch(s, input->g, held[6 + i], &statistics[i]);
  for (size_t i = 0; i < 8; i++)
    if (held[i] != 0)
      b->release(b->self, held[i]);
  if (status == FNZ_OK)
    status = plain_norm(s, input->g);
  if (status == FNZ_OK)
    return write_statistics(s, statistics);
  for (size_t i = 0; i < 2; i++)
    if (statistics[i] != 0)
      b->release(b->self, statistics[i]);
  return status;
}

/* --- All of them ------------------------------------------------------------------------------ */

/* Other forms of batch norm that write statistics in training. */
static fnz_status check_others(fnzi_eag_op *s) {
  static const uint16_t others[] = {FNZI_ATEN__batch_norm_impl_index,
                                    FNZI_ATEN_batch_norm_gather_stats,
                                    FNZI_ATEN_batch_norm_gather_stats__out,
                                    FNZI_ATEN_batch_norm_gather_stats_with_counts,
                                    FNZI_ATEN_batch_norm_gather_stats_with_counts__out,
                                    FNZI_ATEN_batch_norm_update_stats,
                                    FNZI_ATEN_batch_norm_update_stats__out,
                                    FNZI_ATEN_cudnn_batch_norm,
                                    FNZI_ATEN_cudnn_batch_norm__out,
                                    FNZI_ATEN_miopen_batch_norm,
                                    FNZI_ATEN_miopen_batch_norm__out,
                                    FNZI_ATEN_native_batch_norm__out};
  if (!fnzi_op_is_among(s->op, others, sizeof others / sizeof *others))
    return FNZ_OK;
  int mean = fnzi_op_param(s->op, "running_mean"), training = fnzi_op_param(s->op, "training");
  if (s->args[mean].tag != FNZ_ARG_VALUE || (training >= 0 && s->args[training].u.i == 0))
    return FNZ_OK;
  return fnzi_fail(
      s->ctx, FNZ_CLASS_UNSUPPORTED, "",
      "%s in training writes its running statistics, and there is no rule for it; call "
      "native_batch_norm",
      s->op->name);
}

fnz_status fnzi_eag_norm(fnzi_eag_op *s, bool *done) {
  *done = fnzi_run_is_norm(s->op) && s->args[FNZI_RUN_NORM_TRAINING].u.i != 0 &&
          s->args[FNZI_RUN_NORM_MEAN].tag == FNZ_ARG_VALUE &&
          s->args[FNZI_RUN_NORM_VAR].tag == FNZ_ARG_VALUE;
  if (!*done)
    return check_others(s);
  return strcmp(s->op->name, "instance_norm") == 0 ? instance_norm(s) : batch_norm(s);
}
