/* lower_norms.c - norms over channels and groups of channels, as groups with rows: a channel
 * over the whole batch or in one sample, or some channels of a sample. */
#include "engine/device/rows.h"

enum { NONE = FNZI_DEV_ROWS_NONE };

typedef struct norm {
  fnzi_dev_rows r;
  const fnzi_krn_call *call;
  const fnz_geometry *x;
  int64_t *sizes; /* of the group */
  fnz_dtype class;
  int64_t length; /* of a row */
  bool fits;
} norm;

/* --- Values ----------------------------------------------------------------------------------- */
static uint16_t norms_unary(norm *n, const char *row, uint16_t a) {
  return fnzi_dev_rows_apply(&n->r, row, a, NONE, NONE);
}
static uint16_t norms_binary(norm *n, const char *row, uint16_t a, uint16_t b) {
  return fnzi_dev_rows_apply(&n->r, row, a, b, NONE);
}
static uint16_t norms_as(norm *n, fnz_dtype dtype, uint16_t a) {
  return fnzi_dev_rows_convert(&n->r, dtype, a);
}
static uint16_t norms_constant(norm *n, double v) {
  return fnzi_dev_rows_constant(&n->r, FNZ_F64, v);
}
/* Rounds to the type of the data, as the CPU's kernel does at this point. */
static uint16_t rounded(norm *n, uint16_t a) {
  return norms_as(n, FNZ_F64, norms_as(n, n->class, a));
}
static uint16_t norms_mean(norm *n, uint16_t a) {
  uint16_t sum = fnzi_dev_rows_fold(&n->r, "sum", norms_as(n, FNZ_F64, a));
  return norms_binary(n, "div", sum, norms_constant(n, (double)n->length));
}

/* --- Lanes ------------------------------------------------------------------------------------ */
/* `strides`: of elements, along the dimensions of the group. */
static void norms_add_lane(norm *n, const fnzi_krn_array *a, uint16_t slot, bool stores,
                           const int64_t *strides) {
  fnzi_dev_operand operand;
  n->fits = n->fits && fnzi_dev_operand_of(n->r.m, a, &operand);
  if (!n->fits)
    return;
  fnzi_cuda_lane *lane = fnzi_dev_rows_lane(&n->r, slot, stores, operand);
  for (uint32_t d = 0; d < n->r.g.rank; d++)
    lane->strides[d] = fnzi_krn_stride_bytes(strides[d], a->cell);
}

/* Loads an operand: values of rows as double, elements in the computing type. `otherwise` replaces
 * a missing operand. */
static uint16_t load(norm *n, const fnzi_krn_array *a, bool of_rows, const int64_t *strides,
                     double otherwise) {
  fnz_dtype dtype = of_rows ? FNZ_F64 : n->class;
  if (!a)
    return fnzi_dev_rows_constant(&n->r, dtype, otherwise);
  uint16_t slot = fnzi_dev_rows_value(&n->r, a->window.dtype, of_rows);
  norms_add_lane(n, a, slot, false, strides);
  return norms_as(n, dtype, slot);
}

/* Stores result k, if it exists and has elements. */
static void store(norm *n, size_t k, uint16_t slot, const int64_t *strides) {
  const fnzi_krn_array *a = k < n->call->noutputs ? n->call->outputs[k] : NULL;
  if (a && fnzi_krn_array_numel(a) > 0)
    norms_add_lane(n, a, norms_as(n, a->window.dtype, slot), true, strides);
}

/* Returns why the call cannot be computed as rows; NULL if it can. */
static const char *why_not(const fnzi_krn_call *call) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  bool floats = true;
  for (uint32_t k = 0; k < call->op->nparams && floats; k++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&call->args[k]);
    fnz_dtype dtype = a ? a->window.dtype : FNZ_F32;
    floats = fnzi_is_float(dtype) && fnzi_cuda_text_converts(dtype);
  }
  if (!floats)
    return "no norm of its types";
  if (fnzi_krn_array_numel(x) == 0)
    return "there are no elements";
  return x->window.rank < 2 || x->window.rank >= FNZ_MAX_RANK ? "too few or too many dimensions"
                                                              : NULL;
}

static fnz_status open_norm(fnzi_dev_builder *m, const fnzi_krn_call *call, norm *n) {
  const fnz_geometry *x = &fnzi_krn_call_input(call, 0)->window;
  *n = (norm){.call = call, .x = x, .class = x->dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32, .fits = true};
  FNZ_TRY(fnzi_dev_rows_begin(m, &n->r));
  n->sizes = (int64_t *)(uintptr_t)n->r.g.sizes;
  return FNZ_OK;
}

/* Sets the shape of rows, and their length, from n->sizes: `outer` dimensions over rows come before
 * the dimensions of a row. */
static void norms_measure(norm *n, uint32_t outer, uint32_t rank) {
  n->r.g.outer = outer;
  n->r.g.rank = rank;
  n->length = 1;
  for (uint32_t d = outer; d < rank; d++)
    n->length = fnzi_krn_stride_bytes(n->length, (size_t)n->sizes[d]);
}

static fnz_status end_norm(norm *n, fnzi_dev_work *out) {
  return n->fits ? fnzi_dev_rows_end(&n->r, out)
                 : fnzi_dev_work_refuse(out, "an operand is in no buffer of the plan");
}

/* --- Groups of channels ----------------------------------------------------------------------- */
/* Strides of a tensor [batch, channels, ...] along batch, groups, channels of a group, ... */
static void split_channels(const norm *n, const fnz_geometry *g, int64_t *out) {
  out[0] = g->strides[0];
  out[1] = fnzi_krn_stride_bytes(g->strides[1], (size_t)n->sizes[2]);
  for (uint32_t d = 1; d < g->rank; d++)
    out[d + 1] = g->strides[d];
}

fnz_status fnzi_dev_lower_group_norm(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  int64_t groups = fnzi_krn_named_int(call, "num_groups", 0), strides[FNZ_MAX_RANK];
  const char *why = why_not(call);
  norm n;
  if (why)
    return fnzi_dev_work_refuse(out, why);
  FNZ_TRY(open_norm(m, call, &n));
  groups = groups ? groups : fnzi_krn_named_int(call, "group", 1);
  n.sizes[0] = n.x->sizes[0];
  n.sizes[1] = groups;
  n.sizes[2] = n.x->sizes[1] / groups;
  for (uint32_t d = 2; d < n.x->rank; d++)
    n.sizes[d + 1] = n.x->sizes[d];
  norms_measure(&n, 2, n.x->rank + 1);
  split_channels(&n, n.x, strides);
  uint16_t x = load(&n, fnzi_krn_call_input(call, 0), false, strides, 0), mu = norms_mean(&n, x);
  uint16_t less = fnzi_dev_rows_less_mean(&n.r, x, mu), d = norms_as(&n, FNZ_F64, less);
  uint16_t var = norms_mean(&n, norms_binary(&n, "mul", d, d));
  uint16_t rstd = norms_unary(
      &n, "rsqrt",
      norms_binary(&n, "add", var, norms_constant(&n, fnzi_krn_named_float(call, "eps", 1e-5))));
  const fnzi_krn_array *w = fnzi_krn_named_array(call, "weight"),
                       *b = fnzi_krn_named_array(call, "bias");
  const int64_t w_step = w ? w->window.strides[0] : 0, b_step = b ? b->window.strides[0] : 0;
  const int64_t w_strides[FNZ_MAX_RANK] = {0, fnzi_krn_stride_bytes(w_step, (size_t)n.sizes[2]),
                                           w_step};
  const int64_t b_strides[FNZ_MAX_RANK] = {0, fnzi_krn_stride_bytes(b_step, (size_t)n.sizes[2]),
                                           b_step};
  uint16_t scale = load(&n, w, false, w_strides, 1), shift = load(&n, b, false, b_strides, 0);
  uint16_t normal = norms_binary(&n, "mul", less, norms_as(&n, n.class, rstd));
  split_channels(&n, &call->outputs[0]->window, strides);
  store(&n, 0, fnzi_dev_rows_apply(&n.r, "add_scaled", shift, scale, normal), strides);
  for (size_t k = 1; k < 3 && k < call->noutputs; k++) {
    const int64_t *own = call->outputs[k]->window.strides;
    const int64_t rows[FNZ_MAX_RANK] = {own[0], own[1]};
    store(&n, k, k == 1 ? mu : rstd, rows);
  }
  return end_norm(&n, out);
}

/* --- Channels --------------------------------------------------------------------------------- */
/* The statistics of a channel, in double. */
typedef struct moments {
  uint16_t mean, squares, var;
} moments;

/* Eager's own roundings: kernels/cpu/norm.c says why. */
static moments measured(norm *n, uint16_t x) {
  moments m;
  m.mean = rounded(n, norms_mean(n, x));
  uint16_t d = norms_binary(n, "sub", x, norms_as(n, n->class, m.mean));
  uint16_t sum =
      fnzi_dev_rows_fold(&n->r, "sum", norms_as(n, FNZ_F64, norms_binary(n, "mul", d, d)));
  m.squares = rounded(n, sum);
  m.var = rounded(n, norms_binary(n, "div", m.squares, norms_constant(n, (double)n->length)));
  return m;
}

static uint16_t deviation(norm *n, uint16_t var, bool measured) {
  uint16_t eps = norms_constant(n, fnzi_krn_named_float(n->call, "eps", 1e-5));
  if (measured)
    return rounded(n, norms_unary(n, "rsqrt", norms_binary(n, "add", var, eps)));
  uint16_t root = norms_unary(n, "sqrt", rounded(n, norms_binary(n, "add", var, rounded(n, eps))));
  return rounded(n, norms_binary(n, "div", norms_constant(n, 1), rounded(n, root)));
}

/* Stores result k, a number for each channel. */
static void store_channels(norm *n, size_t k, uint16_t slot) {
  const fnzi_krn_array *a = k < n->call->noutputs ? n->call->outputs[k] : NULL;
  int64_t step = a && a->window.rank ? a->window.strides[0] : 0;
  store(n, k, slot, (const int64_t[FNZ_MAX_RANK]){step});
}

/* A norm of channels: over the batch, or in each sample. Results from `first` on are the new
 * running statistics; 0: none are. */
typedef struct channels {
  norm n;
  bool training, per_sample;
  size_t first;
} channels;

/* Strides of a tensor of the sizes of x. */
static void along_channels(const channels *c, const fnz_geometry *g, int64_t *out) {
  out[0] = g->strides[c->per_sample ? 0 : 1];
  out[1] = g->strides[c->per_sample ? 1 : 0];
  for (uint32_t d = 2; d < FNZ_MAX_RANK; d++)
    out[d] = d < g->rank ? g->strides[d] : 0;
}

/* An operand that has a number for each channel. */
static uint16_t load_channels(channels *c, const char *name, double otherwise) {
  const fnzi_krn_array *a = fnzi_krn_named_array(c->n.call, name);
  int64_t step = a ? a->window.strides[0] : 0;
  return load(&c->n, a, true,
              (const int64_t[FNZ_MAX_RANK]){c->per_sample ? 0 : step, c->per_sample ? step : 0},
              otherwise);
}

/* Emits y = x * scale + shift per channel, and the statistics that are results. */
static void code_channels(channels *c, uint16_t x, const int64_t *to) {
  norm *n = &c->n;
  uint16_t old_mean = load_channels(c, "running_mean", 0),
           old_var = load_channels(c, "running_var", 0);
  moments of = {old_mean, NONE, old_var};
  if (c->training)
    of = measured(n, x);
  uint16_t rstd = deviation(n, of.var, c->training);
  uint16_t scale = rounded(n, norms_binary(n, "mul", rstd, load_channels(c, "weight", 1)));
  uint16_t shift = rounded(n, norms_binary(n, "sub", load_channels(c, "bias", 0),
                                           norms_binary(n, "mul", of.mean, scale)));
  scale = norms_as(n, n->class, scale);
  store(n, 0, fnzi_dev_rows_apply(&n->r, "add_scaled", norms_as(n, n->class, shift), scale, x), to);
  if (c->training && !c->per_sample) {
    store_channels(n, 1, of.mean);
    store_channels(n, 2, rstd);
  }
  if (c->first && c->training) {
    /* The running statistics, from the second result on that is theirs. */
    double momentum = fnzi_krn_named_float(n->call, "momentum", 0.1);
    uint16_t part = rounded(n, norms_constant(n, momentum)),
             keep = rounded(n, norms_constant(n, 1 - momentum));
    uint16_t unbiased =
        rounded(n, norms_binary(n, "div", of.squares, norms_constant(n, (double)n->length - 1)));
    uint16_t old_part_mean = rounded(n, norms_binary(n, "mul", keep, old_mean)),
             old_part_var = rounded(n, norms_binary(n, "mul", keep, old_var));
    uint16_t more = rounded(n, norms_binary(n, "mul", part, of.mean));
    store_channels(n, c->first, norms_binary(n, "add", more, old_part_mean));
    store_channels(n, c->first + 1,
                   norms_binary(n, "add", norms_binary(n, "mul", part, unbiased), old_part_var));
  } else if (c->first) {
    store_channels(n, c->first, old_mean);
    store_channels(n, c->first + 1, old_var);
  }
}

static fnz_status over_channels(fnzi_dev_builder *m, fnzi_krn_call *call, channels *c,
                                fnzi_dev_work *out) {
  int64_t strides[FNZ_MAX_RANK];
  const char *why = why_not(call);
  bool given =
      fnzi_krn_named_array(call, "running_mean") && fnzi_krn_named_array(call, "running_var");
  if (!why && !c->training && !given)
    why = "running statistics are not given";
  if (why)
    return fnzi_dev_work_refuse(out, why);
  FNZ_TRY(open_norm(m, call, &c->n));
  const fnz_geometry *g = c->n.x;
  bool is_one = c->per_sample && g->rank == 2; /* element in a row */
  c->n.sizes[0] = g->sizes[c->per_sample ? 0 : 1];
  c->n.sizes[1] = g->sizes[c->per_sample ? 1 : 0];
  for (uint32_t d = 2; d < g->rank; d++)
    c->n.sizes[d] = g->sizes[d];
  if (is_one)
    c->n.sizes[2] = 1;
  norms_measure(&c->n, c->per_sample ? 2 : 1, g->rank + is_one);
  along_channels(c, g, strides);
  uint16_t x = load(&c->n, fnzi_krn_call_input(call, 0), false, strides, 0);
  along_channels(c, &call->outputs[0]->window, strides);
  code_channels(c, x, strides);
  return end_norm(&c->n, out);
}

fnz_status fnzi_dev_lower_batch_norm(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out) {
  channels c = {.training = fnzi_krn_named_bool(call, "training", false)};
  switch (call->row->run) {
  case FNZI_RUN_instance_norm:
    c.per_sample = true;
    c.training = fnzi_krn_named_bool(call, "use_input_stats", true);
    break;
  case FNZI_RUN_batch_norm_with_update:
    c.training = true;
    c.first = 4;
    break;
  case FNZI_RUN_batch_norm_functional:
    c.first = 3;
    break;
  default:
    break;
  }
  return over_channels(m, call, &c, out);
}
