/* fold.c - values that depend on weights alone, computed once when a program is compiled.
 *
 * needs   an executable with the facts of its inputs, and its decomposed program, or the program
 *         itself if sizes are symbols
 * gives   exe->folded: that program without the nodes that compute such values. The values are
 *         inputs of graph 0 after all others, in memory of the executable. NULL if there are none
 *
 * A weight is constant unless it is in the state. A run that replaces a weight uses the program as
 * it was (engine/bind.c). Views of weights stay nodes, because they cost nothing in a plan. Nodes
 * whose results do not fit in MOST_BYTES any more stay too.
 *
 * A weight in a narrow type that only products read, converted, is not converted: the value is an
 * input of its type in the memory of the weight, and kernels of products convert what they read. */
#include "engine/engine.h"
#include "kernels/backends.h"
#include "schema/aten_names.h"

enum { MOST_BYTES = 512 << 20, ALIGNMENT = 64 };

/* The fate of a node. BOTH, FOLDED and INNER are computed now. */
typedef enum fate {
  STAYS,
  BOTH,   /* stays, and is also computed now because folded nodes need it */
  FOLDED, /* its results become inputs */
  STORED, /* its result becomes an input in the memory of the weight that it converts */
  INNER,  /* only folded nodes need it */
  GONE    /* nothing needs it any more */
} fate;

/* A folded value and its memory. */
typedef struct kept {
  uint32_t value;
  fnzi_blob *blob;
  const fnz_geometry *layout;
} kept;

typedef struct folding {
  fnz_executable *exe;
  fnz_context *ctx;
  fnzi_arena scratch;
  const fnz_program *program;
  const fnzi_graph *graph;
  bool *constant; /* per value: it depends on weights alone */
  bool *used;     /* per value: it is an output, or a node that stays reads it */
  bool *inner;    /* per value: a node that is computed now reads it */
  bool *others;   /* per value: it is an output, or not just products read it as second factor */
  uint8_t *fates; /* per node */
  size_t bytes;   /* of folded values */
  fnz_backend *backend;
  fnzi_run_steps *steps;
  struct {
    kept *data;
    size_t count, capacity;
  } kept;
} folding;

/* --- Which nodes ------------------------------------------------------------------------------ */
static const fnz_geometry *geometry_of(const folding *f, const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE ? f->graph->values.data[arg->u.value].geometry : NULL;
}

static bool is_constant(const folding *f, const fnzi_node *node) {
  const uint32_t tags = FNZI_TAGS_KEPT | FNZI_TAG_DYNAMIC_SHAPE | FNZI_TAG_DATA_DEPENDENT;
  if (!node->op || fnz_op_is_mutating(node->op) || fnzi_op_is_custom(node->op) ||
      (node->op->tags & tags))
    return false;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs) {
    const fnz_geometry *g = geometry_of(f, each.arg);
    if (each.arg->tag != FNZ_ARG_NONE && (!g || g->symbols))
      return false;
  }
  FNZI_EACH_ARG(each, node->args, node->nargs) {
    bool is_value = each.arg->tag == FNZ_ARG_VALUE;
    if (is_value ? !f->constant[each.arg->u.value]
                 : fnzi_is_reference(each.arg) || each.arg->tag == FNZ_ARG_GRAPH)
      return false;
  }
  return true;
}

/* Returns whether it pays to store the results: they are neither elements of an argument in another
 * order nor one number repeated. */
static bool computes(const folding *f, const fnzi_node *node) {
  const fnz_geometry *first = node->nargs ? geometry_of(f, &node->args[0]) : NULL;
  if (fnz_op_is_view(node->op))
    return false;
  if (node->op == &fnzi_ops[FNZI_ATEN__to_copy])
    return first && geometry_of(f, &node->outputs[0])->dtype != first->dtype;
  if (fnzi_op_is_copy(node->op))
    return false;
  FNZI_EACH_ARG(each, node->args, node->nargs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      return true;
  return false;
}

static void mark(bool *of, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE)
      of[each.arg->u.value] = true;
}

/* Returns whether a result of the node is marked in `of`. */
static bool any_of(const bool *of, const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE && of[each.arg->u.value])
      return true;
  return false;
}

/* The products, and which argument is the second factor. */
static const struct product {
  uint16_t op;
  uint8_t factor;
} products[] = {{FNZI_ATEN_mm, 1},     {FNZI_ATEN_bmm, 1},   {FNZI_ATEN_matmul, 1},
                {FNZI_ATEN_linear, 1}, {FNZI_ATEN_addmm, 2}, {FNZI_ATEN_baddbmm, 2}};

/* Returns whether only products read the result, and it is a view of the argument. */
static bool is_passed_on(const folding *f, const fnzi_node *node, const fnz_arg *arg) {
  const fnz_geometry *from = geometry_of(f, arg), *to;
  bool shows = node->op && (fnz_op_is_view(node->op) || (node->op->tags & FNZI_TAG_VIEW_COPY));
  if (!shows || arg != &node->args[0] || !from)
    return false;
  to = node->noutputs == 1 ? geometry_of(f, &node->outputs[0]) : NULL;
  return to && to->dtype == from->dtype && !f->others[node->outputs[0].u.value];
}

/* Returns the weight that is the value of an argument; NULL. */
static fnzi_stp_input *weight_of(const folding *f, const fnz_arg *arg) {
  for (uint32_t k = 0; arg->tag == FNZ_ARG_VALUE && k < f->graph->ninputs; k++)
    if (f->graph->inputs[k].tag == FNZ_ARG_VALUE && f->graph->inputs[k].u.value == arg->u.value)
      return f->constant[arg->u.value] ? &f->exe->inputs[k] : NULL;
  return NULL;
}

/* Returns whether the node converts a weight, without loss, from a type that products read. */
static bool is_stored(const folding *f, const fnzi_node *node) {
  const fnz_geometry *to = node->noutputs == 1 ? geometry_of(f, &node->outputs[0]) : NULL;
  if (f->exe->data_dependent != FNZI_STP_DATA_NONE || node->op != &fnzi_ops[FNZI_ATEN__to_copy] ||
      !to || f->others[node->outputs[0].u.value])
    return false;
  const fnzi_stp_input *in = weight_of(f, &node->args[0]);
  const fnz_dtype from = in ? in->weight->geometry->dtype : FNZ_DTYPE_COUNT;
  bool is_exact = from == FNZ_I8
                      ? to->dtype == FNZ_F32 || to->dtype == FNZ_F16 || to->dtype == FNZ_BF16
                      : to->dtype == FNZ_F32 && (from == FNZ_F16 || from == FNZ_BF16);
  return is_exact && !in->copy;
}

/* Adds the bytes of the used results to f->bytes; false if that exceeds MOST_BYTES. */
static bool take_bytes(folding *f, const fnzi_node *node) {
  size_t bytes = f->bytes, one;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs) {
    const fnz_geometry *g = geometry_of(f, each.arg);
    if (!g || !f->used[each.arg->u.value])
      continue;
    if (!fnzi_mul_size((size_t)fnz_geometry_numel(g), fnzi_dtype(g->dtype)->bytes, &one) ||
        !fnzi_add_size(bytes, one, &bytes) || bytes > MOST_BYTES)
      return false;
  }
  f->bytes = bytes;
  return true;
}

/* Call from the last node to the first, because readers decide. A node without results, which
 * asserts something about constants, is computed now. */
static fate fate_of(folding *f, const fnzi_node *node) {
  bool is_used = any_of(f->used, node), is_inner = any_of(f->inner, node) || !node->noutputs;
  if (!is_constant(f, node))
    return STAYS;
  if (is_used && !is_inner && is_stored(f, node))
    return STORED;
  if (is_used && computes(f, node) && take_bytes(f, node))
    return FOLDED;
  return is_used && is_inner ? BOTH : is_used ? STAYS : is_inner ? INNER : GONE;
}

/* Decides what becomes of each node; returns whether any is folded. */
static bool choose(folding *f) {
  bool any = false;
  mark(f->used, f->graph->outputs, f->graph->noutputs);
  for (size_t n = f->graph->nodes.count; n-- > 0;) {
    const fnzi_node *node = &f->graph->nodes.data[n];
    const fate is = fate_of(f, node);
    f->fates[n] = (uint8_t)is;
    if (is == STAYS || is == BOTH)
      mark(f->used, node->args, node->nargs);
    if (is == BOTH || is == FOLDED || is == INNER)
      mark(f->inner, node->args, node->nargs);
    any = any || is == FOLDED || is == STORED;
  }
  return any;
}

/* --- Their values ----------------------------------------------------------------------------- */
static fnz_status give_weight(folding *f, uint32_t k, fnzi_krn_storage *storage) {
  const fnzi_stp_input *in = &f->exe->inputs[k];
  fnzi_krn_machine *machine = f->backend->self;
  const uint64_t v = f->graph->inputs[k].u.value;
  const fnz_geometry *g = f->graph->values.data[v].geometry;
  fnzi_krn_array *array;
  *storage = (fnzi_krn_storage){.refs = 1 << 30, .stock = &machine->stock};
  storage->data = fnzi_stp_weight_start(in);
  FNZ_TRY(fnzi_stp_extent_bytes(f->ctx, in->weight->geometry, &storage->bytes));
  FNZ_TRY(fnzi_krn_array_create(f->ctx, &machine->stock, g, fnzi_dtype(g->dtype)->bytes, &array));
  fnz_status status = fnzi_krn_array_share(f->ctx, array, storage, in->weight->geometry);
  if (status == FNZ_OK)
    return fnzi_run_steps_give(f->steps, v, fnzi_krn_array_handle(array));
  fnzi_krn_array_release(f->ctx, array);
  return status;
}

static bool is_computed(const folding *f, size_t n) {
  return f->fates[n] == BOTH || f->fates[n] == FOLDED || f->fates[n] == INNER;
}

/* Builds a program of the nodes that are computed now: weights are its inputs, folded values its
 * outputs. It declares no other value as a tensor, so none of its sizes is a symbol. */
static fnz_status make_inner(folding *f, fnz_program *p, fnzi_graph *graph) {
  const size_t ninputs = f->graph->ninputs, nvalues = f->graph->values.count;
  *graph = (fnzi_graph){.name = ""};
  FNZI_NEW(&f->scratch, ninputs, &graph->inputs);
  FNZI_NEW(&f->scratch, ninputs, &p->inputs);
  FNZI_NEW(&f->scratch, nvalues, &graph->outputs);
  FNZI_NEW(&f->scratch, nvalues, &p->outputs);
  FNZI_NEW(&f->scratch, nvalues, &graph->values.data);
  FNZI_NEW(&f->scratch, f->graph->nodes.count, &graph->nodes.data);
  graph->values.count = nvalues;
  for (size_t v = 0; v < nvalues; v++) {
    graph->values.data[v] = f->graph->values.data[v];
    graph->values.data[v].symbol = 0;
    if (!f->constant[v])
      graph->values.data[v].geometry = NULL;
  }
  for (uint32_t k = 0; k < ninputs; k++)
    if (f->exe->inputs[k].is_tensor && f->inner[f->graph->inputs[k].u.value]) {
      p->inputs[graph->ninputs] = f->program->inputs[k];
      graph->inputs[graph->ninputs++] = f->graph->inputs[k];
    }
  for (size_t n = 0; n < f->graph->nodes.count; n++)
    if (is_computed(f, n))
      graph->nodes.data[graph->nodes.count++] = f->graph->nodes.data[n];
  for (uint64_t v = 0; v < nvalues; v++)
    if (f->constant[v] && f->used[v])
      graph->outputs[graph->noutputs++] = fnzi_arg_value(v);
  p->graphs.data = graph;
  p->graphs.count = 1;
  return FNZ_OK;
}

static fnz_status open_steps(folding *f) {
  const fnz_array **none;
  fnzi_krn_storage *storages;
  fnz_program *p;
  fnzi_graph *graph;
  FNZI_NEW(&f->scratch, f->graph->ninputs, &none);
  FNZI_NEW(&f->scratch, f->graph->ninputs, &storages);
  FNZI_NEW(&f->scratch, 1, &p);
  FNZI_NEW(&f->scratch, 1, &graph);
  *p = *f->program;
  FNZ_TRY(make_inner(f, p, graph));
  FNZ_TRY(fnz_cpu_backend_create(f->ctx, f->exe->threads, &f->backend));
  FNZ_TRY(fnzi_run_steps_open(f->ctx, p, f->backend, none, &f->steps));
  for (uint32_t k = 0; k < f->graph->ninputs; k++) {
    fnzi_stp_input *in = &f->exe->inputs[k];
    if (!in->is_tensor || !f->inner[f->graph->inputs[k].u.value])
      continue;
    in->is_folded = true;
    FNZ_TRY(give_weight(f, k, &storages[k]));
  }
  return FNZ_OK;
}

/* Makes the layout of a copy: strides like `from` if these leave no gaps, else row-major. */
static fnz_status make_layout(folding *f, const fnz_geometry *from, const fnz_geometry **out) {
  fnz_geometry *layout;
  int64_t *numbers, low, high;
  FNZI_NEW(&f->exe->arena, 1, &layout);
  FNZI_NEW(&f->exe->arena, 2 * (size_t)from->rank + 1, &numbers);
  *layout = (fnz_geometry){.dtype = from->dtype, .rank = from->rank, .sizes = numbers};
  layout->strides = numbers + from->rank;
  for (uint32_t d = 0; d < from->rank; d++) {
    numbers[d] = from->sizes[d];
    numbers[from->rank + d] = from->strides[d];
  }
  if (!fnzi_extent(layout, &low, &high) || low < 0 || high != fnz_geometry_numel(from))
    fnzi_contiguous_strides(numbers, from->rank, numbers + from->rank);
  *out = layout;
  return FNZ_OK;
}

/* Copies a folded value to memory of the executable. */
static fnz_status keep(folding *f, uint64_t v) {
  const fnzi_krn_array *array = fnzi_krn_array_of(fnzi_run_steps_value(f->steps, v));
  const fnz_geometry *from = &array->window;
  kept one = {.value = (uint32_t)v};
  size_t bytes;
  FNZI_RESERVE(f->ctx, &f->kept, f->kept.count + 1);
  FNZ_TRY(make_layout(f, from, &one.layout));
  FNZ_TRY(fnzi_stp_extent_bytes(f->ctx, one.layout, &bytes));
  fnzi_blob *whole;
  FNZ_TRY(fnzi_blob_create(f->ctx, bytes + ALIGNMENT, &whole));
  unsigned char *data = fnzi_blob_data(whole);
  data += -(uintptr_t)data & (ALIGNMENT - 1);
  fnz_status status = fnzi_blob_window(f->ctx, whole, data, bytes, &one.blob);
  fnzi_blob_release(whole);
  FNZ_TRY(status);
  fnzi_stp_elements_move(from, array->storage->data, one.layout, fnzi_blob_data(one.blob));
  f->kept.data[f->kept.count++] = one;
  return FNZ_OK;
}

static fnz_status compute(folding *f) {
  uint32_t at = 0; /* among the nodes that are computed */
  FNZ_TRY(open_steps(f));
  for (size_t n = 0; n < f->graph->nodes.count; n++) {
    const fnzi_node *node = &f->graph->nodes.data[n];
    if (f->fates[n] == STORED) {
      /* The value lies where the weight does that the node converts. */
      fnzi_stp_input *in = weight_of(f, &node->args[0]);
      fnzi_blob *blob = in->weight->blob;
      kept one = {.value = (uint32_t)node->outputs[0].u.value, .layout = in->weight->geometry};
      FNZI_RESERVE(f->ctx, &f->kept, f->kept.count + 1);
      FNZ_TRY(
          fnzi_blob_window(f->ctx, blob, fnzi_blob_data(blob), fnzi_blob_bytes(blob), &one.blob));
      in->is_folded = true;
      f->kept.data[f->kept.count++] = one;
    }
    if (!is_computed(f, n))
      continue;
    FNZ_TRY(fnzi_run_steps_node(f->steps, at++));
    FNZI_EACH_ARG(each, node->outputs, node->noutputs)
      if (f->fates[n] == FOLDED && each.arg->tag == FNZ_ARG_VALUE && f->used[each.arg->u.value])
        FNZ_TRY(keep(f, each.arg->u.value));
  }
  return FNZ_OK;
}

/* --- The program without them ----------------------------------------------------------------- */
/* Builds graph 0 of the nodes that stay. parts[i]: the node of exe->program that node i is a part
 * of.
 */
static fnz_status make_nodes(folding *f, fnzi_graph *graph, uint32_t *parts) {
  const fnzi_graph *from = f->graph;
  const uint32_t *const *had = f->exe->expansion.parts;
  FNZI_NEW(&f->exe->arena, from->nodes.count, &graph->nodes.data);
  FNZI_NEW(&f->exe->arena, from->values.count, &graph->values.data);
  memcpy(graph->values.data, from->values.data, from->values.count * sizeof *from->values.data);
  graph->nodes.count = 0;
  for (uint32_t n = 0; n < from->nodes.count; n++) {
    const fnzi_node *node = &from->nodes.data[n];
    bool stays = f->fates[n] == STAYS || f->fates[n] == BOTH;
    const uint32_t at = stays ? (uint32_t)graph->nodes.count : FNZI_NO_NODE;
    FNZI_EACH_ARG(each, node->outputs, node->noutputs)
      if (fnzi_is_reference(each.arg))
        graph->values.data[each.arg->u.value].node = at;
    if (!stays)
      continue;
    parts[graph->nodes.count] = fnzi_stp_part_of(had, 0, n);
    graph->nodes.data[graph->nodes.count++] = *node;
  }
  graph->nodes.capacity = graph->nodes.count;
  graph->source_nodes = NULL;
  return FNZ_OK;
}

/* Appends the values to the inputs of graph 0 and of the executable. */
static fnz_status add_inputs(folding *f, fnz_program *p, fnzi_graph *graph) {
  const uint32_t had = graph->ninputs;
  fnz_executable *exe = f->exe;
  const size_t count = had + f->kept.count;
  fnz_input_spec *specs;
  fnz_arg *args;
  fnzi_stp_input *inputs;
  FNZI_NEW(&exe->arena, count, &specs);
  FNZI_NEW(&exe->arena, count, &args);
  FNZI_NEW(&exe->arena, count, &inputs);
  memcpy(specs, p->inputs, had * sizeof *specs);
  memcpy(args, graph->inputs, had * sizeof *args);
  memcpy(inputs, exe->inputs, had * sizeof *inputs);
  for (uint32_t k = had; k < count; k++) {
    kept *one = &f->kept.data[k - had];
    const char *name = graph->values.data[one->value].name;
    fnzi_weight *weight;
    FNZI_NEW(&exe->arena, 1, &weight);
    *weight = (fnzi_weight){name, one->blob, one->layout};
    specs[k] = (fnz_input_spec){.kind = FNZ_INPUT_CONSTANT, .target = name};
    args[k] = fnzi_arg_value(one->value);
    inputs[k] = (fnzi_stp_input){
        .is_tensor = true, .memory = k, .slot = FNZI_PLN_NONE, .weight = weight, .name = name};
  }
  p->inputs = specs;
  graph->inputs = args;
  graph->ninputs = exe->ninputs = (uint32_t)count;
  exe->inputs = inputs;
  f->kept.count = 0; /* they are the executable's */
  return FNZ_OK;
}

static fnz_status build(folding *f) {
  fnz_executable *exe = f->exe;
  const size_t ngraphs = f->program->graphs.count;
  const uint32_t **parts;
  uint32_t *own;
  fnz_program *p;
  fnzi_graph *graphs;
  FNZI_NEW(&exe->arena, 1, &p);
  FNZI_NEW(&exe->arena, ngraphs, &graphs);
  FNZI_NEW(&exe->arena, ngraphs, &parts);
  FNZI_NEW(&exe->arena, f->graph->nodes.count, &own);
  memcpy(graphs, f->program->graphs.data, ngraphs * sizeof *graphs);
  for (size_t g = 1; exe->expansion.parts && g < ngraphs; g++)
    parts[g] = exe->expansion.parts[g];
  parts[0] = own;
  FNZ_TRY(make_nodes(f, &graphs[0], own));
  /* Values of removed nodes are no tensors, unless they are inputs now. */
  for (size_t n = 0; n < f->graph->nodes.count; n++) {
    const fnzi_node *node = &f->graph->nodes.data[n];
    if (f->fates[n] == STAYS || f->fates[n] == BOTH)
      continue;
    FNZI_EACH_ARG(each, node->outputs, node->noutputs)
      if (each.arg->tag == FNZ_ARG_VALUE && !f->used[each.arg->u.value])
        graphs[0].values.data[each.arg->u.value].geometry = NULL;
  }
  *p = *f->program;
  p->graphs.data = graphs;
  FNZ_TRY(add_inputs(f, p, &graphs[0]));
  exe->folded = p;
  exe->folded_parts = parts;
  return FNZ_OK;
}

/* --- Folding ---------------------------------------------------------------------------------- */
static fnz_status fold_open(folding *f) {
  FNZI_NEW(&f->scratch, f->graph->values.count, &f->constant);
  FNZI_NEW(&f->scratch, f->graph->values.count, &f->used);
  FNZI_NEW(&f->scratch, f->graph->values.count, &f->inner);
  FNZI_NEW(&f->scratch, f->graph->values.count, &f->others);
  FNZI_NEW(&f->scratch, f->graph->nodes.count, &f->fates);
  /* Constants are weights that no run writes, and results of nodes that read only constants. */
  for (uint32_t k = 0; k < f->graph->ninputs; k++) {
    const fnzi_stp_input *in = &f->exe->inputs[k];
    bool is_weight = in->is_tensor && in->weight && !in->is_passed && !in->in_state;
    if (is_weight && !in->is_written && !geometry_of(f, &f->graph->inputs[k])->symbols)
      f->constant[f->graph->inputs[k].u.value] = true;
  }
  for (size_t n = 0; n < f->graph->nodes.count; n++) {
    const fnzi_node *node = &f->graph->nodes.data[n];
    bool constant = is_constant(f, node);
    FNZI_EACH_ARG(each, node->outputs, node->noutputs)
      if (constant && each.arg->tag == FNZ_ARG_VALUE)
        f->constant[each.arg->u.value] = true;
  }
  mark(f->others, f->graph->outputs, f->graph->noutputs);
  for (size_t n = f->graph->nodes.count; n-- > 0;) {
    const fnzi_node *node = &f->graph->nodes.data[n];
    const fnz_arg *factor = NULL; /* the second factor of a product */
    for (size_t i = 0; node->op && i < sizeof products / sizeof *products; i++)
      if (node->op == &fnzi_ops[products[i].op])
        factor = &node->args[products[i].factor];
    FNZI_EACH_ARG(each, node->args, node->nargs)
      if (each.arg->tag == FNZ_ARG_VALUE && each.arg != factor && !is_passed_on(f, node, each.arg))
        f->others[each.arg->u.value] = true;
  }
  return FNZ_OK;
}

fnz_status fnzi_eng_fold(fnz_executable *exe) {
  const fnz_program *p = exe->expansion.program ? exe->expansion.program : exe->program;
  folding f = {.exe = exe, .ctx = exe->ctx, .program = p, .graph = fnzi_graph_main(p)};
  const fnz_error had = exe->ctx->error;
  if (exe->is_unplanned || exe->kernels || exe->device || exe->is_guest || exe->is_printed)
    return FNZ_OK;
  fnzi_arena_init(&f.scratch, exe->ctx);
  fnz_status status = fold_open(&f);
  if (status == FNZ_OK && choose(&f)) {
    status = compute(&f);
    if (status == FNZ_OK)
      status = build(&f);
  }
  fnzi_run_steps_close(f.steps);
  fnz_backend_destroy(f.backend);
  for (size_t i = 0; i < f.kept.count; i++)
    fnzi_blob_release(f.kept.data[i].blob);
  FNZI_VEC_FREE(exe->ctx, &f.kept);
  fnzi_arena_free(&f.scratch);
  if (status == FNZ_OK || fnzi_is_final(status))
    return status;
  exe->ctx->error = had; /* nothing is folded; each run computes the node and reports its error */
  return FNZ_OK;
}

bool fnzi_eng_uses_folded(const fnz_workspace *ws) {
  const fnz_executable *exe = ws->exe;
  if (!exe->folded)
    return false;
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++) {
    const fnzi_stp_input *in = &exe->inputs[k];
    if (in->is_folded && ws->inputs[k].start != fnzi_stp_weight_start(in))
      return false;
  }
  return true;
}
