/* sharing.c - the memory part of the signature: inputs that lie in one memory, outputs that lie in
 * memory of others, and guards.
 *
 * needs   graph 0 with its inputs and outputs
 * keeps   in `inputs`: each `shares` names an earlier input that shares with none before it
 * gives   checked declarations; what weights over the same bytes end as; copies that live as long
 * as the program */
#include "program/program.h"

#include <stdio.h>

/* --- building --------------------------------------------------------------------------------- */
fnz_status fnzi_guard_add(fnz_program *p, const fnz_guard *guard) {
  fnz_guard own = *guard;
  const char **names;
  FNZ_TRY(fnzi_intern_text(p, &own.text));
  FNZI_NEW(&p->arena, guard->count, &names);
  for (uint32_t i = 0; i < guard->count; i++) {
    names[i] = guard->names[i];
    FNZ_TRY(fnzi_intern_text(p, &names[i]));
  }
  own.names = guard->count ? names : NULL;
  FNZI_PUSH(p->ctx, &p->guards, own);
  return FNZ_OK;
}

fnz_status fnzi_output_spec_copy(fnz_program *p, const fnz_output_spec *spec,
                                 fnz_output_spec *out) {
  *out = *spec;
  FNZ_TRY(fnzi_intern_text(p, &out->target));
  if (spec->window)
    FNZ_TRY(fnzi_intern_geometry(p, spec->window, &out->window));
  fnz_view_call *views;
  FNZI_NEW(&p->arena, spec->nviews, &views);
  for (uint32_t i = 0; i < spec->nviews; i++) {
    fnz_arg *args;
    views[i] = spec->views[i];
    FNZ_TRY(fnzi_op_adopt(p, &views[i].op));
    FNZ_TRY(fnzi_args_copy(p, spec->views[i].args, spec->views[i].nargs, &args));
    views[i].args = args;
  }
  out->views = spec->nviews ? views : NULL;
  return FNZ_OK;
}

size_t fnz_program_guard_count(const fnz_program *p) {
  return p->guards.count;
}

fnz_guard fnz_program_guard(const fnz_program *p, size_t k) {
  return k < p->guards.count ? p->guards.data[k] : (fnz_guard){.kind = FNZ_GUARD_CONDITION};
}

/* --- declaring an alias ----------------------------------------------------------------------- */
static fnzi_value *sharing_input_value(const fnz_program *p, uint32_t k) {
  return fnzi_value_at(p, 0, p->graphs.data[0].inputs[k].u.value);
}

static fnz_status find_input(fnz_context *ctx, const fnz_program *p, const char *name,
                             uint32_t *out) {
  size_t size = fnzi_input_at(p, name, out);
  if (size && name[size] == '\0')
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_REF, name, "the program has no tensor input of this name");
}

static fnz_status put_numbers(fnz_context *ctx, const int64_t *numbers, uint32_t count,
                              fnz_buffer *out) {
  for (uint32_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_printf(ctx, out, "%s%lld", i ? "," : "[", (long long)numbers[i]));
  return fnzi_put_text(ctx, out, count ? "]" : "[]");
}

static fnz_status check_window(fnz_context *ctx, const fnzi_value *v, const fnz_geometry *window) {
  const fnz_geometry *g = v->geometry;
  int64_t low, high;
  if (g->symbols)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, v->name,
                     "aliases are declared for fixed sizes; export the program with fixed sizes");
  if (g->dtype != window->dtype)
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, v->name, "the program takes %s, the alias is %s",
                     fnzi_dtype(g->dtype)->name, fnzi_dtype(window->dtype)->name);
  if (!fnzi_same_sizes(g, window)) {
    fnz_buffer text = {0};
    fnz_status status = put_numbers(ctx, window->sizes, window->rank, &text);
    if (status == FNZ_OK)
      status = fnzi_put_text(ctx, &text, " instead of ");
    if (status == FNZ_OK)
      status = put_numbers(ctx, g->sizes, g->rank, &text);
    if (status == FNZ_OK)
      status = fnzi_fail(ctx, FNZ_CLASS_TYPE, v->name,
                         "the alias has other sizes than the program was traced with, %.*s; choose "
                         "another window",
                         (int)text.size, text.data);
    fnz_buffer_free(ctx, &text);
    return status;
  }
  /* Strides of dimensions of size 1 or less are never used, so they may differ. */
  for (uint32_t d = 0; d < g->rank && fnz_geometry_numel(g) > 1; d++)
    if (g->sizes[d] > 1 && g->strides[d] != window->strides[d])
      return fnzi_fail(ctx, FNZ_CLASS_TYPE, v->name,
                       "the alias has other strides than the program was traced with, which decide "
                       "what is a view in it; export the program with inputs that alias");
  if (fnzi_extent(window, &low, &high) && low >= 0)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, v->name, "the alias begins before its memory");
}

static bool has_company(const fnz_program *p, uint32_t k) {
  for (uint32_t i = 0; i < p->graphs.data[0].ninputs; i++)
    if (p->inputs[i].shares == k + 1)
      return true;
  return p->inputs[k].shares != 0;
}

fnz_status fnz_program_declare_alias(fnz_context *ctx, fnz_program *p, const char *input,
                                     const char *base, const fnz_geometry *window) {
  uint32_t a, b;
  FNZ_TRY(find_input(ctx, p, input, &a));
  FNZ_TRY(find_input(ctx, p, base, &b));
  /* Both are the caller's, or both are weights. */
  bool are_memories =
      p->inputs[a].kind == FNZ_INPUT_MEMORY || p->inputs[b].kind == FNZ_INPUT_MEMORY;
  bool is_users = p->inputs[a].kind == FNZ_INPUT_USER;
  if (is_users != (p->inputs[b].kind == FNZ_INPUT_USER) || are_memories)
    return fnzi_fail(
        ctx, FNZ_CLASS_UNSUPPORTED, sharing_input_value(p, is_users ? b : a)->name,
        "this one belongs to the program, and an input that the caller passes cannot "
        "lie in its memory; declare aliases between two inputs, or between two buffers, "
        "parameters or constants");
  if (a == b)
    return fnzi_fail(ctx, FNZ_CLASS_DUPLICATE, input, "an input aliases itself in any case");
  if (has_company(p, a))
    return fnzi_fail(ctx, FNZ_CLASS_DUPLICATE, input,
                     "this input shares memory with another one already; declare the others as "
                     "aliases of %s instead",
                     input);
  FNZ_TRY(check_window(ctx, sharing_input_value(p, a), window));
  if (sharing_input_value(p, b)->geometry->symbols)
    return check_window(ctx, sharing_input_value(p, b), window);
  FNZ_TRY(fnzi_weights_join(ctx, p, a, b, window));
  FNZ_TRY(fnzi_intern_geometry(p, window, &sharing_input_value(p, a)->geometry));
  /* Inputs that named the second input as the first of their memory name the first one now. */
  const uint32_t memory = fnzi_memory_of(p, b);
  const uint32_t first = a < memory ? a : memory, second = a < memory ? memory : a;
  for (uint32_t k = 0; k < p->graphs.data[0].ninputs; k++)
    if (p->inputs[k].shares == second + 1)
      p->inputs[k].shares = first + 1;
  p->inputs[second].shares = first + 1;
  return FNZ_OK;
}

/* --- one memory under several names ----------------------------------------------------------- */
/* Weights that are windows of the same bytes, by their first input. */
typedef struct sameness {
  fnz_program *p;
  fnzi_map firsts; /* blob -> the first input in it */
  fnzi_map finals; /* names that some final value is of */
  uint32_t *first; /* per input; itself when it is alone, or no weight */
  bool *several;   /* per first input: it is not alone */
  bool *named;     /* per first input: the signature has a final value of one of them */
} sameness;

static bool has_final(const sameness *s, uint32_t k) {
  uint64_t found;
  const char *name = s->p->inputs[k].target;
  return name && fnzi_map_get(&s->finals, name, strlen(name), &found);
}

static fnz_status share_finals(sameness *s, fnzi_arena *arena) {
  uint32_t count = s->p->graphs.data[0].ninputs;
  FNZI_NEW(arena, count, &s->first);
  FNZI_NEW(arena, count, &s->several);
  FNZI_NEW(arena, count, &s->named);
  for (uint32_t k = 0; k < s->p->graphs.data[0].noutputs; k++) {
    const fnz_output_spec *out = &s->p->outputs[k];
    if (fnzi_output_is_mutation(out) && out->target)
      FNZ_TRY(fnzi_map_set(&s->finals, out->target, strlen(out->target), 1));
  }
  for (uint32_t k = 0; k < count; k++) {
    const fnz_input_spec *in = &s->p->inputs[k];
    const fnzi_weight *w =
        in->kind == FNZ_INPUT_USER || !in->target ? NULL : fnzi_weight_find(s->p, in->target);
    uint64_t first = k;
    s->first[k] = k;
    if (!w || !w->blob || s->p->graphs.data[0].inputs[k].tag != FNZ_ARG_VALUE ||
        !fnzi_geometry_equal(w->geometry, sharing_input_value(s->p, k)->geometry))
      continue;
    if (!fnzi_map_get(&s->firsts, &w->blob, sizeof w->blob, &first))
      FNZ_TRY(fnzi_map_set(&s->firsts, &w->blob, sizeof w->blob, k));
    s->first[k] = (uint32_t)first;
    s->several[first] = s->several[first] || first != k;
    s->named[first] = s->named[first] || has_final(s, k);
  }
  for (uint32_t k = 0; k < count; k++) {
    fnz_input_spec *in = &s->p->inputs[k];
    uint32_t first = s->first[k];
    if (!s->several[first] || !s->named[first])
      continue;
    in->shares = first != k ? first + 1 : 0;
    in->written = in->kind != FNZ_INPUT_CONSTANT && !has_final(s, k);
  }
  return FNZ_OK;
}

fnz_status fnzi_share_finals(fnz_program *p) {
  sameness s = {.p = p};
  fnzi_arena arena;
  fnzi_arena_init(&arena, p->ctx);
  fnzi_map_init(&s.firsts, p->ctx);
  fnzi_map_init(&s.finals, p->ctx);
  fnz_status status = share_finals(&s, &arena);
  fnzi_map_free(&s.firsts);
  fnzi_map_free(&s.finals);
  fnzi_arena_free(&arena);
  return status;
}

/* --- checking --------------------------------------------------------------------------------- */
static fnz_status fail_at(fnz_context *ctx, fnz_class kind, const char *what, uint32_t k,
                          const char *message) {
  char where[32];
  snprintf(where, sizeof where, "%s %u", what, k);
  return fnzi_fail(ctx, kind, where, "%s", message);
}

static const fnzi_blob *data_of(const fnz_program *p, uint32_t k) {
  const fnzi_weight *w = p->inputs[k].target ? fnzi_weight_find(p, p->inputs[k].target) : NULL;
  return w && p->inputs[k].kind != FNZ_INPUT_USER ? w->blob : NULL;
}

static fnz_status sharing_check_input(fnz_context *ctx, const fnz_program *p, uint32_t k) {
  const fnz_input_spec *in = &p->inputs[k];
  const fnz_arg *args = p->graphs.data[0].inputs;
  if (in->kind == FNZ_INPUT_MEMORY && !in->shares)
    return fail_at(ctx, FNZ_CLASS_REF, "input", k, "a memory that no other input lies in");
  if (in->kind == FNZ_INPUT_MEMORY && (sharing_input_value(p, k)->geometry->rank != 1 ||
                                       !fnzi_is_contiguous(sharing_input_value(p, k)->geometry)))
    return fail_at(ctx, FNZ_CLASS_TYPE, "input", k, "a memory has one dimension without gaps");
  if (in->written && (in->kind == FNZ_INPUT_CONSTANT || !has_company(p, k)))
    return fail_at(ctx, FNZ_CLASS_TYPE, "input", k,
                   "only what shares memory with another input, and is no constant, is written "
                   "where that is");
  if (!in->shares)
    return FNZ_OK;
  if (in->shares > k || p->inputs[in->shares - 1].shares)
    return fail_at(ctx, FNZ_CLASS_REF, "input", k,
                   "it must name the first of the inputs that it shares memory with");
  if (args[k].tag != FNZ_ARG_VALUE || args[in->shares - 1].tag != FNZ_ARG_VALUE)
    return fail_at(ctx, FNZ_CLASS_TYPE, "input", k, "what shares memory must be a tensor");
  bool by_caller = in->kind == FNZ_INPUT_USER,
       first_by_caller = p->inputs[in->shares - 1].kind == FNZ_INPUT_USER;
  if (in->kind != FNZ_INPUT_MEMORY && by_caller != first_by_caller)
    return fail_at(ctx, FNZ_CLASS_TYPE, "input", k,
                   "an input of the caller cannot share memory with one of the program");
  /* A run takes the memory of weights from the file's data, the pass from the signature. */
  const uint32_t first = p->inputs[k].shares - 1;
  if (!data_of(p, k) || data_of(p, k) == data_of(p, first))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_TYPE, p->inputs[k].target,
                   "input %u is recorded as sharing memory with input %u, %s, but the file has "
                   "separate data for it; store both in one memory, or leave out the sharing",
                   k, first, p->inputs[first].target);
}

static fnz_status sharing_check_output(fnz_context *ctx, const fnz_program *p, uint32_t k) {
  const fnz_output_spec *out = &p->outputs[k];
  const fnz_arg *arg = &p->graphs.data[0].outputs[k];
  if ((unsigned)out->sharing >= FNZ_SHARING_COUNT)
    return fail_at(ctx, FNZ_CLASS_TYPE, "output", k, "an unknown way to share memory");
  if (arg->tag != FNZ_ARG_VALUE && (out->sharing != FNZ_SHARING_NEW || out->window || out->nviews))
    return fail_at(ctx, FNZ_CLASS_TYPE, "output", k, "only a tensor shares memory");
  if (out->sharing != FNZ_SHARING_NEW && out->sharing != FNZ_SHARING_OWN) {
    const fnzi_graph *graph = fnzi_graph_main(p);
    bool by_input = out->sharing == FNZ_SHARING_INPUT || out->sharing == FNZ_SHARING_INPUT_VIEW;
    if (out->of >= (by_input ? graph->ninputs : graph->noutputs))
      return fail_at(ctx, FNZ_CLASS_REF, "output", k, "it shares memory with something not there");
    bool leads = p->outputs[by_input ? k : out->of].sharing == FNZ_SHARING_NEW;
    bool is_fine = by_input || (out->sharing == FNZ_SHARING_OUTPUT ? out->of < k : leads);
    if ((by_input ? graph->inputs : graph->outputs)[out->of].tag != FNZ_ARG_VALUE || !is_fine)
      return fail_at(ctx, FNZ_CLASS_REF, "output", k,
                     "it must name a tensor with memory of its own that it shares");
  }
  if (out->nviews && out->sharing != FNZ_SHARING_INPUT_VIEW)
    return fail_at(ctx, FNZ_CLASS_TYPE, "output", k, "only a view of an input has view calls");
  const fnz_geometry *g =
      arg->tag == FNZ_ARG_VALUE ? fnzi_value_at(p, 0, arg->u.value)->geometry : NULL;
  if (out->window && (out->window->dtype != g->dtype || !fnzi_same_sizes(out->window, g)))
    return fail_at(ctx, FNZ_CLASS_TYPE, "output", k, "its window has another type than its value");
  for (uint32_t i = 0; i < out->nviews; i++) {
    const fnz_view_call *v = &out->views[i];
    if (!v->op || !fnz_op_is_view(v->op) || v->nargs != v->op->nparams || !v->nargs)
      return fail_at(ctx, FNZ_CLASS_TYPE, "output", k,
                     "its view call names an operator that is no view");
    if (v->args[0].tag != FNZ_ARG_DEFAULT)
      return fail_at(ctx, FNZ_CLASS_TYPE, "output", k,
                     "a view of it has a first argument; that is the tensor before it");
    FNZI_EACH_ARG(each, v->args, v->nargs)
      if (fnzi_is_reference(each.arg))
        return fail_at(ctx, FNZ_CLASS_TYPE, "output", k, "a view of it refers to a value");
  }
  return FNZ_OK;
}

static fnz_status check_guard(fnz_context *ctx, const fnz_program *p, uint32_t k) {
  const fnz_guard *guard = &p->guards.data[k];
  if ((unsigned)guard->kind >= FNZ_GUARD_KIND_COUNT)
    return fail_at(ctx, FNZ_CLASS_TYPE, "guard", k, "an unknown kind of guard");
  if (guard->kind == FNZ_GUARD_CONDITION)
    return guard->text && !guard->count
               ? FNZ_OK
               : fail_at(ctx, FNZ_CLASS_TYPE, "guard", k, "a condition is a text");
  if (guard->text || guard->count < 2)
    return fail_at(ctx, FNZ_CLASS_TYPE, "guard", k, "it takes two inputs or more to be disjoint");
  for (uint32_t i = 0; i < guard->count; i++) {
    const char *name = guard->names[i];
    uint64_t v;
    if (!fnzi_value_find(p, 0, name, strlen(name), &v) || !fnzi_value_at(p, 0, v)->geometry ||
        fnzi_value_at(p, 0, v)->node != FNZI_NO_NODE)
      return fail_at(ctx, FNZ_CLASS_REF, "guard", k, "it names something that is no tensor input");
  }
  return FNZ_OK;
}

fnz_status fnzi_sharing_verify(fnz_context *ctx, const fnz_program *p) {
  for (uint32_t k = 0; k < p->graphs.data[0].ninputs; k++)
    FNZ_TRY(sharing_check_input(ctx, p, k));
  for (uint32_t k = 0; k < p->graphs.data[0].noutputs; k++)
    FNZ_TRY(sharing_check_output(ctx, p, k));
  for (uint32_t k = 0; k < p->guards.count; k++)
    FNZ_TRY(check_guard(ctx, p, k));
  return FNZ_OK;
}
