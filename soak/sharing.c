/* sharing.c - what a result says of memory, held against the aliasing interpreter's tensors. */
#include "soak/sharing.h"
#include "run/eager/interp.h"

#include "views/views.h"

#include <stdio.h>

static fnz_status see(void *user, const fnzi_run_shown *shown) {
  fnzi_sharing *s = user;
  if (shown->k >= FNZI_SHARING_MOST)
    return FNZ_OK;
  fnzi_sharing_sight *to = shown->is_input ? &s->inputs[shown->k] : &s->outputs[shown->k];
  to->tensor = shown->tensor;
  to->memory = shown->memory;
  to->geometry = *shown->geometry;
  for (uint32_t d = 0; d < shown->geometry->rank; d++) {
    to->sizes[d] = shown->geometry->sizes[d];
    to->strides[d] = shown->geometry->strides[d];
  }
  to->geometry.sizes = to->sizes;
  to->geometry.strides = to->strides;
  return FNZ_OK;
}

static bool is_false(fnzi_sharing *s, size_t k, const char *what) {
  snprintf(s->reason, sizeof s->reason, "output %zu of the original: %s", k, what);
  return false;
}

/* The views lead from the input to the window. */
static bool views_lead(fnzi_sharing *s, const fnz_output_spec *spec) {
  const fnz_geometry *at = &s->inputs[spec->of].geometry;
  fnzi_arena arena;
  bool same = true;
  fnzi_arena_init(&arena, s->ctx);
  for (uint32_t i = 0; same && i < spec->nviews; i++) {
    const fnz_view_call *v = &spec->views[i];
    const fnzi_view *view = fnzi_view_find(v->op);
    fnz_geometry *windows;
    size_t count = 0;
    same =
        view &&
        fnzi_view_forward(&arena, view, v->op, v->args, v->nargs, at, &windows, &count) == FNZ_OK &&
        v->index < count;
    at = same ? &windows[v->index] : at;
  }
  same = same && fnzi_geometry_equal(at, spec->window);
  fnzi_arena_free(&arena);
  return same;
}

/* No input lies in the memory of the output, and no other output that is not that very tensor. */
static bool is_alone(const fnzi_sharing *s, size_t k, size_t count) {
  const void *memory = s->outputs[k].memory;
  for (size_t i = 0; i < FNZI_SHARING_MOST; i++)
    if (s->inputs[i].memory == memory)
      return false;
  for (size_t i = 0; i < count; i++) {
    const fnz_output_spec *other = &s->functional->outputs[s->mutations + i];
    bool says_so = other->sharing == FNZ_SHARING_OUTPUT && other->of == s->mutations + k;
    if (i != k && s->outputs[i].memory == memory && !says_so)
      return false;
  }
  return true;
}

/* What the output says it lies in; NULL where it names nothing. */
static const fnzi_sharing_sight *named(const fnzi_sharing *s, const fnz_output_spec *spec) {
  bool input = spec->sharing == FNZ_SHARING_INPUT || spec->sharing == FNZ_SHARING_INPUT_VIEW;
  bool output = spec->sharing == FNZ_SHARING_OUTPUT || spec->sharing == FNZ_SHARING_OUTPUT_VIEW;
  return input ? &s->inputs[spec->of] : output ? &s->outputs[spec->of - s->mutations] : NULL;
}

static bool has_bodies(const fnz_program *p) {
  return fnz_graph_count(p) > 1;
}

static bool output_is_true(fnzi_sharing *s, size_t k, size_t count) {
  const fnz_output_spec spec = s->functional->outputs[s->mutations + k];
  const fnzi_sharing_sight *o = &s->outputs[k], *of = named(s, &spec);
  /* Of new memory the interpreter may choose other strides, where nothing depends on them. */
  bool is_new = spec.sharing != FNZ_SHARING_INPUT_VIEW;
  if (spec.window && !is_new && !fnzi_geometry_equal(spec.window, &o->geometry))
    return is_false(s, k, "it has another window");
  switch (spec.sharing) {
  case FNZ_SHARING_INPUT:
  case FNZ_SHARING_OUTPUT:
    return of->tensor == o->tensor || is_false(s, k, "it is not that very tensor");
  case FNZ_SHARING_INPUT_VIEW:
    if (of->memory != o->memory)
      return is_false(s, k, "it does not lie in that input's memory");
    return !spec.nviews || views_lead(s, &spec) || is_false(s, k, "its views lead elsewhere");
  case FNZ_SHARING_OUTPUT_VIEW:
    return of->memory == o->memory || is_false(s, k, "it lies in other memory");
  case FNZ_SHARING_NEW:
  case FNZ_SHARING_OWN:
    if (spec.sharing == FNZ_SHARING_NEW && has_bodies(s->original))
      return true; /* a result of a body may be its operand */
    /* With a window, others say that they share it. */
    return spec.window || is_alone(s, k, count) || is_false(s, k, "it is not alone in its memory");
  case FNZ_SHARING_COUNT:
    break;
  }
  return is_false(s, k, "it says something unknown");
}

/* What `functional`, made from `original`, says of memory is true; s->reason says what is not. */
bool fnzi_sharing_is_true(fnzi_sharing *s, fnz_backend *backend) {
  size_t count = fnzi_graph_at(s->original, 0)->noutputs;
  size_t all = fnzi_graph_at(s->functional, 0)->noutputs;
  fnzi_run_options options = {
      .seed = 1, .emit = fnzi_run_emit_nothing, .see = see, .user = s, .everything = true};
  if (count > FNZI_SHARING_MOST || fnzi_graph_at(s->original, 0)->ninputs > FNZI_SHARING_MOST)
    return true;
  s->mutations = all - count;
  for (size_t k = 0; k < FNZI_SHARING_MOST; k++) {
    s->inputs[k].tensor = s->inputs[k].memory = NULL;
    s->outputs[k].tensor = s->outputs[k].memory = NULL;
  }
  if (fnzi_eag_run(s->ctx, s->original, backend, &options) != FNZ_OK) {
    snprintf(s->reason, sizeof s->reason, "%s", fnz_last_error(s->ctx)->message);
    return false;
  }
  for (size_t k = 0; k < count; k++)
    if (s->outputs[k].tensor && !output_is_true(s, k, count))
      return false;
  return true;
}
