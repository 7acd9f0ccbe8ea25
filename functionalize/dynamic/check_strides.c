/* check_strides.c - is what the result says of its outputs' memory what the source shows?
 *
 * needs   both programs at the same sizes
 * gives   whether views of inputs have the strides there that the source's outputs have: a run
 *         compares numbers only */
#include "functionalize/dynamic/sample.h"

/* The next output that comes out of a call, from *k on; NULL for none. */
static const fnz_output_spec *next_result(const fnz_program *p, uint32_t *k) {
  const uint32_t count = fnzi_graph_at(p, 0)->noutputs;
  while (*k < count && !fnzi_output_is_result(&p->outputs[*k]))
    ++*k;
  return *k < count ? &p->outputs[(*k)++] : NULL;
}

static bool same_strides(const fnz_geometry *a, const fnz_geometry *b) {
  if (a->dtype != b->dtype || !fnzi_same_sizes(a, b) || fnz_geometry_numel(a) == 0)
    return true; /* the check of numbers says so, or nobody can tell */
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->sizes[d] > 1 && a->strides[d] != b->strides[d])
      return false;
  return true;
}

/* The memory that output k shows: in a result, what its signature says. */
static const fnz_geometry *shown(const fnz_program *p, uint32_t k) {
  const fnzi_graph *graph = fnzi_graph_at(p, 0);
  const fnz_arg *arg = &graph->outputs[k];
  if (p->outputs[k].window)
    return p->outputs[k].window;
  return arg->tag == FNZ_ARG_VALUE ? graph->values.data[arg->u.value].geometry : NULL;
}

bool fnzi_windows_agree(const fnz_program *source, const fnz_program *result) {
  uint32_t s = 0, r = 0;
  const fnz_output_spec *spec;
  while (next_result(source, &s) && (spec = next_result(result, &r))) {
    const fnz_geometry *g = shown(source, s - 1);
    if (g && spec->window && spec->sharing == FNZ_SHARING_INPUT_VIEW &&
        !same_strides(g, spec->window))
      return false;
  }
  return true;
}
