/* text.h - the words of the text form that reader and writer share (docs/text-format.md). */
#ifndef FNZI_TEXT_H
#define FNZI_TEXT_H

#include "program/formats/formats.h"

#define FNZI_TEXT_VERSION 1

/* Arguments that are written as a bare word: tag, number, word. */
#define FNZI_TEXT_WORD_ROWS(ROW)                                                                   \
  ROW(DEFAULT, 0, "default")                                                                       \
  ROW(NONE, 0, "None")                                                                             \
  ROW(BOOL, 0, "False")                                                                            \
  ROW(BOOL, 1, "True")                                                                             \
  ROW(LAYOUT, 1, "sparse_coo")                                                                     \
  ROW(LAYOUT, 2, "sparse_csr")                                                                     \
  ROW(LAYOUT, 3, "sparse_csc")                                                                     \
  ROW(LAYOUT, 4, "sparse_bsr")                                                                     \
  ROW(LAYOUT, 5, "sparse_bsc")                                                                     \
  ROW(LAYOUT, 6, "mkldnn")                                                                         \
  ROW(LAYOUT, 7, "strided")                                                                        \
  ROW(MEMORY_FORMAT, 1, "contiguous_format")                                                       \
  ROW(MEMORY_FORMAT, 2, "channels_last")                                                           \
  ROW(MEMORY_FORMAT, 3, "channels_last_3d")                                                        \
  ROW(MEMORY_FORMAT, 4, "preserve_format")

/* Arguments that are written as a word with a number or string in parentheses: tag, word. */
#define FNZI_TEXT_CALL_ROWS(ROW)                                                                   \
  ROW(DEVICE, "device")                                                                            \
  ROW(OPERATOR, "operator")                                                                        \
  ROW(LAYOUT, "layout")                                                                            \
  ROW(MEMORY_FORMAT, "memory_format")

/* Values that are no tensors: tag, and the word for their type. */
#define FNZI_TEXT_TYPE_ROWS(ROW)                                                                   \
  ROW(SYMBOL, "sym")                                                                               \
  ROW(TOKEN, "token")                                                                              \
  ROW(OBJECT, "object")

/* The rows above as tables; the last row of each has no word. */
typedef struct fnzi_text_word {
  uint8_t tag;
  int64_t number;
  const char *word;
} fnzi_text_word;
extern const fnzi_text_word fnzi_text_words[], fnzi_text_calls[], fnzi_text_types[];
/* The word of a tag; "?" when there is none. */
const char *fnzi_text_word_of(const fnzi_text_word *rows, uint8_t tag);

/* The target starts like the name of a higher-order operator. */
bool fnzi_is_higher_order(const char *target);

/* [A-Za-z_][A-Za-z0-9_]*, the whole of it. */
bool fnzi_is_identifier(const char *s);

#endif
