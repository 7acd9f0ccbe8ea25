/* json.c - what --json prints: one object, which begins with the version of these objects and with
 * the verb (docs/json.md). A failure has its object too. */
#include "cli/cli.h"

#include <string.h>

enum { VERSION = 1 };

fnzi_json_out *cli_json(cli_call *call) {
  call->json = (fnzi_json_out){.ctx = call->ctx, .out = &call->json_text, .utf8 = true};
  return &call->json;
}

fnzi_json_out *cli_json_begin(cli_call *call) {
  fnzi_json_out *w = cli_json(call);
  fnzi_json_open_lines(w, NULL, '{', 2, 0);
  fnzi_json_out_count(w, "fnz_json", VERSION);
  fnzi_json_out_text(w, "verb", call->verb->name);
  return w;
}

void cli_json_spill(cli_call *call) {
  fnz_buffer *text = &call->json_text;
  fwrite(text->data, 1, text->size, stdout);
  text->size = 0;
  call->has_printed = true;
}

static void finish(cli_call *call) {
  fnzi_json_close(&call->json, '}');
  if (call->json.status != FNZ_OK)
    return;
  cli_json_spill(call);
  putchar('\n');
}

int cli_json_end(cli_call *call) {
  finish(call);
  CLI_TRY(cli_check(call, call->json.status, NULL));
  return cli_flush();
}

/* Half an object cannot be taken back: where a list has begun to be printed, it is left without its
 * end, which no reader of JSON takes for a whole one. */
void cli_json_failure(cli_call *call, int code) {
  const cli_failure *f = call->failure;
  if (!f->is_set || call->has_printed)
    return;
  call->json_text.size = 0;
  fnzi_json_out *w = cli_json_begin(call);
  fnzi_json_open_as(w, "error", '{');
  fnzi_json_out_text(w, "class", fnz_class_name(f->kind));
  fnzi_json_out_count(w, "exit", (uint64_t)code);
  fnzi_json_out_text(w, "file", f->file);
  fnzi_json_out_text(w, "where", f->where);
  fnzi_json_out_text(w, "message", f->message);
  fnzi_json_close(w, '}');
  finish(call); /* in silence: the failure was printed already */
  fflush(stdout);
}

void cli_json_times(cli_call *call) {
#define PHASE_JSON(id, name)                                                                       \
  if (call->ms[CLI_PHASE_##id] >= 0) {                                                             \
    fnzi_json_out_fixed(&call->json, name "_ms", 3, call->ms[CLI_PHASE_##id]);                     \
  }
  CLI_PHASE_ROWS(PHASE_JSON)
#undef PHASE_JSON
}

/* --- Figures ---------------------------------------------------------------------------------- */
/* Rows of the JSON figures that both forms have. */
#define STATS_ROWS(ROW)                                                                            \
  ROW(nodes) ROW(views) ROW(mutations) ROW(mutated) ROW(inputs) ROW(outputs) ROW(graphs)

int cli_print_json(cli_call *call) {
  const fnz_stats in = fnz_program_stats(call->program);
  const fnz_stats out = fnz_program_stats(call->functional);
  const size_t peak = fnz_context_peak_bytes(call->ctx);
  fnzi_json_out *w = cli_json_begin(call);
#define STATS_JSON(field)                                                                          \
  fnzi_json_out_count(w, #field "_in", in.field);                                                  \
  fnzi_json_out_count(w, #field "_out", out.field);
  STATS_ROWS(STATS_JSON)
#undef STATS_JSON
  fnzi_json_out_count(w, "copies", out.copies);
  fnzi_json_out_count(w, "weights", out.weights);
  fnzi_json_out_count(w, "no_data", out.no_data);
  fnzi_json_out_count(w, "weight_bytes", out.weight_bytes);
  if (strcmp(call->verb->name, "stats") == 0) {
    fnzi_json_open_as(w, "unruled", '{');
    for (size_t i = 0; i < call->nunruled; i++) {
      fnzi_json_out_name(w, call->unruled[i].op, strlen(call->unruled[i].op));
      fnzi_json_out_int(w, (int64_t)call->unruled[i].nodes);
    }
    fnzi_json_close(w, '}');
  }
  fnzi_json_out_text(w, "torch", fnz_program_torch_version(call->program));
  cli_json_times(call);
  fnzi_json_out_count(w, "peak_bytes", peak);
  return cli_json_end(call);
}
