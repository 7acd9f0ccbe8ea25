/* state_io.c - state as plain inputs and outputs, and back.
 *
 * needs   a functional program whose final values are outputs
 * keeps   values, nodes, graphs and their numbers; the order of inputs and of outputs of the same
 *         kind
 * gives   a signature in which the caller holds the state: no data of it, and for each new value
 *         the input that it belongs to */
#include "program/signature.h"
#include "program/state_io.h"

static const uint32_t NONE = UINT32_MAX;

typedef struct change {
  fnz_context *ctx;
  fnz_program *p;
  const fnz_program *original; /* of undoing */
  bool keeps_buffers;          /* final values of buffers do not become new values */
  fnzi_map names;              /* its inputs, by the names of their values */
  fnzi_graph *g;
  fnzi_arena scratch;
  uint32_t *input_of;       /* per output: the input whose new value it is; NONE */
  uint32_t *pair_of;        /* per input: the output that is its new value; NONE */
  bool *gone;               /* per input: it goes */
  uint32_t *in_at, *out_at; /* where inputs and outputs go; NONE */
} change;

bool fnzi_io_has_pairs(const fnz_program *p) {
  for (uint32_t k = 0; k < fnzi_graph_main(p)->noutputs; k++)
    if (fnzi_io_is_new_value(&p->outputs[k]))
      return true;
  return false;
}

static const fnzi_value *state_input_value(const fnz_program *p, uint32_t k) {
  return fnzi_value_at(p, 0, fnzi_graph_main(p)->inputs[k].u.value);
}

/* --- which inputs and outputs belong together ------------------------------------------------- */

/* Some user input shares the memory of `name`. */
static bool has_users(const change *c, const char *name) {
  for (uint32_t k = 0; k < c->g->ninputs; k++) {
    bool is_named = strcmp(c->p->inputs[k].target, name) == 0;
    for (uint32_t i = 0; is_named && i < c->g->ninputs; i++)
      if (c->p->inputs[i].kind == FNZ_INPUT_USER &&
          fnzi_memory_of(c->p, i) == fnzi_memory_of(c->p, k))
        return true;
  }
  return false;
}

/* A final value that does not stay one. */
static bool is_handed_back(const change *c, const fnz_output_spec *out) {
  const fnzi_output_kind *kind = fnzi_output_kind_of(out);
  if (kind->taker != FNZI_TAKEN_AS_FINAL)
    return false;
  return !c->keeps_buffers || kind->of == FNZ_INPUT_USER || kind->of == FNZ_INPUT_PARAMETER ||
         (kind->of == FNZ_INPUT_MEMORY && has_users(c, out->target));
}

static fnz_status find_pair(change *c, const fnzi_map *names, uint32_t k) {
  const fnz_output_spec *out = &c->p->outputs[k];
  int kind = fnzi_io_input_kind_of(out);
  const char *name;
  uint64_t input;
  c->input_of[k] = NONE;
  if (kind == FNZI_NO_INPUT_KIND || !(fnzi_io_is_new_value(out) || is_handed_back(c, out)))
    return FNZ_OK;
  FNZ_TRY(fnzi_arena_dotted(&c->scratch, fnzi_input_kind_names[kind], out->target, &name));
  if (!fnzi_map_get(names, name, strlen(name), &input))
    return FNZ_OK; /* the memory that an input was moved away from */
  c->input_of[k] = (uint32_t)input;
  c->pair_of[input] = k;
  return FNZ_OK;
}

static fnz_status find_pairs(change *c) {
  fnzi_map names;
  FNZI_NEW(&c->scratch, c->g->noutputs, &c->input_of);
  FNZI_NEW(&c->scratch, c->g->ninputs, &c->pair_of);
  FNZI_NEW(&c->scratch, c->g->ninputs, &c->gone);
  FNZI_NEW(&c->scratch, c->g->ninputs, &c->in_at);
  FNZI_NEW(&c->scratch, c->g->noutputs, &c->out_at);
  for (uint32_t k = 0; k < c->g->ninputs; k++)
    c->pair_of[k] = NONE;
  fnzi_map_init(&names, c->ctx);
  fnz_status status = FNZ_OK;
  for (uint32_t k = c->g->ninputs; status == FNZ_OK && k-- > 0;) {
    const fnz_input_spec *in = &c->p->inputs[k];
    const char *name;
    status = fnzi_arena_dotted(&c->scratch, fnzi_input_kind_names[in->kind], in->target, &name);
    if (status == FNZ_OK)
      status = fnzi_map_set(&names, name, strlen(name), k);
  }
  for (uint32_t k = 0; status == FNZ_OK && k < c->g->noutputs; k++)
    status = find_pair(c, &names, k);
  fnzi_map_free(&names);
  return status;
}

/* --- what cannot be a plain result ------------------------------------------------------------ */
static fnz_status state_refuse(const change *c, const char *name, const char *why) {
  return fnzi_fail_for(c->ctx, FNZI_REASON_DIALECT, FNZ_CLASS_UNSUPPORTED, name,
                       "it %s, which no plain result can say; take final values as outputs "
                       "(--state outputs)",
                       why);
}

static fnz_status check_final(const change *c, uint32_t k) {
  const fnz_output_spec *out = &c->p->outputs[k];
  if (!is_handed_back(c, out))
    return FNZ_OK;
  if (c->input_of[k] == NONE || out->kind == FNZ_OUTPUT_MEMORY_MUTATION)
    return state_refuse(c, out->target,
                        "is memory that several inputs look at, or one was moved from");
  if (out->metadata || out->set || c->g->outputs[k].tag != FNZ_ARG_VALUE)
    return state_refuse(c, out->target, "gets other sizes, strides or memory");
  return FNZ_OK;
}

/* Drops other inputs over a state's memory, unless nodes use them: the state's own input is
 * enough. */
static fnz_status drop_others(change *c, const bool *used) {
  bool *stands; /* per first input of a memory */
  FNZI_NEW(&c->scratch, c->g->ninputs, &stands);
  for (uint32_t k = 0; k < c->g->ninputs; k++)
    stands[fnzi_memory_of(c->p, k)] |= c->pair_of[k] != NONE;
  for (uint32_t k = 0; k < c->g->ninputs; k++) {
    const fnz_input_spec *in = &c->p->inputs[k];
    const bool is_callers = !fnzi_is_stored(in->kind) && in->shares;
    if (!stands[fnzi_memory_of(c->p, k)] || (c->pair_of[k] != NONE && !is_callers))
      continue;
    if (!fnzi_is_stored(in->kind) || used[c->g->inputs[k].u.value])
      return state_refuse(c, in->target,
                          "lies in the memory of a state, and is an input of its own");
    c->gone[k] = true;
  }
  return FNZ_OK;
}

/* --- in whose memory results lie -------------------------------------------------------------- */
/* The input whose new value is made a pair and in whose memory result k lies; NONE. */
static uint32_t shown_input(const change *c, uint32_t k) {
  const fnz_output_spec *out = &c->p->outputs[k];
  if (out->sharing != FNZ_SHARING_INPUT && out->sharing != FNZ_SHARING_INPUT_VIEW)
    return NONE;
  const uint32_t pair = c->pair_of[out->of];
  return pair == NONE || pair == k || fnzi_io_is_new_value(&c->p->outputs[pair]) ? NONE : out->of;
}

static void lie_in(fnz_output_spec *out, fnz_sharing sharing, uint32_t of) {
  out->sharing = sharing;
  out->of = of;
  out->views = NULL;
  out->nviews = 0;
}

/* Results that lay in the memory of an input lie in that of its new value now. The first one that
 * is all of it leads, since the very tensor of an output is an earlier one. */
static fnz_status share_with_pairs(change *c) {
  fnz_output_spec *specs = c->p->outputs;
  uint32_t *lead, *shown; /* per input: the result that leads; per output: the input */
  bool *any;              /* per input: some result is in its memory */
  FNZI_NEW(&c->scratch, c->g->ninputs, &lead);
  FNZI_NEW(&c->scratch, c->g->ninputs, &any);
  FNZI_NEW(&c->scratch, c->g->noutputs, &shown);
  for (uint32_t i = 0; i < c->g->ninputs; i++)
    lead[i] = NONE;
  for (uint32_t k = 0; k < c->g->noutputs; k++) {
    const uint32_t i = shown[k] = shown_input(c, k);
    if (i == NONE)
      continue;
    any[i] = true;
    if (lead[i] == NONE && specs[k].sharing == FNZ_SHARING_INPUT)
      lead[i] = k;
  }
  for (uint32_t k = 0; k < c->g->noutputs; k++) {
    const uint32_t i = shown[k];
    bool is_all = specs[k].sharing == FNZ_SHARING_INPUT;
    if (i != NONE && k != lead[i])
      lie_in(&specs[k], is_all ? FNZ_SHARING_OUTPUT : FNZ_SHARING_OUTPUT_VIEW,
             lead[i] == NONE ? c->pair_of[i] : lead[i]);
  }
  for (uint32_t i = 0; i < c->g->ninputs; i++) {
    const uint32_t first = lead[i] == NONE ? c->pair_of[i] : lead[i];
    if (!any[i])
      continue;
    lie_in(&specs[first], FNZ_SHARING_NEW, 0);
    specs[first].window = state_input_value(c->p, i)->geometry;
    if (lead[i] != NONE)
      lie_in(&specs[c->pair_of[i]], FNZ_SHARING_OUTPUT, lead[i]);
  }
  return FNZ_OK;
}

/* --- places ----------------------------------------------------------------------------------- */
/* Moves inputs and outputs to their new indices; the ones without an index are dropped. */
static fnz_status state_arrange(change *c, uint32_t ninputs, uint32_t noutputs) {
  fnz_input_spec *in;
  fnz_output_spec *out;
  fnz_arg *inputs, *outputs;
  FNZI_NEW(&c->p->arena, ninputs, &in);
  FNZI_NEW(&c->p->arena, noutputs, &out);
  FNZI_NEW(&c->p->arena, ninputs, &inputs);
  FNZI_NEW(&c->p->arena, noutputs, &outputs);
  for (uint32_t k = 0; k < c->g->ninputs; k++) {
    if (c->in_at[k] == NONE)
      continue;
    in[c->in_at[k]] = c->p->inputs[k];
    if (in[c->in_at[k]].shares)
      in[c->in_at[k]].shares = c->in_at[c->p->inputs[k].shares - 1] + 1;
    inputs[c->in_at[k]] = c->g->inputs[k];
  }
  for (uint32_t k = 0; k < c->g->noutputs; k++) {
    fnz_output_spec *to = &out[c->out_at[k]];
    *to = c->p->outputs[k];
    if (to->sharing == FNZ_SHARING_INPUT || to->sharing == FNZ_SHARING_INPUT_VIEW)
      to->of = c->in_at[to->of];
    if (to->sharing == FNZ_SHARING_OUTPUT || to->sharing == FNZ_SHARING_OUTPUT_VIEW)
      to->of = c->out_at[to->of];
    outputs[c->out_at[k]] = c->g->outputs[k];
  }
  c->p->inputs = in;
  c->p->outputs = out;
  c->g->inputs = inputs;
  c->g->outputs = outputs;
  c->g->ninputs = ninputs;
  c->g->noutputs = noutputs;
  return FNZ_OK;
}

/* New values that are also inputs or other results still have memory of their own. */
static fnz_status mark_own(change *c) {
  bool *seen;
  FNZI_NEW(&c->scratch, c->g->values.count, &seen);
  for (uint32_t k = 0; k < c->g->noutputs; k++) {
    fnz_output_spec *out = &c->p->outputs[k];
    if (c->g->outputs[k].tag != FNZ_ARG_VALUE)
      continue;
    uint64_t memory = fnzi_value_memory(c->p, 0, c->g->outputs[k].u.value);
    bool is_input = fnzi_value_at(c->p, 0, memory)->node == FNZI_NO_NODE;
    if (fnzi_io_is_new_value(out) && out->sharing == FNZ_SHARING_NEW && !out->window &&
        (is_input || seen[memory]))
      out->sharing = FNZ_SHARING_OWN;
    seen[memory] = true;
  }
  return FNZ_OK;
}

/* --- to plain inputs and outputs -------------------------------------------------------------- */
/* Weights that no input names any more end. */
static fnz_status drop_weights(change *c) {
  fnz_program *p = c->p;
  size_t kept = 0;
  fnzi_map named;
  uint64_t there;
  fnz_status status = FNZ_OK;
  fnzi_map_init(&named, c->ctx);
  for (uint32_t k = 0; k < c->g->ninputs && status == FNZ_OK; k++)
    if (fnzi_is_stored(p->inputs[k].kind))
      status = fnzi_map_set(&named, p->inputs[k].target, strlen(p->inputs[k].target), 1);
  fnzi_map_free(&p->weight_index);
  fnzi_map_init(&p->weight_index, p->ctx);
  for (size_t i = 0; i < p->weights.count; i++) {
    const fnzi_weight w = p->weights.data[i];
    if (status == FNZ_OK && fnzi_map_get(&named, w.name, strlen(w.name), &there)) {
      p->weights.data[kept] = w;
      status = fnzi_map_set(&p->weight_index, w.name, strlen(w.name), kept++);
    } else
      fnzi_blob_release(w.blob);
  }
  p->weights.count = kept;
  fnzi_map_free(&named);
  return status;
}

static void pair(change *c, uint32_t input, uint32_t output) {
  fnz_input_spec *in = &c->p->inputs[input];
  fnz_output_spec *out = &c->p->outputs[output];
  *in = (fnz_input_spec){.kind = FNZ_INPUT_USER, .target = state_input_value(c->p, input)->name};
  out->kind = FNZ_OUTPUT_USER;
  out->target = in->target;
}

static fnz_status state_make(change *c) {
  uint32_t ninputs = 0, noutputs = 0;
  bool any_gone = false;
  FNZ_TRY(find_pairs(c));
  bool *used;
  for (uint32_t k = 0; k < c->g->noutputs; k++)
    FNZ_TRY(check_final(c, k));
  FNZI_NEW(&c->scratch, c->g->values.count, &used);
  fnzi_graph_uses(c->g, used);
  FNZ_TRY(drop_others(c, used));
  for (uint32_t k = 0; k < c->g->ninputs; k++) {
    bool is_state = c->pair_of[k] != NONE && fnzi_is_stored(c->p->inputs[k].kind);
    c->in_at[k] = c->gone[k] || is_state ? NONE : ninputs++;
  }
  for (uint32_t k = 0; k < c->g->ninputs; k++)
    if (c->in_at[k] == NONE && !c->gone[k])
      c->in_at[k] = ninputs++;
  for (uint32_t k = 0; k < c->g->noutputs; k++)
    c->out_at[k] =
        c->input_of[k] == NONE || fnzi_io_is_new_value(&c->p->outputs[k]) ? noutputs++ : NONE;
  for (uint32_t k = 0; k < c->g->noutputs; k++)
    if (c->out_at[k] == NONE)
      c->out_at[k] = noutputs++;
  FNZ_TRY(share_with_pairs(c));
  for (uint32_t k = 0; k < c->g->noutputs; k++)
    if (c->input_of[k] != NONE && !fnzi_io_is_new_value(&c->p->outputs[k]))
      pair(c, c->input_of[k], k);
  bool *unnamed;
  FNZI_NEW(&c->scratch, c->g->values.count, &unnamed);
  for (uint32_t k = 0; k < c->g->ninputs; k++)
    if (c->gone[k])
      unnamed[c->g->inputs[k].u.value] = any_gone = true;
  FNZ_TRY(state_arrange(c, ninputs, noutputs));
  if (any_gone)
    FNZ_TRY(fnzi_values_drop(c->p, 0, unnamed));
  FNZ_TRY(mark_own(c));
  return drop_weights(c);
}

fnz_status fnzi_io_make(fnz_context *ctx, fnz_program *p, bool keeps_buffers) {
  change c = {.ctx = ctx, .p = p, .g = fnzi_graph_main(p), .keeps_buffers = keeps_buffers};
  bool any = false;
  for (uint32_t k = 0; k < c.g->noutputs; k++)
    any = any || is_handed_back(&c, &p->outputs[k]);
  if (!any)
    return FNZ_OK;
  fnzi_arena_init(&c.scratch, ctx);
  fnz_status status = state_make(&c);
  fnzi_arena_free(&c.scratch);
  return status == FNZ_OK ? fnz_program_verify(ctx, p) : status;
}

/* --- names ------------------------------------------------------------------------------------ */
fnz_status fnzi_io_name(fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_main(p);
  bool any = false;
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const uint64_t value = g->outputs[k].u.value;
    const char *name;
    uint64_t there;
    if (!fnzi_io_is_new_value(&p->outputs[k]) || g->outputs[k].tag != FNZ_ARG_VALUE ||
        fnzi_value_at(p, 0, value)->node == FNZI_NO_NODE)
      continue;
    FNZ_TRY(fnzi_arena_format(&p->arena, &name, "%s_out", p->outputs[k].target));
    if (fnzi_value_find(p, 0, name, strlen(name), &there))
      continue;
    fnzi_value_at(p, 0, value)->name = name;
    any = true;
  }
  return any ? fnzi_values_index(p, 0) : FNZ_OK;
}

/* --- and back --------------------------------------------------------------------------------- */
/* The tensor of the original that has this value's name, an input by its number; NONE. */
static uint32_t input_named(const change *c, const char *name) {
  uint64_t k;
  return fnzi_map_get(&c->names, name, strlen(name), &k) ? (uint32_t)k : NONE;
}

static fnz_status restore_weight(change *c, uint32_t from) {
  const fnzi_weight *w = fnzi_weight_find(c->original, c->original->inputs[from].target);
  const fnz_geometry *g;
  if (!w || fnzi_weight_find(c->p, w->name))
    return FNZ_OK;
  FNZ_TRY(fnzi_intern_geometry(c->p, w->geometry, &g));
  return fnzi_weight_add(c->p, w->name, w->blob, g);
}

static fnz_status part(change *c, uint32_t input, uint32_t output) {
  fnz_output_spec *out = &c->p->outputs[output];
  uint32_t from = input_named(c, out->target);
  /* Results in the memory of a new value are results in the memory of the input again. */
  fnz_output_spec *specs = c->p->outputs, *new = &specs[output];
  const uint32_t lead = new->sharing == FNZ_SHARING_OUTPUT ? new->of : output;
  for (uint32_t k = 0; k < c->g->noutputs; k++) {
    bool itself = specs[k].sharing == FNZ_SHARING_OUTPUT && specs[k].of == lead;
    bool looks = specs[k].sharing == FNZ_SHARING_OUTPUT_VIEW && specs[k].of == lead;
    if (k != output && k != lead && (itself || looks))
      lie_in(&specs[k], itself ? FNZ_SHARING_INPUT : FNZ_SHARING_INPUT_VIEW, input);
  }
  if (lead != output)
    lie_in(&specs[lead], FNZ_SHARING_INPUT, input);
  specs[lead].window = NULL;
  lie_in(new, FNZ_SHARING_NEW, 0);
  new->window = NULL;
  fnz_input_spec *in = &c->p->inputs[input];
  const fnz_input_spec *was = from == NONE ? NULL : &c->original->inputs[from];
  if (was && fnzi_is_stored(was->kind)) {
    /* The input as the original's signature has it; a constant that is written is a buffer. */
    FNZ_TRY(restore_weight(c, from));
    in->kind = was->kind == FNZ_INPUT_CONSTANT ? FNZ_INPUT_BUFFER : was->kind;
    in->target = was->target;
    in->persistent = was->persistent;
    FNZ_TRY(fnzi_intern_text(c->p, &in->target));
  }
  out->kind = in->kind == FNZ_INPUT_PARAMETER ? FNZ_OUTPUT_PARAMETER_MUTATION
              : in->kind == FNZ_INPUT_BUFFER  ? FNZ_OUTPUT_BUFFER_MUTATION
                                              : FNZ_OUTPUT_INPUT_MUTATION;
  out->target = in->target;
  return FNZ_OK;
}

/* An input of the original that was left out, being another name of the memory of `state`, comes
 * back. */
static fnz_status restore_other(change *c, uint32_t from, uint32_t state) {
  const fnzi_value *value = state_input_value(c->original, from);
  const fnz_geometry *g;
  fnz_input_spec *in = &c->p->inputs[c->g->ninputs];
  uint32_t made;
  FNZ_TRY(restore_weight(c, from));
  FNZ_TRY(fnzi_intern_geometry(c->p, fnzi_input_geometry(c->original, from), &g));
  FNZ_TRY(fnzi_value_add(c->p, 0, value->name, g, FNZI_NO_NODE, &made));
  *in = c->original->inputs[from];
  in->kind = in->kind == FNZ_INPUT_CONSTANT ? FNZ_INPUT_BUFFER : in->kind;
  in->written = true;
  in->shares = state + 1;
  c->g->inputs[c->g->ninputs++] = fnzi_arg_value(made);
  return fnzi_intern_text(c->p, &in->target);
}

/* states: memory of the original -> the state of p that it is */
static fnz_status restore_others(change *c, fnzi_map *states) {
  const fnzi_graph *from = fnzi_graph_main(c->original);
  const uint32_t had = c->g->ninputs;
  bool *met;
  uint64_t *memory, state; /* per input of the original; a map borrows its keys */
  FNZI_NEW(&c->scratch, from->ninputs, &met);
  FNZI_NEW(&c->scratch, from->ninputs, &memory);
  for (uint32_t k = 0; k < from->ninputs; k++) {
    /* The memory of an input of the original: its storage, or the number that the signature gives.
     */
    const fnzi_weight *w = fnzi_is_stored(c->original->inputs[k].kind)
                               ? fnzi_weight_find(c->original, c->original->inputs[k].target)
                               : NULL;
    memory[k] = w && w->blob ? (uint64_t)(uintptr_t)w->blob : fnzi_memory_of(c->original, k);
  }
  for (uint32_t k = 0; k < had; k++) {
    uint32_t was = c->g->inputs[k].tag == FNZ_ARG_VALUE
                       ? input_named(c, state_input_value(c->p, k)->name)
                       : NONE;
    if (was == NONE)
      continue;
    met[was] = true;
    if (c->pair_of[k] != NONE)
      FNZ_TRY(fnzi_map_set(states, &memory[was], sizeof *memory, k));
  }
  for (uint32_t k = 0; k < from->ninputs; k++) {
    if (fnzi_is_stored(c->original->inputs[k].kind) && !met[k] &&
        fnzi_map_get(states, &memory[k], sizeof *memory, &state))
      FNZ_TRY(restore_other(c, k, (uint32_t)state));
  }
  return FNZ_OK;
}

static fnz_status undo(change *c) {
  uint32_t noutputs = 0;
  const fnzi_graph *g = fnzi_graph_main(c->original);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const char *name =
        g->inputs[k].tag == FNZ_ARG_VALUE ? state_input_value(c->original, k)->name : NULL;
    if (name)
      FNZ_TRY(fnzi_map_set(&c->names, name, strlen(name), k));
  }
  FNZ_TRY(find_pairs(c));
  for (uint32_t k = 0; k < c->g->ninputs; k++)
    c->in_at[k] = k;
  for (uint32_t k = 0; k < c->g->noutputs; k++)
    if (c->input_of[k] != NONE)
      c->out_at[k] = noutputs++;
  for (uint32_t k = 0; k < c->g->noutputs; k++)
    if (c->input_of[k] == NONE)
      c->out_at[k] = noutputs++;
  for (uint32_t k = 0; k < c->g->noutputs; k++)
    if (c->input_of[k] != NONE && fnzi_io_is_new_value(&c->p->outputs[k]))
      FNZ_TRY(part(c, c->input_of[k], k));
  FNZ_TRY(state_arrange(c, c->g->ninputs, noutputs));
  /* Room for the inputs that come after the existing ones. */
  uint32_t more = g->ninputs;
  fnz_input_spec *in;
  fnz_arg *inputs;
  FNZI_NEW(&c->p->arena, c->g->ninputs + (size_t)more, &in);
  FNZI_NEW(&c->p->arena, c->g->ninputs + (size_t)more, &inputs);
  for (uint32_t k = 0; k < c->g->ninputs; k++) {
    in[k] = c->p->inputs[k];
    inputs[k] = c->g->inputs[k];
  }
  c->p->inputs = in;
  c->g->inputs = inputs;
  fnzi_map states;
  fnzi_map_init(&states, c->ctx);
  fnz_status status = restore_others(c, &states);
  fnzi_map_free(&states);
  return status;
}

fnz_status fnzi_io_undo(fnz_context *ctx, const fnz_program *p, const fnz_program *original,
                        fnz_program **out) {
  change c = {.ctx = ctx, .original = original};
  FNZ_TRY(fnzi_program_copy(ctx, p, out));
  c.p = *out;
  c.p->says_no_sharing = p->says_no_sharing;
  c.g = fnzi_graph_main(*out);
  fnzi_arena_init(&c.scratch, ctx);
  fnzi_map_init(&c.names, ctx);
  fnz_status status = undo(&c);
  fnzi_map_free(&c.names);
  fnzi_arena_free(&c.scratch);
  if (status == FNZ_OK)
    status = fnz_program_verify(ctx, *out);
  if (status == FNZ_OK)
    return FNZ_OK;
  fnz_program_destroy(*out);
  *out = NULL;
  return status;
}
