/* compile.c - creates an executable: everything about a program that does not depend on inputs. The
 * rest, such as the plan, is made for the sizes of a run (bind.c). */
#include "engine/engine.h"
#include "kernels/backends.h"
#include "program/shapes/sizes.h"

/* --- Options ---------------------------------------------------------------------------------- */
static fnz_status mark_donated(fnz_executable *exe, const char *name) {
  const fnzi_graph *g = fnzi_graph_main(exe->program);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (exe->inputs[k].is_tensor && exe->inputs[k].is_passed &&
        strcmp(g->values.data[g->inputs[k].u.value].name, name) == 0) {
      exe->inputs[k].is_donated = !exe->inputs[k].is_shared;
      return FNZ_OK;
    }
  fnz_buffer names = {NULL, 0, 0}; /* of the inputs that could be donated */
  fnz_status status = FNZ_OK;
  for (uint32_t k = 0; k < g->ninputs && status == FNZ_OK; k++)
    if (exe->inputs[k].is_tensor && exe->inputs[k].is_passed)
      status = fnzi_printf(exe->ctx, &names, "%s%s", names.size ? ", " : "; they are ",
                           g->values.data[g->inputs[k].u.value].name);
  if (status == FNZ_OK)
    status =
        fnzi_fail(exe->ctx, FNZ_CLASS_REF, name, "no user input that is a tensor has this name%s",
                  names.size ? names.data : "");
  fnz_buffer_free(exe->ctx, &names);
  return status;
}

/* --- The program and its weights -------------------------------------------------------------- */

static fnz_status find_symbols(fnz_executable *exe) {
  fnzi_sizes sizes;
  exe->has_symbols = fnzi_program_has_symbols(exe->program);
  if (!exe->has_symbols)
    return FNZ_OK;
  fnz_status status = fnzi_sizes_open(&sizes, exe->ctx, exe->program);
  if (fnzi_pln_only_scalars(exe->program))
    exe->data_dependent = FNZI_STP_DATA_SCALARS;
  else if (status == FNZ_OK && fnzi_sizes_have_data(&sizes))
    exe->data_dependent = FNZI_STP_DATA_SIZES;
  fnzi_sizes_close(&sizes);
  return status;
}

/* Copies a weight if its address is no multiple of its element size, as in a mapped file: kernels
 * read whole elements. */
static fnz_status align_weight(fnz_executable *exe, uint32_t k) {
  fnzi_stp_input *in = &exe->inputs[k];
  size_t cell = in->weight ? fnzi_dtype(in->weight->geometry->dtype)->bytes : 1;
  cell = cell > 8 ? 8 : cell;
  if (!in->weight || (uintptr_t)fnzi_blob_data(in->weight->blob) % cell == 0)
    return FNZ_OK;
  size_t bytes = fnzi_blob_bytes(in->weight->blob);
  in->copy = fnzi_resize(exe->ctx, NULL, 0, bytes);
  if (!in->copy)
    return fnzi_no_memory(exe->ctx);
  in->copy_bytes = bytes;
  memcpy(in->copy, fnzi_blob_data(in->weight->blob), bytes);
  return FNZ_OK;
}

/* Lists the files that a run reads weights from. */
static fnz_status find_files(fnz_executable *exe) {
  for (uint32_t k = 0; k < exe->ninputs; k++) {
    const fnzi_stp_input *in = &exe->inputs[k];
    const struct fnzi_mapping *of =
        in->weight && !in->copy ? fnzi_blob_mapping(in->weight->blob) : NULL;
    size_t i = 0;
    while (i < exe->files.count && exe->files.data[i] != of)
      i++;
    if (of && i == exe->files.count)
      FNZI_PUSH(exe->ctx, &exe->files, of);
  }
  return FNZ_OK;
}

/* --- Executables ------------------------------------------------------------------------------ */
/* Creates the first workspace, so that errors of the program are found now. A program without
 * symbols is also planned, at the recorded sizes. */
static fnz_status warm_up(fnz_executable *exe) {
  const fnzi_graph *g = fnzi_graph_main(exe->program);
  fnz_workspace *ws;
  fnzi_stp_binding *b;
  FNZ_TRY(fnzi_eng_workspace_create(exe, exe->ctx, &ws));
  fnz_status status = exe->has_symbols ? FNZ_OK : fnzi_stp_inputs_set_weights(ws, NULL);
  for (uint32_t k = 0; !exe->has_symbols && k < g->ninputs; k++)
    if (exe->inputs[k].is_tensor && exe->inputs[k].is_passed)
      ws->inputs[k].layout = g->values.data[g->inputs[k].u.value].geometry;
  ws->ctx->tasks = exe->ctx->tasks;
  if (status == FNZ_OK && !exe->has_symbols)
    status = fnzi_eng_binding_find(ws, false, &b);
  ws->ctx->tasks = NULL;
  fnzi_eng_propagate(exe->ctx, ws, status);
  if (status == FNZ_OK)
    fnzi_eng_workspace_give(exe, ws);
  else
    fnz_workspace_destroy(ws);
  return status;
}

static void take_host(fnz_executable *exe, const fnzi_eng_lent_device *lent) {
  exe->is_guest = true;
  exe->gpu = lent->gpu;
  exe->device = lent->device;
  exe->threads_drawing = lent->threads_drawing;
}

static fnz_status make(fnz_context *ctx, fnz_executable *exe, const fnz_compile_options *options) {
  const bool is_cpu = !options->device || strcmp(options->device, "cpu") == 0;
  FNZ_TRY(fnzi_run_types(exe->ctx, exe->program));
  FNZ_TRY(fnzi_run_values_check(exe->ctx, exe->program));
  if (fnzi_epilogue_start(exe->program) != fnzi_graph_main(exe->program)->nodes.count)
    return fnzi_fail(exe->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the program ends in writes; functionalize it with final values as outputs");
  FNZ_TRY(fnzi_program_check_files(exe->ctx, exe->program));
  FNZ_TRY(find_symbols(exe));
  if (!exe->has_symbols && !exe->is_unplanned)
    FNZ_TRY(fnzi_stp_expand(exe->ctx, exe->program, options->kernels, !exe->gpu && is_cpu,
                            &exe->expansion));
  FNZ_TRY(fnzi_stp_slots_make(exe, options));
  for (size_t i = 0; i < options->ndonated; i++)
    FNZ_TRY(mark_donated(exe, options->donated[i]));
  if (!exe->is_guest && !is_cpu) {
    FNZ_TRY(fnzi_eng_device_find(exe->ctx, options->device, &exe->gpu));
    FNZ_TRY(exe->gpu->open(exe, ctx, options->device, options->cache));
  }
  FNZ_TRY(fnzi_stp_overlap_open(exe));
  for (uint32_t k = 0; k < fnzi_graph_main(exe->program)->ninputs; k++) {
    fnzi_stp_input *in = &exe->inputs[k];
    FNZ_TRY(align_weight(exe, k));
    /* In a plan that is only printed, final values of user inputs are stored in place. */
    if (exe->is_printed && in->is_tensor && in->is_passed && in->is_written)
      in->is_donated = true;
  }
  FNZ_TRY(fnzi_eng_fold(exe));
  FNZ_TRY(find_files(exe));
  return exe->is_printed || exe->is_guest ? FNZ_OK : warm_up(exe);
}

static fnz_status compile(fnz_context *ctx, const fnz_program *program,
                          const fnz_compile_options *options, bool is_printed,
                          const fnzi_eng_lent_device *lent, fnz_executable **out) {
  fnz_context *own;
  void *created;
  *out = NULL;
  FNZ_TRY(fnzi_eng_with_context(ctx, &ctx->allocator, sizeof(fnz_executable), &own, &created));
  fnz_executable *exe = created;
  exe->ctx = own;
  exe->program = program;
  exe->kernels = options->kernels;
  exe->threads = options->threads;
  exe->is_unplanned = options->unplanned;
  exe->checks = options->check;
  exe->staging = options->staging;
  exe->in_place = options->in_place;
  exe->is_printed = is_printed;
  if (lent)
    take_host(exe, lent);
  exe->limits = own->limits = ctx->limits;
  for (size_t i = 0; i < FNZI_STP_IDLE; i++)
    atomic_init(&exe->idle[i], NULL);
  fnzi_arena_init(&exe->arena, own);
  own->tasks = ctx->tasks;
  fnzi_task_begin(ctx, "compile", NULL, 0);
  fnz_status status = make(ctx, exe, options);
  own->tasks = NULL;
  if (status != FNZ_OK) {
    ctx->error = own->error;
    ctx->reason = own->reason;
  }
  status = fnzi_task_end(ctx, status);
  if (status == FNZ_OK)
    *out = exe;
  else
    fnz_executable_destroy(exe);
  return status;
}

fnz_status fnz_compile(fnz_context *ctx, const fnz_program *program,
                       const fnz_compile_options *options, fnz_executable **out) {
  fnz_compile_options all = FNZ_COMPILE_OPTIONS_INIT;
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof all, &all));
  if (all.kernels && !fnzi_machine_of(all.kernels))
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "the kernels of an executable are those of a CPU backend made by fnz");
  return compile(ctx, program, &all, false, NULL, out);
}

fnz_status fnzi_eng_compile_to_print(fnz_context *ctx, const fnz_program *program,
                                     const char *device, fnz_executable **out) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.device = device;
  options.check = true;
  return compile(ctx, program, &options, true, NULL, out);
}

fnz_status fnzi_eng_compile_on(fnz_context *ctx, const fnz_program *program, int threads,
                               const fnzi_eng_lent_device *lent, fnz_executable **out) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.threads = threads;
  return compile(ctx, program, &options, false, lent, out);
}

void fnz_executable_destroy(fnz_executable *exe) {
  if (!exe)
    return;
  fnz_context *ctx = exe->ctx;
  for (size_t i = 0; i < FNZI_STP_IDLE; i++)
    fnz_workspace_destroy(atomic_exchange(&exe->idle[i], NULL));
  if (exe->gpu)
    exe->gpu->end(exe);
  for (uint32_t k = 0; k < exe->ninputs; k++) {
    fnzi_free(ctx, exe->inputs[k].copy, exe->inputs[k].copy_bytes);
    if (k >= fnzi_graph_main(exe->program)->ninputs)
      fnzi_blob_release(exe->inputs[k].weight->blob);
  }
  for (size_t i = 0; i < sizeof exe->slots / sizeof *exe->slots; i++)
    FNZI_VEC_FREE(ctx, &exe->slots[i]);
  FNZI_VEC_FREE(ctx, &exe->files);
  fnzi_stp_expansion_end(&exe->expansion);
  fnzi_arena_free(&exe->arena);
  fnzi_free(ctx, exe, sizeof *exe);
  fnz_context_destroy(ctx);
}
