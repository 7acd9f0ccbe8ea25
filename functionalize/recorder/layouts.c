/* layouts.c - which values have their recorded layout in PyTorch.
 *
 * The recorded layout of a result is eager's for the arguments of the original. Arguments of a
 * functional program may have another layout, and then results may too. A view that depends on
 * strides is possible for some layouts only.
 *
 * needs   a tape
 * gives   per value what is known of its layout */
#include "functionalize/recorder/simplify.h"

#include "schema/aten_names.h"

/* Facts about the arguments of a node that decide the layout of its results. */
typedef struct looks {
  bool all_known, some_other, in_rows; /* the tensors: their layouts are known; they lie in rows */
  bool some_like, all_like; /* those with the sizes of the result: there are some; they have its
                               strides */
  bool nearly;              /* some layout may differ in dimensions of one element */
} looks;

static looks look(const fnzi_rec_tape *tape, const uint8_t *layouts, const fnzi_rec_tape_node *n,
                  size_t nargs, const fnz_geometry *result) {
  looks l = {true, false, true, false, true, false};
  FNZI_EACH_ARG(each, n->args, nargs) {
    if (each.arg->tag != FNZ_ARG_VALUE || !each.arg->u.value)
      continue;
    const uint64_t value = each.arg->u.value - 1;
    const fnz_geometry *g = tape->values.data[value].geometry;
    l.nearly = l.nearly || layouts[value] == FNZI_REC_LAYOUT_NEARLY;
    l.all_known = l.all_known && (layouts[value] == FNZI_REC_LAYOUT_RECORDED ||
                                  layouts[value] == FNZI_REC_LAYOUT_NEARLY);
    l.some_other = l.some_other || layouts[value] == FNZI_REC_LAYOUT_OTHER;
    l.in_rows = l.in_rows && g && fnzi_int_is_contiguous(tape->program->ints, g);
    if (!g || !fnzi_same_sizes(g, result))
      continue;
    l.some_like = true;
    l.all_like = l.all_like && fnzi_same_strides(g, result);
    for (uint32_t d = 0; d < g->rank && !fnz_op_is_view(n->op); d++)
      l.nearly |= g->sizes[d] == 1 && g->strides[d] != result->strides[d];
  }
  return l;
}

/* Every stride is that of rows, in dimensions of one element, too. */
static bool has_row_strides(const fnzi_rec_tape *tape, const fnz_geometry *g) {
  fnzi_int strides[FNZ_MAX_RANK];
  fnzi_int_row_strides(tape->program->ints, g, strides);
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->strides[d] != strides[d].bits)
      return false;
  return true;
}

static bool gives_rows(const fnzi_rec_tape_node *n) {
  const fnz_arg *format = &n->args[1];
  return ((n->op->tags & FNZI_TAG_VIEW_COPY) && !fnzi_view_scattered(n->op)) ||
         (n->op == fnzi_emitted_op(FNZI_EMIT_CLONE) && format->tag == FNZ_ARG_MEMORY_FORMAT &&
          format->u.i == 1);
}

/* The result of an elementwise operator has the layout of its arguments, the result of a scatter
 * that of its base, a view any layout that its base allows. Other results are row-major if all
 * arguments are. */
static uint8_t find_layout(const fnzi_rec_tape *tape, const fnzi_rec_tape_node *n,
                           const fnz_geometry *g, const uint8_t *layouts) {
  const bool is_view = n->op && fnz_op_is_view(n->op),
             in_rows = fnzi_int_is_contiguous(tape->program->ints, g);
  const bool scatters = n->op && !is_view && fnzi_view_scattered(n->op) != NULL;
  const bool follows = n->op && (scatters || fnzi_op_is_elementwise(n->op));
  if (!n->op || gives_rows(n))
    return n->op && in_rows ? FNZI_REC_LAYOUT_RECORDED : FNZI_REC_LAYOUT_UNKNOWN;
  const looks l = look(tape, layouts, n, is_view || scatters ? 1 : n->op->nparams, g);
  const bool is_like =
      follows && l.some_like && l.all_like && fnzi_int_is_dense(tape->program->ints, g);
  if (l.all_known && (is_view || is_like || (in_rows && l.in_rows)))
    return l.nearly || !(is_view || l.some_like || has_row_strides(tape, g))
               ? FNZI_REC_LAYOUT_NEARLY
               : FNZI_REC_LAYOUT_RECORDED;
  if ((is_view || follows) && l.some_other)
    return FNZI_REC_LAYOUT_OTHER;
  return follows && l.all_known && l.some_like && !l.all_like ? FNZI_REC_LAYOUT_OTHER
                                                              : FNZI_REC_LAYOUT_UNKNOWN;
}

fnz_status fnzi_rec_view_windows(fnzi_rec_tape *r, const fnzi_rec_tape_node *n, const fnz_op *op,
                                 const fnz_geometry *base, fnzi_rec_copy *out) {
  const fnzi_view *view = fnzi_view_find(op);
  size_t count;
  out->count = 0;
  if (!view || !base || fnzi_int_is_empty(base) ||
      (fnzi_view_counts_from_storage(view) && !fnzi_int_lies_in_rows(r->program->ints, base)))
    return FNZ_OK;
  const fnzi_op_call call = {op, n->args, op->nparams};
  fnz_status status = fnzi_view_forward((fnzi_int_space){r->program->ints, &r->arena}, view, &call,
                                        base, &out->windows, &count);
  if (fnzi_is_final(status))
    return status;
  out->count = status == FNZ_OK && count == n->count ? count : 0;
  return FNZ_OK;
}

fnz_status fnzi_rec_layouts_add(fnzi_rec_tape *tape, const fnzi_rec_tape_node *node,
                                uint8_t *layouts) {
  const uint32_t *results = fnzi_rec_tape_results_of(tape, node);
  for (uint32_t k = 0; k < node->count; k++) {
    const fnz_geometry *g = results[k] ? fnzi_rec_tape_geometry_of(tape, results[k]) : NULL;
    if (g)
      layouts[results[k] - 1] = find_layout(tape, node, g, layouts);
  }
  const uint64_t base = node->args[0].u.value;
  fnzi_rec_copy copy = {.count = 0};
  if (!node->op || !fnz_op_is_view(node->op) || !base)
    return FNZ_OK;
  /* A view has its recorded strides, though its base may have got others since. */
  FNZ_TRY(fnzi_rec_view_windows(tape, node, node->op, tape->values.data[base - 1].geometry, &copy));
  for (size_t k = 0; k < copy.count; k++)
    if (results[k] && layouts[results[k] - 1] == FNZI_REC_LAYOUT_RECORDED &&
        !fnzi_geometry_equal(&copy.windows[k], fnzi_rec_tape_geometry_of(tape, results[k])))
      layouts[results[k] - 1] = FNZI_REC_LAYOUT_NEARLY;
  return FNZ_OK;
}

fnz_status fnzi_rec_layouts_start(fnzi_rec_tape *tape, uint8_t **out) {
  FNZI_NEW(&tape->arena, tape->values.count, out);
  for (size_t i = 0; i < tape->values.count; i++)
    (*out)[i] = tape->values.data[i].node == FNZI_NO_NODE ? FNZI_REC_LAYOUT_RECORDED
                                                          : FNZI_REC_LAYOUT_UNKNOWN;
  return FNZ_OK;
}

bool fnzi_rec_sees_all_strides(const fnz_op *view) {
  static const uint16_t views[] = {FNZI_ATEN_view__dtype, FNZI_ATEN_view_as_complex};
  return fnzi_op_is_among(view, views, sizeof views / sizeof *views);
}

bool fnzi_rec_goes_by_strides(const fnz_op *view) {
  static const uint16_t views[] = {FNZI_ATEN_view, FNZI_ATEN__reshape_alias, FNZI_ATEN_view__dtype,
                                   FNZI_ATEN_view_as_complex, FNZI_ATEN_as_strided};
  return fnzi_op_is_among(view, views, sizeof views / sizeof *views);
}
