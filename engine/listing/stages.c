/* stages.c - prints a program after each stage on its way to a plan. */
#include "engine/listing/listing.h"
#include "functionalize/api.h"

#include <fnz/formats.h>

/* A program after a stage. */
typedef struct staged {
  const fnz_program *program; /* functional */
  fnzi_stp_binding *b;        /* NULL before the engine has it */
  const char *sizes;          /* NULL: it has fixed sizes */
} staged;

typedef fnz_status stage_printer(fnz_context *ctx, const staged *s, fnz_buffer *out);

typedef enum made_by {
  BY_TAPE, /* functionalized, but not simplified */
  BY_PASS, /* functionalized */
  BY_PLAN  /* bound for a run */
} made_by;

typedef struct stage_row {
  const char *name;
  made_by by;
  stage_printer *print;
} stage_row;

/* --- Printers --------------------------------------------------------------------------------- */
static fnz_status print_program(fnz_context *ctx, const staged *s, fnz_buffer *out) {
  return fnz_program_write(ctx, s->program, FNZ_FORMAT_TEXT, out);
}

static fnz_status print_source(fnz_context *ctx, const staged *s, fnz_buffer *out) {
  return fnz_program_write(ctx, s->b->source, FNZ_FORMAT_TEXT, out);
}

static fnz_status print_arranged(fnz_context *ctx, const staged *s, fnz_buffer *out) {
  return fnz_program_write(ctx, s->b->program, FNZ_FORMAT_TEXT, out);
}

static fnz_status print_steps(fnz_context *ctx, const fnz_program *program,
                              const fnzi_stp_binding *b, fnz_buffer *out) {
  for (size_t i = 0; i < b->plan.steps.count; i++) {
    const fnzi_pln_step *step = &b->plan.steps.data[i];
    bool is_group = step->kind == FNZI_PLN_GROUP;
    if (step->kind == FNZI_PLN_MOVE)
      continue;
    if (is_group)
      FNZ_TRY(fnzi_printf(ctx, out, "group of %u\n", (unsigned)(step->last - step->first + 1)));
    for (uint32_t n = step->first; n <= step->last; n++) {
      FNZ_TRY(fnzi_put_text(ctx, out, is_group ? "  " : ""));
      FNZ_TRY(fnz_node_write(ctx, program, b->graph, n, true, out));
      FNZ_TRY(fnzi_put_text(ctx, out, "\n"));
    }
  }
  return FNZ_OK;
}

static fnz_status print_groups(fnz_context *ctx, const staged *s, fnz_buffer *out) {
  FNZ_TRY(print_steps(ctx, s->b->program, s->b, out));
  for (size_t k = 0; k < s->b->bodies.list.count; k++) {
    fnzi_stp_binding *body = &s->b->nested[k];
    /* A body is planned as a program of one graph. But its nodes may name graphs of the whole
     * program, so it is printed in its place there. */
    fnz_program shown = *body->outermost->program;
    FNZI_NEW(&body->arena, shown.graphs.count, &shown.graphs.data);
    memcpy(shown.graphs.data, body->outermost->program->graphs.data,
           shown.graphs.count * sizeof *shown.graphs.data);
    shown.graphs.data[body->graph] = *fnzi_graph_main(body->program);
    FNZ_TRY(fnzi_printf(ctx, out, "body, graph %u\n", (unsigned)body->graph));
    FNZ_TRY(print_steps(ctx, &shown, body, out));
  }
  return FNZ_OK;
}

static fnz_status print_places(fnz_context *ctx, const staged *s, fnz_buffer *out) {
  return fnzi_listing_binding(ctx, s->b, s->sizes, false, out);
}

/* --- A stage ---------------------------------------------------------------------------------- */
static fnz_status print_binding(fnz_context *ctx, fnzi_stp_binding *b, const char *sizes,
                                const void *user, fnz_buffer *out) {
  const stage_row *stage = user;
  return stage->print(ctx, &(staged){b->whole, b, sizes}, out);
}

/* --- The table -------------------------------------------------------------------------------- */
static const stage_row stages[] = {
    {"tape", BY_TAPE, print_program},      {"simplified", BY_PASS, print_program},
    {"decomposed", BY_PLAN, print_source}, {"arranged", BY_PLAN, print_arranged},
    {"groups", BY_PLAN, print_groups},     {"places", BY_PLAN, print_places},
};
enum { STAGES = sizeof stages / sizeof *stages };

const char *fnz_stage_name(size_t k) {
  return k < STAGES ? stages[k].name : NULL;
}

static fnz_status write_stage(fnz_context *ctx, const fnz_program *program,
                              const fnz_functionalize_options *options, const stage_row *stage,
                              fnz_buffer *out) {
  const fnz_plan_options planned = FNZ_PLAN_OPTIONS_INIT;
  fnz_program *result;
  FNZ_TRY(stage->by == BY_TAPE ? fnzi_functionalize_recorded(ctx, program, options, &result)
                               : fnz_functionalize(ctx, program, options, &result));
  fnz_status status = stage->by == BY_PLAN ? fnzi_listing_new_binding(ctx, result, &planned,
                                                                      print_binding, stage, out)
                                           : stage->print(ctx, &(staged){.program = result}, out);
  fnz_program_destroy(result);
  return status;
}

fnz_status fnz_stage_write(fnz_context *ctx, const fnz_program *program,
                           const fnz_functionalize_options *options, const char *stage,
                           fnz_buffer *out) {
  for (size_t k = 0; k < STAGES; k++)
    if (strcmp(stages[k].name, stage) == 0)
      return write_stage(ctx, program, options, &stages[k], out);
  return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, stage,
                   "no stage has this name; fnz_stage_name() lists them");
}
