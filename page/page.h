/* page.h - one HTML file that shows a traced program beside its functional form (`fnz view`).
 *
 *   memories.c   which memory each value of the traced program lies in, and the effects of nodes on
 * it tables.c     texts that are written once: types, operators, sources, modules document.c   both
 * programs, their links, memories and plan, as JSON page.c       that document inside the page
 *   shell.html, style.css, *.js   the page; page/texts.cmake says in which order
 *
 * The page's script decides only what is shown where. All facts are in the document. */
#ifndef FNZI_PAGE_H
#define FNZI_PAGE_H

#include "program/program.h"

#include <fnz/explain.h>
#include <fnz/page.h>
#include <fnz/verify.h>

#define FNZI_PAGE_NONE UINT32_MAX

/* Effects of a node on a memory. Columns: name in the document. */
#define FNZI_PAGE_EVENT_ROWS(ROW)                                                                  \
  ROW(READ, "read")                                                                                \
  ROW(VIEW, "view")     /* a window is opened */                                                   \
  ROW(WRITE, "write")   /* the old elements do not count */                                        \
  ROW(UPDATE, "update") /* they are read and written */                                            \
  ROW(OUTPUT, "output") /* an output of the graph lies there */

typedef enum fnzi_page_event_kind {
#define FNZI_PAGE_EVENT_ENUM(id, name) FNZI_PAGE_##id,
  FNZI_PAGE_EVENT_ROWS(FNZI_PAGE_EVENT_ENUM)
#undef FNZI_PAGE_EVENT_ENUM
      FNZI_PAGE_EVENT_COUNT
} fnzi_page_event_kind;

/* One node at one window of a memory. Nodes are numbered through all graphs of a program. */
typedef struct fnzi_page_event {
  uint32_t memory, node;
  fnzi_page_event_kind kind;
  const fnz_geometry *window;
} fnzi_page_event;

typedef struct fnzi_page_memory {
  uint32_t graph, value; /* the value that it is made for */
  uint32_t node;         /* that makes it; FNZI_PAGE_NONE: an input */
  bool is_shown;         /* some node views or writes it */
} fnzi_page_memory;

typedef struct fnzi_page_memories {
  struct {
    fnzi_page_memory *data;
    size_t count, capacity;
  } all;
  struct {
    fnzi_page_event *data;
    size_t count, capacity;
  } events; /* in the order of nodes */
} fnzi_page_memories;

/* --- memories.c ------------------------------------------------------------------------------- */
/* Follows the values of all graphs. `origins`: of the functional form. An operator that is a view
 * or a copy is a copy if a node of that form computes it. */
FNZ_MUST_CHECK fnz_status fnzi_page_memories_find(fnz_context *ctx, fnzi_arena *arena,
                                                  const fnz_program *traced,
                                                  const fnz_program *functional,
                                                  const fnz_origins *origins,
                                                  fnzi_page_memories *out);
void fnzi_page_memories_free(fnz_context *ctx, fnzi_page_memories *m);
/* Per graph, and behind the last one: the number of its node 0 among the nodes of all graphs. */
FNZ_MUST_CHECK fnz_status fnzi_page_bases(fnzi_arena *arena, const fnz_program *p, uint32_t **out);

/* --- tables.c --------------------------------------------------------------------------------- */
/* Texts in the order of first use. */
typedef struct fnzi_page_table {
  fnzi_map by_address, by_text;
  struct {
    const char **data;
    size_t count, capacity;
  } texts;
} fnzi_page_table;

typedef struct fnzi_page_tables {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_page_table types, operators, sources, modules;
  struct {
    const fnz_geometry **data;
    size_t count, capacity;
  } geometries; /* per type; NULL if it is no tensor */
  struct {
    const char **data;
    size_t count, capacity;
  } classes; /* per module */
} fnzi_page_tables;

void fnzi_page_tables_init(fnzi_page_tables *t, fnz_context *ctx);
void fnzi_page_tables_free(fnzi_page_tables *t);
/* The number of a text; `address` finds it again without a look at the text, NULL: always look. */
FNZ_MUST_CHECK fnz_status fnzi_page_text_number(fnzi_page_tables *t, fnzi_page_table *table,
                                                const void *address, const char *text,
                                                uint32_t *out);
/* The number of the type of a value, and its name as statements have it, "%add_1". */
FNZ_MUST_CHECK fnz_status fnzi_page_value(fnzi_page_tables *t, const fnz_program *p, uint32_t graph,
                                          const fnz_arg *value, uint32_t *type, fnz_buffer *name);
/* The number of the module that called a node; FNZI_PAGE_NONE where the program does not say. */
FNZ_MUST_CHECK fnz_status fnzi_page_module(fnzi_page_tables *t, const fnzi_node *node,
                                           uint32_t *out);

/* --- document.c ------------------------------------------------------------------------------- */
typedef struct fnzi_page_contents {
  const char *title;
  const fnz_program *traced, *functional;
  const fnz_origins *origins;
  const fnzi_page_memories *memories;
  const fnz_buffer *plan;            /* as JSON; empty: there is none, */
  const char *no_plan;               /* because */
  const fnz_verify_report *is_equal; /* NULL: they were not compared */
} fnzi_page_contents;

FNZ_MUST_CHECK fnz_status fnzi_page_document(fnz_context *ctx, const fnzi_page_contents *contents,
                                             fnz_buffer *out);

#endif
