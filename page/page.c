/* page.c - fnz_page_write(): both forms of a program, and the document about them in the page.
 *
 * The page holds the document in a script element of JSON. There no text may contain "</script" or
 * "<!--", so every '<' is written as \u003c, which means the same within a string. JSON has none
 * elsewhere. */
#include "page/page.h"
#include "page/texts.h"

#include <fnz/engine.h>
#include <fnz/functionalize.h>

typedef struct making {
  fnz_context *ctx;
  const fnz_program *traced;
  const fnz_page_options *options;
  fnz_program *functional;
  fnz_origins *origins;
  fnzi_page_memories memories;
  fnz_verify_report report;
  fnz_buffer plan, document;
  fnz_error no_plan;
} making;

/* --- The document ----------------------------------------------------------------------------- */
static fnz_status functionalize(making *m) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  options.origins = &m->origins;
  return fnz_functionalize(m->ctx, m->traced, &options, &m->functional);
}

/* If the engine refuses the program, the page has the reason instead of a plan. */
static fnz_status plan(making *m) {
  fnz_plan_options options = FNZ_PLAN_OPTIONS_INIT;
  options.json = true;
  fnz_status status = fnz_plan_write(m->ctx, m->functional, &options, &m->plan);
  if (status == FNZ_OK || fnzi_is_final(status) || status == FNZ_INTERNAL)
    return status;
  m->no_plan = *fnz_last_error(m->ctx);
  m->plan.size = 0;
  return FNZ_OK;
}

static fnz_status make_document(making *m) {
  const fnz_page_options *o = m->options;
  FNZ_TRY(functionalize(m));
  if (o->verify) {
    m->report = (fnz_verify_report)FNZ_VERIFY_REPORT_INIT;
    FNZ_TRY(fnz_verify(m->ctx, m->traced, m->functional, NULL, NULL, &m->report));
  }
  FNZ_TRY(plan(m));
  fnzi_arena arena;
  fnzi_arena_init(&arena, m->ctx);
  fnz_status status =
      fnzi_page_memories_find(m->ctx, &arena, m->traced, m->functional, m->origins, &m->memories);
  fnzi_arena_free(&arena);
  FNZ_TRY(status);
  const fnzi_page_contents contents = {.title = o->title ? o->title : "program",
                                       .traced = m->traced,
                                       .functional = m->functional,
                                       .origins = m->origins,
                                       .memories = &m->memories,
                                       .plan = &m->plan,
                                       .no_plan = m->no_plan.message,
                                       .is_equal = o->verify ? &m->report : NULL};
  return fnzi_page_document(m->ctx, &contents, &m->document);
}

/* --- The page --------------------------------------------------------------------------------- */
typedef struct escape {
  char mark;
  const char *text;
} escape;

/* Appends a text in which each mark is replaced by the text beside it. */
static fnz_status put_escaped(fnz_context *ctx, const char *text, size_t size, const escape *marks,
                              fnz_buffer *out) {
  size_t from = 0;
  for (size_t i = 0; i < size; i++) {
    const escape *e = marks;
    while (e->mark && e->mark != text[i])
      e++;
    if (!e->mark)
      continue;
    FNZ_TRY(fnzi_put(ctx, out, text + from, i - from));
    FNZ_TRY(fnzi_put_text(ctx, out, e->text));
    from = i + 1;
  }
  return fnzi_put(ctx, out, text + from, size - from);
}

static fnz_status put_texts(fnz_context *ctx, const char *const *lines, fnz_buffer *out) {
  for (; *lines; lines++)
    FNZ_TRY(fnzi_put_text(ctx, out, *lines));
  return FNZ_OK;
}

/* Each line of the shell that begins with '@' is replaced by the text that it names. */
static fnz_status put_page(making *m, fnz_buffer *out) {
  for (const char *const *line = fnzi_page_text_shell; *line; line++) {
    if (strcmp(*line, "@title\n") == 0) {
      static const escape marks[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {0, NULL}};
      const char *title = m->options->title ? m->options->title : "program";
      FNZ_TRY(put_escaped(m->ctx, title, strlen(title), marks, out));
    } else if (strcmp(*line, "@style\n") == 0)
      FNZ_TRY(put_texts(m->ctx, fnzi_page_text_style, out));
    else if (strcmp(*line, "@document\n") == 0) {
      static const escape marks[] = {{'<', "\\u003c"}, {0, NULL}};
      FNZ_TRY(put_escaped(m->ctx, (const char *)m->document.data, m->document.size, marks, out));
    } else if (strcmp(*line, "@script\n") == 0) {
      static const char *const *const scripts[] = {
#define SCRIPT(name) fnzi_page_text_##name,
          FNZI_PAGE_SCRIPT_ROWS(SCRIPT)
#undef SCRIPT
      };
      for (size_t k = 0; k < sizeof scripts / sizeof *scripts; k++)
        FNZ_TRY(put_texts(m->ctx, scripts[k], out));
    } else
      FNZ_TRY(fnzi_put_text(m->ctx, out, *line));
  }
  return FNZ_OK;
}

fnz_status fnz_page_write(fnz_context *ctx, const fnz_program *program,
                          const fnz_page_options *options, fnz_buffer *out) {
  fnz_page_options o = FNZ_PAGE_OPTIONS_INIT;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof o, &o));
  making m = {.ctx = ctx, .traced = program, .options = &o};
  fnz_status status = make_document(&m);
  if (status == FNZ_OK)
    status = o.json ? fnzi_put(ctx, out, m.document.data, m.document.size) : put_page(&m, out);
  if (status == FNZ_OK && o.json)
    status = fnzi_put_text(ctx, out, "\n");
  fnzi_page_memories_free(ctx, &m.memories);
  fnz_buffer_free(ctx, &m.plan);
  fnz_buffer_free(ctx, &m.document);
  fnz_origins_destroy(m.origins);
  fnz_program_destroy(m.functional);
  return status;
}
