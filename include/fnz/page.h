/* page.h - a program before and after, to look at: one HTML file that loads nothing. */
#ifndef FNZ_PAGE_H
#define FNZ_PAGE_H

#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_page_options {
  size_t size;       /* sizeof(fnz_page_options) */
  const char *title; /* at the head of the page; NULL: "program" */
  bool json;         /* only the document that the page shows, as JSON */
  bool verify;       /* only if fnz_verify() finds both forms equal, which the page then says */
} fnz_page_options;
#define FNZ_PAGE_OPTIONS_INIT                                                                      \
  { sizeof(fnz_page_options), NULL, false, false }

/** Appends a page that shows a traced program beside its functional form: the origin of each
 * node, each write with the nodes that see it, and each copy of a run by the engine with its
 * reason. The page holds everything that it needs. The same program gives the same bytes.
 *
 * docs/view.md explains the page and the document. Names of the program, whatever is in them, are
 * shown as text.
 *
 * program  as it was read; borrowed. It is functionalized, and planned for the CPU at its recorded
 *          sizes. A program that the engine refuses has a page without a plan.
 * options  NULL for defaults.
 * Fails as fnz_functionalize(), and with `verify` as fnz_verify(). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_page_write(fnz_context *ctx, const fnz_program *program,
                                                 const fnz_page_options *options, fnz_buffer *out);

#ifdef __cplusplus
}
#endif
#endif
