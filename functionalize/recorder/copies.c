/* copies.c - copies of views in the dialect that keeps views: `permute_copy` as `permute`.
 *
 * needs   a tape whose nodes are marked as needed
 * keeps   the elements of every value, and the layout that it is recorded with
 * gives   a plain view if it has the layout of the copy; else plain operators that make the copy: a
 *         view and its clone, or the view of a clone if the argument's strides do not allow the
 *         view. A graph that is no program returns memory of its own (functional.c), so a copy that
 *         it returns stays a copy */
#include "functionalize/recorder/simplify.h"

/* --- windows ---------------------------------------------------------------------------------- */
/* Every window has the recorded layout of the copy. */
static bool lie_as_recorded(const fnzi_rec_tape *r, const fnzi_rec_tape_node *n,
                            const fnzi_rec_copy *c) {
  const uint32_t *results = fnzi_rec_tape_results_of(r, n);
  for (size_t k = 0; k < c->count; k++)
    if (!fnzi_rec_same_layout(&c->windows[k], fnzi_rec_tape_geometry_of(r, results[k])))
      return false;
  return c->count > 0;
}

/* A clone of every window has the recorded layout of the copy: contiguous, or the layout of the
 * window. It keeps the bits of the window. */
static bool clones_lie_as_recorded(const fnzi_rec_tape *r, const fnzi_rec_tape_node *n,
                                   const fnzi_rec_copy *c) {
  const uint32_t *results = fnzi_rec_tape_results_of(r, n);
  for (size_t k = 0; k < c->count; k++) {
    const fnz_geometry *w = &c->windows[k], *g = fnzi_rec_tape_geometry_of(r, results[k]);
    bool is_same = w->dtype == g->dtype && fnzi_same_sizes(w, g) && w->is_conj == g->is_conj &&
                   w->is_neg == g->is_neg;
    if (!is_same || g->offset ||
        !(fnzi_int_is_contiguous(r->program->ints, g) || fnzi_rec_same_layout(w, g)))
      return false;
  }
  return c->count > 0;
}

/* --- forms ------------------------------------------------------------------------------------ */

static const fnz_geometry *base_of(const fnzi_rec_tape *r, const fnzi_rec_tape_node *n) {
  return r->values.data[n->args[0].u.value - 1].geometry;
}

/* `known`: the argument has its recorded layout. If not, only views that ignore strides are
 * possible, and only a contiguous clone has the recorded layout of the copy. */
static fnz_status find_form(fnzi_rec_tape *r, const fnzi_rec_tape_node *n, bool known,
                            fnzi_rec_copy *c) {
  FNZ_TRY(fnzi_rec_view_windows(r, n, c->view, base_of(r, n), c));
  if (known && lie_as_recorded(r, n, c))
    c->form = FNZI_REC_COPY_IS_VIEW;
  else if ((known || !fnzi_rec_goes_by_strides(c->view)) && clones_lie_as_recorded(r, n, c))
    c->form = FNZI_REC_COPY_CLONES_VIEW;
  else {
    /* The view of a clone in rows. */
    const fnz_geometry *base = base_of(r, n);
    if (!base || base->is_conj || base->is_neg)
      return FNZ_OK;
    FNZ_TRY(fnzi_contiguous_like(r->program->ints, &r->arena, base, &c->cloned));
    FNZ_TRY(fnzi_rec_view_windows(r, n, c->view, c->cloned, c));
    if (lie_as_recorded(r, n, c))
      c->form = FNZI_REC_COPY_VIEWS_CLONE;
    return FNZ_OK;
  }
  return FNZ_OK;
}

fnz_status fnzi_rec_copy_find(fnzi_rec_tape *r, const fnzi_rec_tape_node *n, const uint8_t *layouts,
                              fnzi_rec_copy *out) {
  /* A node that is no copy of a view has none here. */
  const uint32_t *results = fnzi_rec_tape_results_of(r, n);
  bool is_copy = n->op && (n->op->tags & FNZI_TAG_VIEW_COPY) && n->count &&
                 n->args[0].tag == FNZ_ARG_VALUE && n->args[0].u.value;
  for (uint32_t k = 0; is_copy && k < n->count; k++)
    is_copy = results[k] != 0;
  *out = (fnzi_rec_copy){.form = FNZI_REC_COPY_STAYS,
                         .view = is_copy ? fnz_op_member(n->op, FNZ_MEMBER_VIEW) : NULL};
  if (!out->view)
    return FNZ_OK;
  const uint8_t layout = layouts[n->args[0].u.value - 1];
  return find_form(r, n,
                   layout == FNZI_REC_LAYOUT_RECORDED ||
                       (layout == FNZI_REC_LAYOUT_NEARLY && !fnzi_rec_sees_all_strides(out->view)),
                   out);
}

/* --- copies that become views ----------------------------------------------------------------- */
/* Marks values that the graph returns, and the bases of returned views. */
static fnz_status mark_returned(fnzi_rec_tape *r, const fnz_handle *wanted, size_t count,
                                bool **out) {
  FNZI_NEW(&r->arena, r->values.count, out);
  for (size_t i = 0; i < count; i++) {
    uint64_t value = wanted[i];
    while (value && !(*out)[value - 1]) {
      uint32_t node = r->values.data[value - 1].node;
      const fnzi_rec_tape_node *n = node == FNZI_NO_NODE ? NULL : &r->nodes.data[node];
      (*out)[value - 1] = true;
      value = n && n->op && fnz_op_is_view(n->op) && n->args[0].tag == FNZ_ARG_VALUE
                  ? n->args[0].u.value
                  : 0;
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_rec_copy_become_view(fnzi_rec_tape *r, fnzi_rec_tape_node *n,
                                     const fnzi_rec_copy *c) {
  const uint32_t *results = fnzi_rec_tape_results_of(r, n);
  n->op = c->view;
  for (size_t k = 0; k < c->count; k++)
    FNZ_TRY(
        fnzi_intern_geometry(r->program, &c->windows[k], &r->values.data[results[k] - 1].geometry));
  return FNZ_OK;
}

/* A plain view that looks at every stride, of a base that has other ones since it is a view too: of
 * a dimension of one element, such as a select leaves. It becomes a copy again. */
static fnz_status mend_view(fnzi_rec_tape *r, fnzi_rec_tape_node *n, bool *changed) {
  fnzi_rec_copy copy;
  if (!n->op || !fnzi_rec_sees_all_strides(n->op) || !n->args[0].u.value)
    return FNZ_OK;
  const fnz_geometry *base = base_of(r, n);
  FNZ_TRY(fnzi_rec_view_windows(r, n, n->op, base, &copy));
  if (copy.count || !base || fnzi_int_is_empty(base))
    return FNZ_OK;
  n->op = fnz_op_member(n->op, FNZ_MEMBER_VIEW_COPY);
  *changed = true;
  return FNZ_OK;
}

fnz_status fnzi_rec_copies_become_views(fnzi_rec_tape *r, const fnz_handle *wanted, size_t count,
                                        bool *changed) {
  bool *returned = NULL;
  uint8_t *layouts;
  *changed = false;
  if (r->graph != 0)
    FNZ_TRY(mark_returned(r, wanted, count, &returned));
  FNZ_TRY(fnzi_rec_layouts_start(r, &layouts));
  for (size_t i = 0; i < r->nodes.count; i++) {
    fnzi_rec_tape_node *n = &r->nodes.data[i];
    if (!n->needed)
      continue;
    fnzi_rec_copy copy;
    FNZ_TRY(fnzi_rec_copy_find(r, n, layouts, &copy));
    const uint32_t *results = fnzi_rec_tape_results_of(r, n);
    bool becomes = copy.form == FNZI_REC_COPY_IS_VIEW;
    for (uint32_t k = 0; returned && becomes && k < n->count; k++)
      becomes = !results[k] || !returned[results[k] - 1];
    if (becomes) {
      *changed = true;
      FNZ_TRY(fnzi_rec_copy_become_view(r, n, &copy));
    }
    FNZ_TRY(mend_view(r, n, changed));
    FNZ_TRY(fnzi_rec_layouts_add(r, n, layouts));
  }
  return FNZ_OK;
}
