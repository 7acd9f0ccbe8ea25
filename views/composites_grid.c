/* composites_grid.c - tensors by named dimensions: meshgrid, where each tensor is one dimension of
 * all results, and einsum of one tensor, which is a window into it unless something is summed. */
#include "views/composite.h"

/* --- meshgrid --------------------------------------------------------------------------------- */
/* Which dimension tensor k becomes: "xy" swaps the first two. */
static uint32_t grid_dim(bool swapped, size_t k) {
  return (uint32_t)(swapped && k < 2 ? 1 - k : k);
}

fnz_status fnzi_resolve_meshgrid(fnzi_resolving *r) {
  fnzi_int sizes[FNZ_MAX_RANK], own[FNZ_MAX_RANK];
  fnz_arg order = r->op->nparams > 1 ? fnzi_composite_arg(r, 1) : fnzi_arg_default();
  bool swapped = order.tag == FNZ_ARG_STRING && !strcmp(order.u.s, "xy") && r->ntensors > 1;
  uint32_t rank = (uint32_t)r->ntensors;
  if (r->ntensors > FNZ_MAX_RANK)
    return fnzi_fail(r->ctx, FNZ_CLASS_LIMIT, NULL, "%s of %zu tensors; at most %d", r->op->name,
                     r->ntensors, FNZ_MAX_RANK);
  for (size_t k = 0; k < r->ntensors; k++) {
    const fnz_geometry *g = r->tensors[k];
    if (g->rank > 1)
      return fnzi_fail(r->ctx, FNZ_CLASS_BOUNDS, NULL,
                       "%s: tensor %zu has %u dimensions; at most 1", r->op->name, k, g->rank);
    if (g->dtype != r->tensors[0]->dtype)
      return fnzi_fail(r->ctx, FNZ_CLASS_TYPE, NULL,
                       "%s: tensor %zu is %s, tensor 0 %s; cast them to one type", r->op->name, k,
                       fnzi_dtype(g->dtype)->name, fnzi_dtype(r->tensors[0]->dtype)->name);
    sizes[grid_dim(swapped, k)] = g->rank ? fnzi_int_size(g, 0) : fnzi_int_of(1);
  }
  FNZ_TRY(fnzi_composite_results(r, rank));
  for (uint32_t k = 0; k < rank; k++) {
    for (uint32_t d = 0; d < rank; d++)
      own[d] = d == grid_dim(swapped, k) ? sizes[d] : fnzi_int_of(1);
    r->out->items[k].tensor = k;
    FNZ_TRY(fnzi_composite_add_sizes_step(r, k, FNZI_STEP_VIEW, own, rank));
    FNZ_TRY(fnzi_composite_add_sizes_step(r, k, FNZI_STEP_EXPAND, sizes, rank));
  }
  return FNZ_OK;
}

/* --- einsum ----------------------------------------------------------------------------------- */
typedef struct labels {
  uint32_t rank;
  char at[FNZ_MAX_RANK]; /* a letter; the dimensions of an ellipsis are 1, 2 ... */
} labels;

/* Reads labels up to an arrow or the end. False where the text is no plain list of labels. */
static bool read_labels(const char **text, uint32_t dots, labels *out) {
  out->rank = 0;
  for (; **text && strncmp(*text, "->", 2); ++*text) {
    bool ellipsis = !strncmp(*text, "...", 3);
    uint32_t n = ellipsis ? dots : **text != ' ';
    if ((!ellipsis && strchr(",.-", **text)) || out->rank + n > FNZ_MAX_RANK)
      return false;
    for (uint32_t i = 0; i < n; i++)
      out->at[out->rank++] = ellipsis ? (char)(i + 1) : **text;
    *text += ellipsis ? 2 : 0;
  }
  return true;
}

static int find(const labels *l, uint32_t from, char label) {
  for (uint32_t i = from; i < l->rank; i++)
    if (l->at[i] == label)
      return (int)i;
  return -1;
}

static bool read_equation(const fnzi_resolving *r, const char *text, labels *in, labels *out) {
  labels named;
  const char *start = text;
  if (!read_labels(&start, 0, &named) || named.rank > r->self->rank)
    return false;
  uint32_t dots = strstr(text, "...") ? r->self->rank - named.rank : 0;
  if (!read_labels(&text, dots, in) || in->rank != r->self->rank)
    return false;
  if (!*text) {
    /* Without an arrow: the ellipsis, then the letters in order. A letter that appears twice is
     * summed. */
    out->rank = 0;
    for (int c = 1; c < 'z' + 1; c++)
      for (uint32_t i = 0; i < in->rank && out->rank < FNZ_MAX_RANK; i++)
        if (in->at[i] == c)
          out->at[out->rank++] = (char)c;
    return true;
  }
  text += 2;
  return read_labels(&text, dots, out) && !*text;
}

/* A label that a tensor has twice is a diagonal, whose dimension becomes the last. */
static fnz_status take_diagonals(fnzi_resolving *r, labels *in) {
  for (uint32_t i = 0; i < in->rank;) {
    int twin = find(in, i + 1, in->at[i]);
    if (twin < 0) {
      i++;
      continue;
    }
    if (r->out->items[0].nsteps == FNZI_ITEM_STEPS - 1)
      return fnzi_fail(r->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "%s: more than %d repeated labels; take the diagonals before", r->op->name,
                       FNZI_ITEM_STEPS - 1);
    const fnz_arg args[] = {fnzi_arg_default(), fnzi_arg_int(0), fnzi_arg_int(i),
                            fnzi_arg_int(twin)};
    FNZ_TRY(fnzi_composite_add_step(r, 0, FNZI_STEP_DIAGONAL, args, 4));
    char label = in->at[i];
    uint32_t kept = 0;
    for (uint32_t d = 0; d < in->rank; d++)
      if (d != i && d != (uint32_t)twin)
        in->at[kept++] = in->at[d];
    in->at[kept++] = label;
    in->rank = kept;
  }
  return FNZ_OK;
}

fnz_status fnzi_resolve_einsum(fnzi_resolving *r) {
  labels in, out;
  fnzi_int dims[FNZ_MAX_RANK];
  fnz_arg equation = fnzi_composite_arg(r, 0);
  bool window = r->ntensors == 1 && equation.tag == FNZ_ARG_STRING &&
                read_equation(r, equation.u.s, &in, &out);
  /* The result must have each label of the tensor once, and no other. */
  for (uint32_t i = 0; window && i < in.rank; i++)
    window = find(&out, 0, in.at[i]) >= 0;
  for (uint32_t i = 0; window && i < out.rank; i++)
    window = find(&in, 0, out.at[i]) >= 0 && find(&out, i + 1, out.at[i]) < 0;
  if (!window) {
    r->out->keep = true;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_composite_results(r, 1));
  FNZ_TRY(take_diagonals(r, &in));
  for (uint32_t d = 0; d < out.rank; d++)
    dims[d] = fnzi_int_of(find(&in, 0, out.at[d]));
  return fnzi_composite_add_sizes_step(r, 0, FNZI_STEP_PERMUTE, dims, out.rank);
}
