/* check_recorded.c - checks whether recorded types of results equal the operator's.
 *
 * needs   results of the rule, from arguments as they are at that node
 * gives   dtype, rank and sizes are the rule's; a view lies where its window does, in the recorded
 *         memory of its base; elements of a new result do not share memory */
#include "kernels/check_types.h"
#include "views/views.h"

#include <stdio.h>
#include <stdlib.h>

/* --- Tensors that change -------------------------------------------------------------------------
 * t_, set_, resize_ and out= arguments: all values that are the tensor see it.
 */
static void note_first(fnzi_krn_checker *c, const fnzi_node *n) {
  for (uint32_t k = 0; n->op && k < n->noutputs && k < n->op->nreturns; k++)
    for (uint32_t i = 0; n->op->returns[k].is_write && i < n->nargs; i++)
      if (n->outputs[k].tag == FNZ_ARG_VALUE && n->args[i].tag == FNZ_ARG_VALUE &&
          n->op->params[i].alias == n->op->returns[k].alias)
        c->first[n->outputs[k].u.value] = c->first[n->args[i].u.value];
}

fnz_status fnzi_krn_note_change(fnzi_krn_checker *c, uint64_t value, const fnz_geometry *g) {
  const fnzi_graph *graph = c->graph;
  fnz_geometry *kept;
  int64_t *dims;
  if (!c->now) {
    FNZI_NEW(&c->lasting, graph->values.count, &c->now);
    FNZI_NEW(&c->lasting, graph->values.count, &c->first);
    for (uint32_t i = 0; i < graph->values.count; i++)
      c->first[i] = i;
    for (size_t i = 0; i < graph->nodes.count; i++)
      note_first(c, &graph->nodes.data[i]);
  }
  FNZI_NEW(&c->lasting, 1, &kept);
  FNZI_NEW(&c->lasting, 2 * (size_t)g->rank, &dims);
  *kept = *g;
  kept->symbols = NULL;
  kept->sizes = dims;
  kept->strides = dims + g->rank;
  if (g->rank) {
    memcpy(dims, g->sizes, g->rank * sizeof *dims);
    memcpy(dims + g->rank, g->strides, g->rank * sizeof *dims);
  }
  c->now[c->first[value]] = kept;
  return FNZ_OK;
}

const fnz_geometry *fnzi_krn_look_of(const fnzi_krn_checker *c, uint64_t value) {
  const fnz_geometry *now = c->now ? c->now[c->first[value]] : NULL;
  return now ? now : c->graph->values.data[value].geometry;
}

/* --- Comparing -------------------------------------------------------------------------------- */
/* "f32[2, 3]" */
static const char *type_text(const fnz_geometry *g, char out[160]) {
  char sizes[FNZI_SIZES_TEXT];
  (void)snprintf(out, 160, "%s%s", fnzi_dtype(g->dtype)->name, fnzi_mem_sizes_text(g, sizes));
  return out;
}

/* "strides [2, 1] offset 4" */
static const char *window_text(const fnz_geometry *g, char out[160]) {
  char strides[FNZI_SIZES_TEXT];
  const fnz_geometry steps = {.rank = g->rank, .sizes = g->strides};
  (void)snprintf(out, 160, "strides %s offset %lld", fnzi_mem_sizes_text(&steps, strides),
                 (long long)g->offset);
  return out;
}

/* Releases of PyTorch differ in strides of new and of resized tensors. But none makes their
 * elements one, unless strides are its arguments; but a scatter keeps the strides of its base. */
static fnz_status check_new(const fnzi_krn_checker *c, const fnz_request *request, const char *name,
                            const fnz_geometry *have, const fnz_geometry *want) {
  const fnz_op *op = request->op;
  char recorded[160];
  if (fnzi_same_strides(want, have) || (!want->symbols && fnzi_is_dense(want)) ||
      !fnzi_krn_overlaps_itself(c->samples, want))
    return FNZ_OK;
  /* Whether elements of the base of a scatter share memory. */
  const bool scatters = request->nargs && fnzi_view_scattered(request->op);
  const fnzi_krn_array *base = scatters ? fnzi_krn_arg_array(&request->args[0]) : NULL;
  if (base && !base->geometry.symbols && !fnzi_is_dense(&base->geometry) &&
      fnzi_krn_overlaps_itself(c->samples, &base->geometry))
    return fnzi_fail(c->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the result %s of %s is recorded with %s: its elements share memory, as those "
                     "of the argument do, and no functional result has such; clone() the argument "
                     "first",
                     name, op->name, window_text(want, recorded));
  return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, NULL,
                   "the result %s of %s is recorded with %s, by which its elements share memory, "
                   "but the operator gives each its own; correct the file, or export it again",
                   name, op->name, window_text(want, recorded));
}

/* The memories of a call's arguments, by address: lists may have as many results as it has
 * arguments. */
typedef struct memories {
  const fnzi_krn_storage **data;
  size_t count;
  bool known;
} memories;

static int by_address(const void *left, const void *right) {
  const uintptr_t a = (uintptr_t) * (const fnzi_krn_storage *const *)left;
  const uintptr_t b = (uintptr_t) * (const fnzi_krn_storage *const *)right;
  return (a > b) - (a < b);
}

static fnz_status know_memories(fnzi_krn_checker *c, const fnz_request *request, memories *given) {
  if (given->known)
    return FNZ_OK;
  FNZI_EACH_ARG(each, request->args, request->nargs)
    given->count += fnzi_krn_arg_array(each.arg) != NULL;
  FNZI_NEW(&c->scratch, given->count, &given->data);
  given->count = 0;
  FNZI_EACH_ARG(each, request->args, request->nargs) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(each.arg);
    if (a)
      given->data[given->count++] = a->storage;
  }
  if (given->count)
    qsort(given->data, given->count, sizeof(const fnzi_krn_storage *), by_address);
  given->known = true;
  return FNZ_OK;
}

/* A program that PyTorch has loaded and saved again has offset 0 everywhere, as its reader makes
 * tensors of sizes and strides alone. */
static bool forgets_offset(const fnz_geometry *have, const fnz_geometry *want) {
  bool by_symbol = want->symbols && want->symbols[2 * want->rank];
  return want->offset == 0 && !by_symbol && fnzi_same_strides(want, have);
}

/* A write through a view changes other elements if the view is recorded elsewhere. A written tensor
 * keeps its location, whatever later records of it claim. */
static fnz_status compare_window(fnzi_krn_checker *c, const fnz_request *request, uint64_t value,
                                 const fnz_geometry *have, const fnz_geometry *want) {
  const fnz_op *op = request->op;
  const char *name = c->graph->values.data[value].name;
  if (op->kind == FNZI_KIND_OUT || op->kind == FNZI_KIND_MUTABLE)
    return check_new(c, request, name, have, want); /* traces record other strides of resized
                                                       tensors */
  if (have->is_conj != want->is_conj || have->is_neg != want->is_neg)
    FNZ_TRY(fnzi_krn_note_change(c, value, have)); /* a .pt2 file does not record these */
  if (c->p->instantiated || fnz_geometry_numel(want) == 0 ||
      (fnzi_same_strides(want, have) && have->offset == want->offset))
    return FNZ_OK;
  if (fnz_op_is_mutating(op) || fnzi_value_is_unsaid(c->graph, (uint32_t)value) ||
      forgets_offset(have, want)) {
    /* For locations that the file leaves open: from here on the tensor has the operator's strides
     * and offset. */
    fnz_geometry g = *want;
    g.strides = have->strides;
    g.offset = have->offset;
    if (!c->mends || g.symbols)
      return fnzi_krn_note_change(c, (uint32_t)value, have);
    uint32_t graph = (uint32_t)(c->graph - c->p->graphs.data);
    return fnzi_intern_geometry(c->mends, &g,
                                &fnzi_value_at(c->p, graph, (uint32_t)value)->geometry);
  }
  /* A write through a view changes other elements if the view is recorded elsewhere. */
  char ruled[160], recorded[160];
  return fnzi_fail(c->ctx, FNZ_CLASS_TYPE, NULL,
                   "the result %s is recorded with %s, but %s gives %s of the memory of its "
                   "argument; correct the file, or export it again",
                   name, window_text(want, recorded), op->name, window_text(have, ruled));
}

static fnz_status compare_one(fnzi_krn_checker *c, const fnz_request *request, memories *given,
                              uint64_t value, const fnzi_krn_array *have,
                              const fnz_geometry *want) {
  const char *name = c->graph->values.data[value].name;
  const fnz_geometry *is = &have->geometry;
  bool is_window = have->eager && have->storage;
  if ((!c->cast && !c->real && is->dtype != want->dtype) || is->rank != want->rank ||
      (!c->open && !fnzi_same_sizes(is, want))) {
    char ruled[160], recorded[160];
    return fnzi_fail(
        c->ctx, FNZ_CLASS_TYPE, NULL,
        "the result %s is recorded as %s, but %s gives %s; correct the file, or export "
        "it again",
        name, type_text(want, recorded), request->op->name, type_text(is, ruled));
  }
  if (is_window) {
    FNZ_TRY(know_memories(c, request, given));
    is_window = given->count && bsearch(&have->storage, given->data, given->count,
                                        sizeof(const fnzi_krn_storage *), by_address);
  }
  if (!is_window)
    return check_new(c, request, name, is, want);
  return c->open ? FNZ_OK : compare_window(c, request, value, is, want);
}

/* torch.export records a tensor even for a gradient that output_mask leaves out. A program that
 * reads it is wrong. */
static fnz_status check_missing(fnzi_krn_checker *c, const fnz_request *request, size_t k,
                                uint64_t value) {
  bool *used;
  FNZI_NEW(&c->scratch, c->graph->values.count, &used);
  fnzi_graph_uses(c->graph, used);
  if (!used[value] && fnzi_op_lists(request->op) == 0)
    return FNZ_OK;
  return fnzi_fail(
      c->ctx, FNZ_CLASS_TYPE, NULL,
      "%s has no result %zu here, but %s is recorded%s; correct the file, or export it "
      "again",
      request->op->name, k, c->graph->values.data[value].name, used[value] ? " and read" : "");
}

fnz_status fnzi_krn_compare_recorded(fnzi_krn_checker *c, const fnz_request *request,
                                     const fnzi_krn_recorded *r, const fnzi_krn_made *made) {
  memories given = {0};
  for (size_t k = 0; k < r->count; k++) {
    const fnzi_krn_array *have = k < made->count ? fnzi_krn_array_of(made->handles[k]) : NULL;
    if (!r->wanted[k])
      continue;
    if (!have) {
      FNZ_TRY(check_missing(c, request, k, r->values[k]));
      continue;
    }
    FNZ_TRY(compare_one(c, request, &given, r->values[k], have, r->wanted[k]));
  }
  /* A list has as many items as the operator gives, unless a program is seen at sizes that were
   * drawn. If several lists had fewer, items of one would be taken for items of the next. */
  if (fnzi_op_lists(request->op) == 0 || c->open || c->p->instantiated || made->count <= r->count)
    return FNZ_OK;
  return fnzi_fail(
      c->ctx, FNZ_CLASS_TYPE, NULL,
      "%s gives %zu results, and %zu are recorded; correct the file, or export it again",
      request->op->name, made->count, r->count);
}
