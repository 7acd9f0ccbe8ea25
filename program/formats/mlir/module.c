/* module.c - a program as a module of MLIR: comments that say what arguments and results are,
 * weights, and one function. */
#include "program/formats/external.h"
#include "program/formats/mlir/mlir.h"
#include "schema/facts/mlir.h"

static fnz_status module_put(fnzi_mlir *w, fnz_buffer *out, const char *text) {
  return fnzi_put_text(w->ctx, out, text);
}

/* --- comments --------------------------------------------------------------------------------- */
static fnz_status put_pairs_comment(fnzi_mlir *w, fnz_buffer *out, const fnz_arg *value) {
  if (value->tag != FNZ_ARG_VALUE ||
      !fnzi_is_complex(fnzi_value_at(w->p, 0, value->u.value)->geometry->dtype))
    return FNZ_OK;
  return module_put(w, out, "//   complex numbers as pairs, in a last dimension of 2\n");
}

static fnz_status put_comment(fnzi_mlir *w, fnz_buffer *out, const char *what, uint32_t number,
                              const char *kind, const char *target) {
  FNZ_TRY(fnzi_printf(w->ctx, out, "// %s %u: %s", what, number, kind));
  if (target) {
    FNZ_TRY(fnzi_put(w->ctx, out, " ", 1));
    FNZ_TRY(fnzi_mlir_put_quoted(w->ctx, out, target, strlen(target)));
  }
  return fnzi_put(w->ctx, out, "\n", 1);
}

static fnz_status put_comments(fnzi_mlir *w, fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  uint32_t number = 0, user = 0;
  if (w->module->count > 1)
    FNZ_TRY(
        put_comment(w, out, "function", w->method, "method", w->module->methods[w->method].name));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    if (!fnzi_mlir_is_argument(w->roles[k]))
      continue;
    FNZ_TRY(put_comment(w, out, "argument", number++, fnzi_input_kind_names[w->p->inputs[k].kind],
                        w->p->inputs[k].target));
    FNZ_TRY(put_pairs_comment(w, out, &g->inputs[k]));
  }
  number = 0;
  for (uint32_t k = 0; k < g->noutputs; k++) {
    const fnz_output_spec *spec = &w->p->outputs[k];
    const char *kind = fnzi_output_kind_names[spec->kind];
    const bool is_result = fnzi_mlir_is_result(w, k), is_stored = fnzi_output_is_mutation(spec);
    const bool is_users = fnzi_output_is_result(spec);
    /* "output.3" counts all results of the caller, also results that are no tensors. */
    if (is_result && is_users)
      FNZ_TRY(fnzi_printf(w->ctx, out, "// result %u: %s %u\n", number++, kind, user));
    else if (is_result)
      FNZ_TRY(put_comment(w, out, "result", number++, kind, spec->target));
    else if (is_stored)
      FNZ_TRY(put_comment(w, out, "stored", k, kind, spec->target));
    if (is_result || is_stored)
      FNZ_TRY(put_pairs_comment(w, out, &g->outputs[k]));
    user += is_users;
  }
  return FNZ_OK;
}

/* --- the beginning of the function ------------------------------------------------------------ */

static fnz_status put_head(fnzi_mlir *w, fnz_buffer *out) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  const char *comma = "";
  FNZ_TRY(module_put(w, out, "  func.func @"));
  const char *function = w->module->methods[w->method].name;
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  FNZ_TRY(strchr(letters, function[0]) &&
                  function[strspn(function, "0123456789abcdefghijklmnopqrstuvwxyz"
                                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == 0
              ? module_put(w, out, function)
              : fnzi_mlir_put_quoted(w->ctx, out, function, strlen(function)));
  FNZ_TRY(module_put(w, out, "("));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    if (!fnzi_mlir_is_argument(w->roles[k]))
      continue;
    FNZ_TRY(module_put(w, out, comma));
    /* The argument whose memory is overwritten has a name of its own: "%.m3" of input 3. */
    const fnz_arg *input = &fnzi_graph_main(w->p)->inputs[k];
    const char *name;
    if (w->roles[k] == FNZI_MLIR_OVERWRITTEN) {
      FNZ_TRY(fnzi_printf(w->ctx, out, "%%.m%u: ", k));
      FNZ_TRY(fnzi_mlir_put_tensor(w, out, fnzi_value_at(w->p, 0, input->u.value)->geometry, true));
    } else {
      FNZ_TRY(fnzi_mlir_name(w, &w->frames[0], input->u.value, &name));
      FNZ_TRY(fnzi_printf(w->ctx, out, "%s: ", name));
      FNZ_TRY(fnzi_mlir_put_type(w, out, &w->frames[0], input));
    }
    comma = ",\n      ";
  }
  FNZ_TRY(module_put(w, out, ")"));
  if (w->args.types.size)
    FNZ_TRY(fnzi_printf(w->ctx, out, "\n      -> (%s)", w->args.types.data));
  return module_put(w, out, "\n      attributes {torch.assume_strict_symbolic_shapes} {\n");
}

/* A global, or memory that is overwritten later, as the value that the nodes read. */
static fnz_status put_load(fnzi_mlir *w, fnz_buffer *out, uint32_t k) {
  const fnz_arg *input = &fnzi_graph_main(w->p)->inputs[k];
  const fnz_geometry *g = fnzi_value_at(w->p, 0, input->u.value)->geometry;
  const char *name;
  FNZ_TRY(fnzi_mlir_name(w, &w->frames[0], input->u.value, &name));
  if (w->roles[k] == FNZI_MLIR_OVERWRITTEN) {
    FNZ_TRY(fnzi_printf(w->ctx, out, "    %s = torch.copy.to_vtensor %%.m%u : ", name, k));
  } else {
    FNZ_TRY(fnzi_printf(w->ctx, out, "    %%.g%u = util.global.load ", k));
    FNZ_TRY(fnzi_mlir_put_symbol(w, out, k));
    FNZ_TRY(module_put(w, out, " : "));
    FNZ_TRY(fnzi_mlir_put_builtin(w, out, g));
    FNZ_TRY(fnzi_printf(w->ctx, out, "\n    %s = torch_c.from_builtin_tensor %%.g%u : ", name, k));
    FNZ_TRY(fnzi_mlir_put_builtin(w, out, g));
    FNZ_TRY(module_put(w, out, " -> "));
  }
  FNZ_TRY(fnzi_mlir_put_tensor(w, out, g, false));
  return module_put(w, out, "\n");
}

/* --- its end ---------------------------------------------------------------------------------- */
static fnz_status put_store(fnzi_mlir *w, uint32_t output, uint32_t input) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  const fnz_geometry *to = fnzi_value_at(w->p, 0, g->inputs[input].u.value)->geometry;
  const fnz_geometry *from = fnzi_value_at(w->p, 0, g->outputs[output].u.value)->geometry;
  fnz_buffer *out = &w->body;
  const char *name;
  FNZ_TRY(fnzi_mlir_name(w, &w->frames[0], g->outputs[output].u.value, &name));
  if (w->roles[input] == FNZI_MLIR_OVERWRITTEN) {
    FNZ_TRY(fnzi_printf(
        w->ctx, out, "    torch.overwrite.tensor.contents %s overwrites %%.m%u : ", name, input));
    FNZ_TRY(fnzi_mlir_put_tensor(w, out, from, false));
    FNZ_TRY(module_put(w, out, ", "));
    FNZ_TRY(fnzi_mlir_put_tensor(w, out, to, true));
    return module_put(w, out, "\n");
  }
  FNZ_TRY(fnzi_printf(w->ctx, out, "    %%.f%u = torch_c.to_builtin_tensor %s : ", input, name));
  FNZ_TRY(fnzi_mlir_put_tensor(w, out, from, false));
  FNZ_TRY(module_put(w, out, " -> "));
  FNZ_TRY(fnzi_mlir_put_builtin(w, out, to));
  FNZ_TRY(fnzi_printf(w->ctx, out, "\n    util.global.store %%.f%u, ", input));
  FNZ_TRY(fnzi_mlir_put_symbol(w, out, input));
  FNZ_TRY(module_put(w, out, " : "));
  FNZ_TRY(fnzi_mlir_put_builtin(w, out, to));
  return module_put(w, out, "\n");
}

/* Stores, then the results, whose types stay in w->args for the head. */
static fnz_status put_end(fnzi_mlir *w) {
  const fnzi_graph *g = fnzi_graph_main(w->p);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    int64_t input = fnzi_mlir_final_of(w, k);
    if (input >= 0 && !fnzi_mlir_is_result(w, k))
      FNZ_TRY(put_store(w, k, (uint32_t)input));
  }
  fnzi_mlir_list_clear(&w->args);
  for (uint32_t k = 0; k < g->noutputs; k++)
    if (fnzi_mlir_is_result(w, k))
      FNZ_TRY(fnzi_mlir_add_plain(w, &w->args, &w->frames[0], &g->outputs[k]));
  FNZ_TRY(module_put(w, &w->body, "    return"));
  if (w->args.names.size)
    FNZ_TRY(fnzi_printf(w->ctx, &w->body, " %s : %s", w->args.names.data, w->args.types.data));
  return module_put(w, &w->body, "\n  }\n");
}

/* --- the whole -------------------------------------------------------------------------------- */
static fnz_status put_nodes(fnzi_mlir *w) {
  FNZ_TRY(fnzi_mlir_enter(w, 0));
  return fnzi_mlir_put_graphs(w);
}

static fnz_status put_module(fnzi_mlir *all, size_t count, fnz_buffer *out) {
  for (size_t m = 0; m < count; m++)
    FNZ_TRY(fnzi_mlir_find_roles(&all[m]));
  FNZ_TRY(fnzi_mlir_join(all, count));
  FNZ_TRY(
      fnzi_printf(all->ctx, out, "// Torch dialect, as IREE %s has it.\n", fnzi_mlir_version()));
  for (size_t m = 0; m < count; m++)
    FNZ_TRY(put_comments(&all[m], out));
  FNZ_TRY(module_put(all, out, "module @module {\n"));
  for (size_t m = 0; m < count; m++)
    FNZ_TRY(fnzi_mlir_put_globals(&all[m], out));
  for (size_t m = 0; m < count; m++) {
    fnzi_mlir *w = &all[m];
    FNZ_TRY(put_nodes(w));
    FNZ_TRY(put_end(w));
    FNZ_TRY(put_head(w, out));
    for (uint32_t k = 0; k < fnzi_graph_main(w->p)->ninputs; k++)
      if (w->roles[k] == FNZI_MLIR_GLOBAL || w->roles[k] == FNZI_MLIR_MUTABLE ||
          w->roles[k] == FNZI_MLIR_OVERWRITTEN)
        FNZ_TRY(put_load(w, out, k));
    FNZ_TRY(fnzi_mlir_put_shapes(w, out));
    if (w->constants.size)
      FNZ_TRY(fnzi_put(w->ctx, out, w->constants.data, w->constants.size));
    FNZ_TRY(fnzi_put(w->ctx, out, w->body.data, w->body.size));
  }
  FNZ_TRY(module_put(all, out, "}\n"));
  bool any = false;
  for (size_t m = 0; m < count; m++) {
    if (!all[m].resources.size)
      continue;
    FNZ_TRY(module_put(all, out, any ? ",\n" : "{-#\n  dialect_resources: {\n    builtin: {\n"));
    FNZ_TRY(fnzi_put(all->ctx, out, all[m].resources.data, all[m].resources.size));
    any = true;
  }
  return any ? module_put(all, out, "\n    }\n  }\n#-}\n") : FNZ_OK;
}

static void end(fnzi_mlir *w) {
  fnz_buffer *const all[] = {&w->constants,  &w->body,       &w->resources,   &w->scratch,
                             &w->args.names, &w->args.types, &w->items.names, &w->items.types};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    fnz_buffer_free(w->ctx, all[i]);
  fnzi_map_free(&w->known);
  fnzi_arena_free(&w->arena);
}

/* --- several functions ------------------------------------------------------------------------ */
/* Uses the functions of a module; `user` is passed on. */
typedef fnz_status use(fnzi_mlir *all, size_t count, void *user);

static fnz_status with_module(fnz_context *ctx, const fnz_method *methods, size_t count,
                              const fnz_mlir_options *options, use *visit, void *user) {
  fnzi_mlir_module module = {.methods = methods, .count = count};
  fnzi_mlir *all;
  fnzi_arena arena;
  size_t open = 0;
  for (size_t m = 0; m < count; m++)
    for (size_t i = 0; i < m; i++)
      if (strcmp(methods[m].name, methods[i].name) == 0)
        return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, methods[m].name,
                         "two methods of this name; a module has one function of a name");
  if (!count || count >= UINT32_MAX)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "%zu methods for a module", count);
  fnzi_arena_init(&arena, ctx);
  fnzi_map_init(&module.keys, ctx);
  void *memory = NULL;
  fnz_status status = fnzi_arena_alloc(&arena, count, sizeof *all, &memory);
  all = memory;
  while (status == FNZ_OK && open < count) {
    fnzi_mlir *w = &all[open];
    *w = (fnzi_mlir){.ctx = ctx,
                     .p = methods[open].program,
                     .module = &module,
                     .method = (uint32_t)open,
                     .options = FNZ_MLIR_OPTIONS_INIT};
    fnzi_arena_init(&w->arena, ctx);
    fnzi_map_init(&w->known, ctx);
    status = fnzi_options_take(ctx, options, sizeof w->options, &w->options);
    open++;
  }
  if (status == FNZ_OK)
    status = visit(all, count, user);
  while (open-- > 0)
    end(&all[open]);
  FNZI_VEC_FREE(ctx, &module.weights);
  fnzi_map_free(&module.keys);
  fnzi_arena_free(&arena);
  return status;
}

typedef struct target {
  fnz_buffer *text, *weights;
} target;

static fnz_status write_module(fnzi_mlir *all, size_t count, void *user) {
  target *t = user;
  FNZ_TRY(put_module(all, count, t->text));
  return t->weights ? fnzi_mlir_put_weights(all, count, t->weights, NULL) : FNZ_OK;
}

fnz_status fnz_mlir_write_methods(fnz_context *ctx, const fnz_method *methods, size_t count,
                                  const fnz_mlir_options *options, fnz_buffer *text,
                                  fnz_buffer *weights) {
  target t = {text, weights};
  return with_module(ctx, methods, count, options, write_module, &t);
}

fnz_status fnz_mlir_write(fnz_context *ctx, const fnz_program *program,
                          const fnz_mlir_options *options, fnz_buffer *text, fnz_buffer *weights) {
  const fnz_method only = {"main", program};
  return fnz_mlir_write_methods(ctx, &only, 1, options, text, weights);
}

typedef struct watcher {
  fnz_mlir_refused_fn *refused;
  void *user;
} watcher;

static fnz_status look(fnzi_mlir *w, size_t count, void *user) {
  const watcher *who = user;
  w->refused = who->refused;
  w->user = who->user;
  FNZ_TRY(fnzi_mlir_find_roles(w));
  FNZ_TRY(fnzi_mlir_join(w, count));
  return put_nodes(w);
}

fnz_status fnz_mlir_check(fnz_context *ctx, const fnz_program *program,
                          const fnz_mlir_options *options, fnz_mlir_refused_fn *refused,
                          void *user) {
  const fnz_method only = {"main", program};
  watcher who = {refused, user};
  return with_module(ctx, &only, 1, options, look, &who);
}

/* --- files ------------------------------------------------------------------------------------ */
/* The output: the text, and the file of weights. */
typedef struct output {
  const char *path;
  fnz_buffer text, weights;
  fnzi_out_pieces pieces; /* of the weights */
} output;

static fnz_status look_whose(fnz_context *ctx, const fnzi_foreign_seen *seen) {
  (void)ctx;
  return fnzi_external_has_mark(seen, FNZI_EXTERNAL_MARK(FNZI_MLIR_KIND)) ? FNZ_OK : FNZ_IO;
}

static fnz_status save(fnzi_mlir *w, size_t count, void *user) {
  output *o = user;
  const char *path = o->path;
  fnzi_out_file text = {path, &o->text, NULL}, weights = {NULL, &o->weights, &o->pieces};
  FNZ_TRY(put_module(w, count, &o->text));
  FNZ_TRY(fnzi_mlir_put_weights(w, count, &o->weights, &o->pieces));
  if (!o->weights.size)
    return fnzi_file_write(w->ctx, path, &o->text, NULL);
  /* "x.safetensors" of "x.mlir". */
  static const char extension[] = ".mlir";
  size_t size = strlen(path), tail = sizeof extension - 1;
  bool has = size > tail && strcmp(path + size - tail, extension) == 0;
  FNZ_TRY(fnzi_arena_format(&w->arena, &weights.path, "%.*s.safetensors",
                            (int)(has ? size - tail : size), path));
  if (strcmp(path, "-") == 0)
    return fnzi_fail(w->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the weights need a file beside the text; name a file with -o, or write them "
                     "into the text with --weights inline");
  FNZ_TRY(fnzi_external_check_place(w->ctx, weights.path, look_whose));
  return fnzi_file_write_pair(w->ctx, &weights, &text);
}

fnz_status fnz_mlir_save_methods(fnz_context *ctx, const fnz_method *methods, size_t count,
                                 const fnz_mlir_options *options, const char *path) {
  output o = {.path = path};
  fnz_status status = with_module(ctx, methods, count, options, save, &o);
  FNZI_VEC_FREE(ctx, &o.pieces);
  fnz_buffer_free(ctx, &o.text);
  fnz_buffer_free(ctx, &o.weights);
  return status;
}

fnz_status fnz_mlir_save(fnz_context *ctx, const fnz_program *program,
                         const fnz_mlir_options *options, const char *path) {
  const fnz_method only = {"main", program};
  return fnz_mlir_save_methods(ctx, &only, 1, options, path);
}
