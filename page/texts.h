/* texts.h - the files of the page as lines of text, which base/texts.cmake makes. */
#ifndef FNZI_PAGE_TEXTS_H
#define FNZI_PAGE_TEXTS_H

#include <stddef.h>

/* The files of the script, in their order. */
#define FNZI_PAGE_SCRIPT_ROWS(ROW) ROW(data) ROW(rows) ROW(draw) ROW(panel) ROW(main)

extern const char *const fnzi_page_text_shell[], *const fnzi_page_text_style[];
#define FNZI_PAGE_SCRIPT_DECLARE(name) extern const char *const fnzi_page_text_##name[];
FNZI_PAGE_SCRIPT_ROWS(FNZI_PAGE_SCRIPT_DECLARE)
#undef FNZI_PAGE_SCRIPT_DECLARE

#endif
