/* module.c - a program as a module of MLIR: comments that say what arguments and results are,
 * weights, and one function. */
#include "program/formats/external.h"
#include "program/formats/mlir/mlir.h"
#include "schema/facts/mlir.h"

static fnz_status put(fnzi_mlir *w, fnz_buffer *out, const char *text) {
  return fnzi_put_text(w->ctx, out, text);
}

/* --- comments --------------------------------------------------------------------------------- */
static fnz_status put_comment(fnzi_mlir *w, fnz_buffer *out, const char *what, uint32_t number,
                              const char *kind, const char *target) {
  FNZ_TRY(fnzi_printf(w->ctx, out, "// %s %u: %s", what, number, kind));
  if (target) {
    FNZ_TRY(fnzi_put(w->ctx, out, " ", 1));
    FNZ_TRY(fnzi_mlir_put_quoted(w->ctx, out, target, strlen(target)));
  }
  return fnzi_put(w->ctx, out, "\n", 1);
}

/* "output.3" counts what the caller receives, also what is no tensor. */
static fnz_status put_result_comment(fnzi_mlir *w, fnz_buffer *out, uint32_t k, uint32_t number,
                                     uint32_t user) {
  const fnz_output_spec *spec = &w->p->outputs[k];
  if (fnzi_output_is_result(spec))
    return fnzi_printf(w->ctx, out, "// result %u: %s %u\n", number,
                       fnzi_output_kind_names[spec->kind], user);
  return put_comment(w, out, "result", number, fnzi_output_kind_names[spec->kind], spec->target);
}

static fnz_status put_comments(fnzi_mlir *w, fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_at(w->p, 0);
  uint32_t number = 0, user = 0;
  FNZ_TRY(fnzi_printf(w->ctx, out, "// Torch dialect, as IREE %s has it.\n", fnzi_mlir_version()));
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (fnzi_mlir_is_argument(w->roles[k]))
      FNZ_TRY(put_comment(w, out, "argument", number++, fnzi_input_kind_names[w->p->inputs[k].kind],
                          w->p->inputs[k].target));
  number = 0;
  for (uint32_t k = 0; k < g->noutputs; k++) {
    if (fnzi_mlir_is_result(w, k))
      FNZ_TRY(put_result_comment(w, out, k, number++, user));
    else if (fnzi_output_is_mutation(&w->p->outputs[k]))
      FNZ_TRY(put_comment(w, out, "stored", k, fnzi_output_kind_names[w->p->outputs[k].kind],
                          w->p->outputs[k].target));
    user += fnzi_output_is_result(&w->p->outputs[k]);
  }
  return FNZ_OK;
}

/* --- the beginning of the function ------------------------------------------------------------ */
/* The argument whose memory is overwritten has a name of its own: "%.m3" of input 3. */
static fnz_status put_argument(fnzi_mlir *w, fnz_buffer *out, uint32_t k) {
  const fnz_arg *input = &fnzi_graph_at(w->p, 0)->inputs[k];
  const char *name;
  if (w->roles[k] == FNZI_MLIR_OVERWRITTEN) {
    FNZ_TRY(fnzi_printf(w->ctx, out, "%%.m%u: ", k));
    return fnzi_mlir_put_tensor(w, out, fnzi_value_at(w->p, 0, input->u.value)->geometry, true);
  }
  FNZ_TRY(fnzi_mlir_name(w, &w->frames[0], input->u.value, &name));
  FNZ_TRY(fnzi_printf(w->ctx, out, "%s: ", name));
  return fnzi_mlir_put_type(w, out, &w->frames[0], input);
}

static fnz_status put_head(fnzi_mlir *w, fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_at(w->p, 0);
  const char *comma = "";
  FNZ_TRY(put(w, out, "  func.func @main("));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    if (!fnzi_mlir_is_argument(w->roles[k]))
      continue;
    FNZ_TRY(put(w, out, comma));
    FNZ_TRY(put_argument(w, out, k));
    comma = ",\n      ";
  }
  FNZ_TRY(put(w, out, ")"));
  if (w->args.types.size)
    FNZ_TRY(fnzi_printf(w->ctx, out, "\n      -> (%s)", w->args.types.data));
  return put(w, out, "\n      attributes {torch.assume_strict_symbolic_shapes} {\n");
}

/* A global, or memory that is overwritten later, as the value that the nodes read. */
static fnz_status put_load(fnzi_mlir *w, fnz_buffer *out, uint32_t k) {
  const fnz_arg *input = &fnzi_graph_at(w->p, 0)->inputs[k];
  const fnz_geometry *g = fnzi_value_at(w->p, 0, input->u.value)->geometry;
  const char *name;
  FNZ_TRY(fnzi_mlir_name(w, &w->frames[0], input->u.value, &name));
  if (w->roles[k] == FNZI_MLIR_OVERWRITTEN) {
    FNZ_TRY(fnzi_printf(w->ctx, out, "    %s = torch.copy.to_vtensor %%.m%u : ", name, k));
  } else {
    FNZ_TRY(fnzi_printf(w->ctx, out, "    %%.g%u = util.global.load ", k));
    FNZ_TRY(fnzi_mlir_put_symbol(w, out, w->p->inputs[k].target));
    FNZ_TRY(put(w, out, " : "));
    FNZ_TRY(fnzi_mlir_put_builtin(w, out, g));
    FNZ_TRY(fnzi_printf(w->ctx, out, "\n    %s = torch_c.from_builtin_tensor %%.g%u : ", name, k));
    FNZ_TRY(fnzi_mlir_put_builtin(w, out, g));
    FNZ_TRY(put(w, out, " -> "));
  }
  FNZ_TRY(fnzi_mlir_put_tensor(w, out, g, false));
  return put(w, out, "\n");
}

static fnz_status put_loads(fnzi_mlir *w, fnz_buffer *out) {
  for (uint32_t k = 0; k < fnzi_graph_at(w->p, 0)->ninputs; k++)
    if (w->roles[k] == FNZI_MLIR_GLOBAL || w->roles[k] == FNZI_MLIR_MUTABLE ||
        w->roles[k] == FNZI_MLIR_OVERWRITTEN)
      FNZ_TRY(put_load(w, out, k));
  return FNZ_OK;
}

/* --- its end ---------------------------------------------------------------------------------- */
static fnz_status put_store(fnzi_mlir *w, uint32_t output, uint32_t input) {
  const fnzi_graph *g = fnzi_graph_at(w->p, 0);
  const fnz_geometry *to = fnzi_value_at(w->p, 0, g->inputs[input].u.value)->geometry;
  const fnz_geometry *from = fnzi_value_at(w->p, 0, g->outputs[output].u.value)->geometry;
  fnz_buffer *out = &w->body;
  const char *name;
  FNZ_TRY(fnzi_mlir_name(w, &w->frames[0], g->outputs[output].u.value, &name));
  if (w->roles[input] == FNZI_MLIR_OVERWRITTEN) {
    FNZ_TRY(fnzi_printf(
        w->ctx, out, "    torch.overwrite.tensor.contents %s overwrites %%.m%u : ", name, input));
    FNZ_TRY(fnzi_mlir_put_tensor(w, out, from, false));
    FNZ_TRY(put(w, out, ", "));
    FNZ_TRY(fnzi_mlir_put_tensor(w, out, to, true));
    return put(w, out, "\n");
  }
  FNZ_TRY(fnzi_printf(w->ctx, out, "    %%.f%u = torch_c.to_builtin_tensor %s : ", input, name));
  FNZ_TRY(fnzi_mlir_put_tensor(w, out, from, false));
  FNZ_TRY(put(w, out, " -> "));
  FNZ_TRY(fnzi_mlir_put_builtin(w, out, to));
  FNZ_TRY(fnzi_printf(w->ctx, out, "\n    util.global.store %%.f%u, ", input));
  FNZ_TRY(fnzi_mlir_put_symbol(w, out, w->p->inputs[input].target));
  FNZ_TRY(put(w, out, " : "));
  FNZ_TRY(fnzi_mlir_put_builtin(w, out, to));
  return put(w, out, "\n");
}

/* Stores, then the results, whose types stay in w->args for the head. */
static fnz_status put_end(fnzi_mlir *w) {
  const fnzi_graph *g = fnzi_graph_at(w->p, 0);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    int64_t input = fnzi_mlir_final_of(w, k);
    if (input >= 0 && !fnzi_mlir_is_result(w, k))
      FNZ_TRY(put_store(w, k, (uint32_t)input));
  }
  fnzi_mlir_list_clear(&w->args);
  for (uint32_t k = 0; k < g->noutputs; k++)
    if (fnzi_mlir_is_result(w, k))
      FNZ_TRY(fnzi_mlir_add_plain(w, &w->args, &w->frames[0], &g->outputs[k]));
  FNZ_TRY(put(w, &w->body, "    return"));
  if (w->args.names.size)
    FNZ_TRY(fnzi_printf(w->ctx, &w->body, " %s : %s", w->args.names.data, w->args.types.data));
  return put(w, &w->body, "\n  }\n}\n");
}

/* --- the whole -------------------------------------------------------------------------------- */
static fnz_status put_nodes(fnzi_mlir *w) {
  FNZ_TRY(fnzi_mlir_find_roles(w));
  FNZ_TRY(fnzi_mlir_enter(w, 0));
  return fnzi_mlir_put_graphs(w);
}

static fnz_status put_module(fnzi_mlir *w, fnz_buffer *out) {
  FNZ_TRY(put_nodes(w));
  FNZ_TRY(put_end(w));
  FNZ_TRY(put_comments(w, out));
  FNZ_TRY(put(w, out, "module @module {\n"));
  FNZ_TRY(fnzi_mlir_put_globals(w, out));
  FNZ_TRY(put_head(w, out));
  FNZ_TRY(put_loads(w, out));
  FNZ_TRY(fnzi_mlir_put_shapes(w, out));
  if (w->constants.size)
    FNZ_TRY(fnzi_put(w->ctx, out, w->constants.data, w->constants.size));
  FNZ_TRY(fnzi_put(w->ctx, out, w->body.data, w->body.size));
  if (w->resources.size)
    FNZ_TRY(fnzi_printf(w->ctx, out,
                        "{-#\n  dialect_resources: {\n    builtin: {\n%s\n    }\n  "
                        "}\n#-}\n",
                        w->resources.data));
  return FNZ_OK;
}

static fnz_status begin(fnzi_mlir *w, fnz_context *ctx, const fnz_program *p,
                        const fnz_mlir_options *options) {
  *w = (fnzi_mlir){.ctx = ctx, .p = p, .options = FNZ_MLIR_OPTIONS_INIT};
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof w->options, &w->options));
  fnzi_arena_init(&w->arena, ctx);
  fnzi_map_init(&w->known, ctx);
  return FNZ_OK;
}

static void end(fnzi_mlir *w) {
  fnz_buffer *const all[] = {&w->constants,  &w->body,       &w->resources,   &w->scratch,
                             &w->args.names, &w->args.types, &w->items.names, &w->items.types};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    fnz_buffer_free(w->ctx, all[i]);
  fnzi_map_free(&w->known);
  fnzi_arena_free(&w->arena);
}

fnz_status fnz_mlir_write(fnz_context *ctx, const fnz_program *program,
                          const fnz_mlir_options *options, fnz_buffer *text, fnz_buffer *weights) {
  fnzi_mlir w;
  FNZ_TRY(begin(&w, ctx, program, options));
  fnz_status status = put_module(&w, text);
  if (status == FNZ_OK && weights)
    status = fnzi_mlir_put_weights(&w, weights, NULL);
  end(&w);
  return status;
}

fnz_status fnz_mlir_check(fnz_context *ctx, const fnz_program *program,
                          const fnz_mlir_options *options, fnz_mlir_refused_fn *refused,
                          void *user) {
  fnzi_mlir w;
  FNZ_TRY(begin(&w, ctx, program, options));
  w.refused = refused;
  w.user = user;
  fnz_status status = put_nodes(&w);
  end(&w);
  return status;
}

/* --- files ------------------------------------------------------------------------------------ */
/* "x.safetensors" of "x.mlir". */
static fnz_status name_weights(fnzi_mlir *w, const char *path, const char **out) {
  static const char extension[] = ".mlir";
  size_t size = strlen(path), tail = sizeof extension - 1;
  bool has = size > tail && strcmp(path + size - tail, extension) == 0;
  return fnzi_arena_format(&w->arena, out, "%.*s.safetensors", (int)(has ? size - tail : size),
                           path);
}

/* What is written: the text, and the file of weights. */
typedef struct output {
  fnz_buffer text, weights;
  fnzi_out_pieces pieces; /* of the weights */
} output;

static fnz_status look_whose(fnz_context *ctx, const fnzi_foreign_seen *seen) {
  (void)ctx;
  return fnzi_external_has_mark(seen, FNZI_EXTERNAL_MARK(FNZI_MLIR_KIND)) ? FNZ_OK : FNZ_IO;
}

static fnz_status save(fnzi_mlir *w, const char *path, output *o) {
  fnzi_out_file text = {path, &o->text, NULL}, weights = {NULL, &o->weights, &o->pieces};
  FNZ_TRY(put_module(w, &o->text));
  FNZ_TRY(fnzi_mlir_put_weights(w, &o->weights, &o->pieces));
  if (!o->weights.size)
    return fnzi_file_write(w->ctx, path, &o->text, NULL);
  FNZ_TRY(name_weights(w, path, &weights.path));
  if (strcmp(path, "-") == 0)
    return fnzi_fail(w->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the weights need a file beside the text; name a file with -o, or write them "
                     "into the text with --weights inline");
  FNZ_TRY(fnzi_external_check_place(w->ctx, weights.path, look_whose));
  return fnzi_file_write_pair(w->ctx, &weights, &text);
}

fnz_status fnz_mlir_save(fnz_context *ctx, const fnz_program *program,
                         const fnz_mlir_options *options, const char *path) {
  fnzi_mlir w;
  output o = {.text = {0}};
  FNZ_TRY(begin(&w, ctx, program, options));
  fnz_status status = save(&w, path, &o);
  FNZI_VEC_FREE(ctx, &o.pieces);
  fnz_buffer_free(ctx, &o.text);
  fnz_buffer_free(ctx, &o.weights);
  end(&w);
  return status;
}
