/* plant_ends.c - mistakes in outputs: in their values, in how these lie in memory, and in the
 * signature, which says whose memory it is. */
#include "soak/plant_edit.h"
#include "views/views.h"

/* --- whose memory ---------------------------------------------------------------------------- */
static void say_nothing(fnz_output_spec *spec) {
  spec->sharing = FNZ_SHARING_NEW;
  spec->of = 0;
  spec->window = NULL;
  spec->views = NULL;
  spec->nviews = 0;
}

static uint32_t outputs_of(const fnzi_planting *t) {
  return fnzi_graph_main(t->p)->noutputs;
}

/* The tensor that output k is; NULL when it is none, or has no elements, which lie in no memory. */
static const fnzi_value *tensor_of(const fnzi_planting *t, uint32_t k) {
  const fnzi_graph *g = fnzi_graph_main(t->p);
  const fnzi_value *v =
      g->outputs[k].tag == FNZ_ARG_VALUE ? &g->values.data[g->outputs[k].u.value] : NULL;
  return v && v->geometry && fnz_geometry_numel(v->geometry) > 0 ? v : NULL;
}

/* Output k has the value of an earlier one, which says without a word that it is the same tensor.
 */
static bool is_given_twice(const fnzi_planting *t, uint32_t k) {
  const fnzi_graph *g = fnzi_graph_main(t->p);
  for (uint32_t i = 0; i < k; i++)
    if (g->outputs[i].tag == FNZ_ARG_VALUE && g->outputs[i].u.value == g->outputs[k].u.value)
      return true;
  return false;
}

/* The same holds for an input that is returned. */
fnz_status fnzi_plant_alias_dropped(fnzi_planting *t) {
  for (uint32_t k = 0; k < outputs_of(t); k++) {
    fnz_output_spec *spec = &t->p->outputs[k];
    const fnzi_value *v = tensor_of(t, k);
    if (spec->sharing == FNZ_SHARING_NEW || spec->sharing == FNZ_SHARING_OWN || spec->metadata ||
        !v || v->node == FNZI_NO_NODE || is_given_twice(t, k) || !fnzi_plant_here(t))
      continue;
    say_nothing(spec);
    return fnzi_plant_note(t, "output %u says nothing of memory", k);
  }
  return FNZ_OK;
}

/* A user input that looks like output k, and is not `but`. */
static bool find_input(fnzi_planting *t, uint32_t k, uint32_t but, uint32_t *out) {
  const fnzi_graph *g = fnzi_graph_main(t->p);
  const fnz_geometry *own = g->values.data[g->outputs[k].u.value].geometry;
  uint64_t seen = 0;
  for (uint32_t i = 0; i < g->ninputs; i++)
    if (i != but && g->inputs[i].tag == FNZ_ARG_VALUE && t->p->inputs[i].kind == FNZ_INPUT_USER &&
        g->values.data[g->inputs[i].u.value].geometry == own && fnzi_plant_choose(t, ++seen) == 0)
      *out = i;
  return seen > 0;
}

/* Nothing is known of a result of a body, so the mark may be true there. */
fnz_status fnzi_plant_alias_added(fnzi_planting *t) {
  for (uint32_t k = 0; t->p->graphs.count == 1 && k < outputs_of(t); k++) {
    fnz_output_spec *spec = &t->p->outputs[k];
    uint32_t input;
    bool is_new = spec->sharing == FNZ_SHARING_NEW || spec->sharing == FNZ_SHARING_OWN;
    if (!is_new || spec->window || !fnzi_output_is_result(spec) || !tensor_of(t, k) ||
        !find_input(t, k, UINT32_MAX, &input) || !fnzi_plant_here(t))
      continue;
    spec->sharing = FNZ_SHARING_INPUT;
    spec->of = input;
    return fnzi_plant_note(t, "output %u is input %u", k, input);
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_alias_other(fnzi_planting *t) {
  for (uint32_t k = 0; k < outputs_of(t); k++) {
    fnz_output_spec *spec = &t->p->outputs[k];
    uint32_t input;
    if (spec->sharing != FNZ_SHARING_INPUT || !fnzi_output_is_result(spec) || !tensor_of(t, k) ||
        !find_input(t, k, spec->of, &input) || !fnzi_plant_here(t))
      continue;
    spec->of = input;
    return fnzi_plant_note(t, "output %u is input %u", k, input);
  }
  return FNZ_OK;
}

/* Some other output lies in the memory of output k, with elements. */
static bool has_company(const fnzi_planting *t, uint32_t k) {
  for (uint32_t i = 0; i < outputs_of(t); i++)
    if (t->p->outputs[i].sharing == FNZ_SHARING_OUTPUT_VIEW && t->p->outputs[i].of == k &&
        tensor_of(t, i))
      return true;
  return false;
}

/* One element further. In memory of its own an output is alone where it likes. */
fnz_status fnzi_plant_alias_window(fnzi_planting *t) {
  for (uint32_t k = 0; k < outputs_of(t); k++) {
    fnz_output_spec *spec = &t->p->outputs[k];
    const bool is_own = spec->sharing == FNZ_SHARING_NEW || spec->sharing == FNZ_SHARING_OWN;
    if (!spec->window || spec->window->symbols || !tensor_of(t, k) ||
        (is_own && !has_company(t, k)) || !fnzi_plant_here(t))
      continue;
    fnz_geometry other = *spec->window;
    other.offset += other.offset && fnzi_plant_choose(t, 2) ? -1 : 1;
    FNZ_TRY(fnzi_intern_geometry(t->p, &other, &spec->window));
    spec->views = NULL; /* they lead to the window, or the signature is refused */
    spec->nviews = 0;
    return fnzi_plant_note(t, "the window of output %u begins at %lld", k, (long long)other.offset);
  }
  return FNZ_OK;
}

/* The views of the output lead from its input to its window. */
static fnz_status lead_there(fnzi_planting *t, const fnz_output_spec *spec, bool *out) {
  const fnzi_graph *g = fnzi_graph_main(t->p);
  const fnz_geometry *at = g->values.data[g->inputs[spec->of].u.value].geometry;
  *out = true;
  for (uint32_t i = 0; *out && i < spec->nviews; i++) {
    const fnz_view_call *v = &spec->views[i];
    const fnzi_view *view = fnzi_view_find(v->op);
    fnz_geometry *windows;
    size_t count = 0;
    const fnzi_op_call call = {v->op, v->args, v->nargs};
    fnz_status status = !view ? FNZ_BAD_INPUT
                              : fnzi_view_forward((fnzi_int_space){NULL, &t->p->arena}, view, &call,
                                                  at, &windows, &count);
    if (status == FNZ_NO_MEMORY)
      return status;
    *out = status == FNZ_OK && v->index < count;
    at = *out ? &windows[v->index] : at;
  }
  *out = *out && at->offset == spec->window->offset && fnzi_same_sizes(at, spec->window) &&
         fnzi_same_strides(at, spec->window);
  return FNZ_OK;
}

/* Some input ends with other sizes or strides: views of it begin there. */
static bool moves_inputs(const fnzi_planting *t) {
  for (uint32_t k = 0; k < outputs_of(t); k++)
    if (t->p->outputs[k].metadata || t->p->outputs[k].set)
      return true;
  return false;
}

/* The number of one view, with the window as it was. */
fnz_status fnzi_plant_alias_views(fnzi_planting *t) {
  for (uint32_t k = 0; k < outputs_of(t) && !moves_inputs(t); k++) {
    const fnz_output_spec *spec = &t->p->outputs[k];
    for (uint32_t i = 0; i < spec->nviews; i++)
      for (uint32_t j = 0; j < spec->views[i].nargs; j++) {
        fnz_arg *arg = (fnz_arg *)(uintptr_t)&spec->views[i].args[j];
        const int64_t was = arg->u.i;
        bool same = true;
        if (arg->tag != FNZ_ARG_INT || spec->sharing != FNZ_SHARING_INPUT_VIEW || !spec->window ||
            spec->window->symbols || !tensor_of(t, k))
          continue;
        arg->u.i += was > 0 ? -1 : 1;
        FNZ_TRY(lead_there(t, spec, &same));
        if (same || !fnzi_plant_here(t)) {
          arg->u.i = was;
          continue;
        }
        return fnzi_plant_note(t, "number %u of view %u of output %u is %lld", j, i, k,
                               (long long)arg->u.i);
      }
  }
  return FNZ_OK;
}

/* The input whose final value an output is; NULL when it is not found by its name. */
static const fnzi_value *ends_input_of(const fnz_program *p, const fnz_output_spec *spec) {
  const fnzi_graph *g = fnzi_graph_main(p);
  const int kind = fnzi_output_kind_of(spec)->of;
  for (uint32_t i = 0; i < g->ninputs; i++) {
    const fnzi_value *v =
        g->inputs[i].tag == FNZ_ARG_VALUE ? &g->values.data[g->inputs[i].u.value] : NULL;
    const char *target = p->inputs[i].target ? p->inputs[i].target : v ? v->name : "";
    if (v && (int)p->inputs[i].kind == kind && spec->target && strcmp(target, spec->target) == 0)
      return v;
  }
  return NULL;
}

/* When the final value lies as the input did, the flag says nothing. */
static bool has_new_look(const fnzi_planting *t, uint32_t k) {
  const fnz_output_spec *spec = &t->p->outputs[k];
  const fnzi_value *input = ends_input_of(t->p, spec), *v = tensor_of(t, k);
  if (!input || !v || !fnzi_is_dense(input->geometry))
    return false; /* with gaps, strides are not compared */
  const fnz_geometry *look = spec->window ? spec->window : v->geometry;
  return spec->set || !fnzi_same_sizes(input->geometry, look) ||
         !fnzi_same_strides(input->geometry, look);
}

fnz_status fnzi_plant_alias_flags(fnzi_planting *t) {
  for (uint32_t k = 0; k < outputs_of(t); k++) {
    fnz_output_spec *spec = &t->p->outputs[k];
    if (!fnzi_output_is_mutation(spec) || !has_new_look(t, k) || !fnzi_plant_here(t))
      continue;
    if (spec->set)
      spec->set = false;
    else
      spec->metadata = !spec->metadata;
    return fnzi_plant_note(t, "output %u is %smetadata, %sset", k, spec->metadata ? "" : "no ",
                           spec->set ? "" : "not ");
  }
  return FNZ_OK;
}

/* --- how it lies in memory ------------------------------------------------------------------- */
/* Results of nodes alone, in memory of their own: others look as that in which they lie. */
fnz_status fnzi_plant_strides(fnzi_planting *t) {
  fnzi_graph *g = fnzi_graph_main(t->p);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *spec = &t->p->outputs[k];
    const fnzi_value *v = tensor_of(t, k);
    bool is_own = spec->sharing == FNZ_SHARING_NEW || spec->sharing == FNZ_SHARING_OWN;
    if (!v || v->node == FNZI_NO_NODE || !fnzi_output_is_result(spec) || !is_own || spec->window ||
        !fnzi_plant_has_other_strides(v->geometry) || !fnzi_plant_here(t))
      continue;
    FNZ_TRY(fnzi_plant_other_strides(t, &g->values.data[g->outputs[k].u.value]));
    return fnzi_plant_note(t, "strides of output %u, %%%s, in the other order", k, v->name);
  }
  return FNZ_OK;
}

/* Some output is the value, in memory of its own: others see its elements alone. */
static bool is_output(const fnzi_planting *t, const fnzi_plant_at *at, uint64_t value) {
  for (uint32_t k = 0; at->graph == 0 && k < outputs_of(t); k++)
    if (at->g->outputs[k].tag == FNZ_ARG_VALUE && at->g->outputs[k].u.value == value &&
        fnzi_output_is_result(&t->p->outputs[k]) && t->p->outputs[k].sharing == FNZ_SHARING_NEW &&
        !t->p->outputs[k].window)
      return true;
  return false;
}

/* With the strides that the node gives then. */
fnz_status fnzi_plant_memory_format(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    if (at.arg->tag != FNZ_ARG_MEMORY_FORMAT || at.n->noutputs != 1 ||
        at.n->outputs[0].tag != FNZ_ARG_VALUE)
      continue;
    fnzi_value *v = &at.g->values.data[at.n->outputs[0].u.value];
    if (v->geometry->rank != 4 || v->geometry->sizes[1] < 2 ||
        v->geometry->sizes[2] * v->geometry->sizes[3] < 2 ||
        !fnzi_plant_has_other_strides(v->geometry) ||
        !is_output(t, &at, at.n->outputs[0].u.value) || !fnzi_plant_here(t))
      continue;
    const int64_t *s = v->geometry->sizes, in_rows[4] = {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1};
    int64_t last[4];
    fnzi_channels_last_strides(s, 4, last);
    const bool was_last = fnzi_suggests_channels_last(v->geometry);
    fnz_geometry other = *v->geometry;
    other.strides = was_last ? in_rows : last;
    at.arg->u.i = was_last ? FNZ_CONTIGUOUS_FORMAT : FNZ_CHANNELS_LAST;
    FNZ_TRY(fnzi_intern_geometry(t->p, &other, &v->geometry));
    return fnzi_plant_note_node(t, at.graph, at.node, "becomes %s",
                                was_last ? "contiguous" : "channels last");
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_device(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    if (at.arg->tag != FNZ_ARG_DEVICE || fnzi_plant_is_assertion(at.n) || !fnzi_plant_here(t))
      continue;
    const char *was = at.arg->u.s;
    at.arg->u.s = strcmp(was, "cpu") == 0 ? "cuda:0" : "cpu";
    at.arg->count = (uint32_t)strlen(at.arg->u.s);
    return fnzi_plant_note_node(t, at.graph, at.node, "%s becomes %s", was, at.arg->u.s);
  }
  return FNZ_OK;
}

/* --- which value ----------------------------------------------------------------------------- */
/* A final value, of memory that inputs came with too. */
static bool is_state(const fnz_output_spec *spec) {
  return fnzi_output_kind_of(spec)->taker == FNZI_TAKEN_AS_FINAL;
}

/* Outputs of the same look and the same kind of taker, which are not one value. */
static fnz_status swap_outputs(fnzi_planting *t, bool of_state) {
  fnzi_graph *g = fnzi_graph_main(t->p);
  for (uint32_t k = 0; k < g->noutputs; k++)
    for (uint32_t i = 0; i < k; i++) {
      fnz_arg *a = &g->outputs[i], *b = &g->outputs[k];
      if (is_state(&t->p->outputs[i]) != of_state || is_state(&t->p->outputs[k]) != of_state ||
          a->tag != FNZ_ARG_VALUE || b->tag != FNZ_ARG_VALUE || a->u.value == b->u.value ||
          g->values.data[a->u.value].geometry != g->values.data[b->u.value].geometry ||
          !fnzi_plant_here(t))
        continue;
      const fnz_arg first = *a;
      *a = *b;
      *b = first;
      return fnzi_plant_note(t, "outputs %u and %u swapped", i, k);
    }
  return FNZ_OK;
}

fnz_status fnzi_plant_state_swapped(fnzi_planting *t) {
  return swap_outputs(t, true);
}

fnz_status fnzi_plant_output_swapped(fnzi_planting *t) {
  return swap_outputs(t, false);
}

static fnz_status drop_outputs(fnzi_planting *t, bool of_state) {
  for (uint32_t k = 0; k < outputs_of(t); k++) {
    if (is_state(&t->p->outputs[k]) != of_state || !fnzi_plant_here(t))
      continue;
    /* Others name outputs by their numbers. */
    fnzi_graph *g = fnzi_graph_main(t->p);
    size_t behind = --g->noutputs - k;
    memmove(&g->outputs[k], &g->outputs[k + 1], behind * sizeof *g->outputs);
    memmove(&t->p->outputs[k], &t->p->outputs[k + 1], behind * sizeof *t->p->outputs);
    for (uint32_t i = 0; i < g->noutputs; i++) {
      fnz_output_spec *spec = &t->p->outputs[i];
      bool names = spec->sharing == FNZ_SHARING_OUTPUT || spec->sharing == FNZ_SHARING_OUTPUT_VIEW;
      if (names && spec->of == k)
        say_nothing(spec);
      else if (names && spec->of > k)
        spec->of--;
    }
    return fnzi_plant_note(t, "output %u is left out", k);
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_state_dropped(fnzi_planting *t) {
  return drop_outputs(t, true);
}

fnz_status fnzi_plant_output_dropped(fnzi_planting *t) {
  return drop_outputs(t, false);
}

fnz_status fnzi_plant_state_stale(fnzi_planting *t) {
  fnzi_graph *g = fnzi_graph_main(t->p);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    uint64_t before;
    if (!is_state(&t->p->outputs[k]) || g->outputs[k].tag != FNZ_ARG_VALUE ||
        !fnzi_plant_before(g, g->outputs[k].u.value, &before) || !fnzi_plant_here(t))
      continue;
    g->outputs[k].u.value = before;
    return fnzi_plant_note(t, "output %u is %%%s", k, fnzi_plant_value_name(g, before));
  }
  return FNZ_OK;
}
