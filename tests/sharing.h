/* sharing.h - is what a result says of memory true? Each output is held against the tensors that
 * the aliasing interpreter has in the end. */
#ifndef FNZ_TESTS_SHARING_H
#define FNZ_TESTS_SHARING_H

#include "run/run.h"
#include "views/views.h"

#include <stdio.h>

enum { SHARING_MOST = 64 };

/* What was shown, kept. */
typedef struct sharing_sight {
  const void *tensor, *memory;
  fnz_geometry geometry;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
} sharing_sight;

typedef struct sharing {
  fnz_context *ctx;
  const fnz_program *original, *functional;
  size_t mutations; /* outputs of the result before those of the original */
  sharing_sight inputs[SHARING_MOST], outputs[SHARING_MOST];
  char reason[256];
} sharing;

static inline fnz_status sharing_see(void *user, const fnzi_sight *sight) {
  sharing *s = user;
  if (sight->k >= SHARING_MOST)
    return FNZ_OK;
  sharing_sight *to = sight->is_input ? &s->inputs[sight->k] : &s->outputs[sight->k];
  *to = (sharing_sight){.tensor = sight->tensor, .memory = sight->memory};
  to->geometry = *sight->geometry;
  for (uint32_t d = 0; d < sight->geometry->rank; d++) {
    to->sizes[d] = sight->geometry->sizes[d];
    to->strides[d] = sight->geometry->strides[d];
  }
  to->geometry.sizes = to->sizes;
  to->geometry.strides = to->strides;
  return FNZ_OK;
}

static inline bool sharing_is_false(sharing *s, size_t k, const char *what) {
  snprintf(s->reason, sizeof s->reason, "output %zu of the original: %s", k, what);
  return false;
}

/* The views lead from the input to the window. */
static inline bool sharing_views_lead(sharing *s, const fnz_output_spec *spec) {
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
static inline bool sharing_alone(const sharing *s, size_t k, size_t count) {
  const void *memory = s->outputs[k].memory;
  for (size_t i = 0; i < SHARING_MOST; i++)
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
static inline const sharing_sight *sharing_named(const sharing *s, const fnz_output_spec *spec) {
  bool input = spec->sharing == FNZ_SHARING_INPUT || spec->sharing == FNZ_SHARING_INPUT_VIEW;
  bool output = spec->sharing == FNZ_SHARING_OUTPUT || spec->sharing == FNZ_SHARING_OUTPUT_VIEW;
  return input ? &s->inputs[spec->of] : output ? &s->outputs[spec->of - s->mutations] : NULL;
}

static inline bool sharing_output_is_true(sharing *s, size_t k, size_t count) {
  const fnz_output_spec spec = s->functional->outputs[s->mutations + k];
  const sharing_sight *o = &s->outputs[k], *of = sharing_named(s, &spec);
  /* Of new memory the interpreter may choose other strides, where nothing depends on them. */
  bool is_new = spec.sharing != FNZ_SHARING_INPUT_VIEW;
  if (spec.window && !is_new && !fnzi_geometry_equal(spec.window, &o->geometry))
    return sharing_is_false(s, k, "it has another window");
  switch (spec.sharing) {
  case FNZ_SHARING_INPUT:
  case FNZ_SHARING_OUTPUT:
    return of->tensor == o->tensor || sharing_is_false(s, k, "it is not that very tensor");
  case FNZ_SHARING_INPUT_VIEW:
    if (of->memory != o->memory)
      return sharing_is_false(s, k, "it does not lie in that input's memory");
    return !spec.nviews || sharing_views_lead(s, &spec) ||
           sharing_is_false(s, k, "its views lead elsewhere");
  case FNZ_SHARING_OUTPUT_VIEW:
    return of->memory == o->memory || sharing_is_false(s, k, "it lies in other memory");
  case FNZ_SHARING_NEW:
  case FNZ_SHARING_OWN:
    /* With a window, others say that they share it. */
    return spec.window || sharing_alone(s, k, count) ||
           sharing_is_false(s, k, "it is not alone in its memory");
  case FNZ_SHARING_COUNT:
    break;
  }
  return sharing_is_false(s, k, "it says something unknown");
}

static inline fnz_status sharing_ignore(void *user, const char *name, const fnz_geometry *g,
                                        const void *cells, size_t bytes) {
  (void)user, (void)name, (void)g, (void)cells, (void)bytes;
  return FNZ_OK;
}

/* What `functional`, made from `original`, says of memory is true; s->reason says what is not. */
static inline bool sharing_is_true(sharing *s, fnz_backend *backend) {
  size_t count = fnzi_graph_at(s->original, 0)->noutputs;
  size_t all = fnzi_graph_at(s->functional, 0)->noutputs;
  fnzi_run_options options = {
      .seed = 1, .emit = sharing_ignore, .see = sharing_see, .user = s, .everything = true};
  if (count > SHARING_MOST || fnzi_graph_at(s->original, 0)->ninputs > SHARING_MOST)
    return true;
  s->mutations = all - count;
  if (fnzi_run_aliasing(s->ctx, s->original, backend, &options) != FNZ_OK) {
    snprintf(s->reason, sizeof s->reason, "%s", fnz_last_error(s->ctx)->message);
    return false;
  }
  for (size_t k = 0; k < count; k++)
    if (s->outputs[k].tensor && !sharing_output_is_true(s, k, count))
      return false;
  return true;
}

#endif
