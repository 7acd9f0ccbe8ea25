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
} looks;

static looks look(const fnzi_rec_tape *tape, const uint8_t *layouts, const fnz_arg *args,
                  size_t nargs, const fnz_geometry *result) {
  looks l = {true, false, true, false, true};
  FNZI_EACH_ARG(each, args, nargs) {
    if (each.arg->tag != FNZ_ARG_VALUE || !each.arg->u.value)
      continue;
    const uint64_t value = each.arg->u.value - 1;
    const fnz_geometry *g = tape->values.data[value].geometry;
    l.all_known = l.all_known && layouts[value] == FNZI_REC_LAYOUT_RECORDED;
    l.some_other = l.some_other || layouts[value] == FNZI_REC_LAYOUT_OTHER;
    l.in_rows = l.in_rows && g && fnzi_int_is_contiguous(tape->program->ints, g);
    if (!g || !fnzi_same_sizes(g, result))
      continue;
    l.some_like = true;
    l.all_like = l.all_like && fnzi_same_strides(g, result);
  }
  return l;
}

static bool gives_rows(const fnzi_rec_tape_node *n) {
  const fnz_arg *format = &n->args[1];
  return (n->op->tags & FNZI_TAG_VIEW_COPY) ||
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
  const looks l = look(tape, layouts, n->args, is_view || scatters ? 1 : n->op->nparams, g);
  const bool is_like =
      follows && l.some_like && l.all_like && fnzi_int_is_dense(tape->program->ints, g);
  if (l.all_known && (is_view || is_like || (in_rows && l.in_rows)))
    return FNZI_REC_LAYOUT_RECORDED;
  if ((is_view || follows) && l.some_other)
    return FNZI_REC_LAYOUT_OTHER;
  return follows && l.all_known && l.some_like && !l.all_like ? FNZI_REC_LAYOUT_OTHER
                                                              : FNZI_REC_LAYOUT_UNKNOWN;
}

void fnzi_rec_layouts_add(const fnzi_rec_tape *tape, const fnzi_rec_tape_node *node,
                          uint8_t *layouts) {
  const uint32_t *results = fnzi_rec_tape_results_of(tape, node);
  for (uint32_t k = 0; k < node->count; k++) {
    const fnz_geometry *g = results[k] ? fnzi_rec_tape_geometry_of(tape, results[k]) : NULL;
    if (g)
      layouts[results[k] - 1] = find_layout(tape, node, g, layouts);
  }
}

fnz_status fnzi_rec_layouts_start(fnzi_rec_tape *tape, uint8_t **out) {
  FNZI_NEW(&tape->arena, tape->values.count, out);
  for (size_t i = 0; i < tape->values.count; i++)
    (*out)[i] = tape->values.data[i].node == FNZI_NO_NODE ? FNZI_REC_LAYOUT_RECORDED
                                                          : FNZI_REC_LAYOUT_UNKNOWN;
  return FNZ_OK;
}

bool fnzi_rec_goes_by_strides(const fnz_op *view) {
  static const uint16_t views[] = {FNZI_ATEN_view, FNZI_ATEN__reshape_alias, FNZI_ATEN_view__dtype,
                                   FNZI_ATEN_view_as_complex, FNZI_ATEN_as_strided};
  return fnzi_op_is_among(view, views, sizeof views / sizeof *views);
}
