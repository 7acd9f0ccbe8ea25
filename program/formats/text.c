/* text.c - the words of the text form, for reader and writer, and the rule for plain names. */
#include "program/formats/text.h"

const fnzi_text_word fnzi_text_words[] = {
#define WORD_ROW(id, number, word) {FNZ_ARG_##id, number, word},
    FNZI_TEXT_WORD_ROWS(WORD_ROW){0, 0, NULL},
#undef WORD_ROW
};

#define TAG_ROW(id, word) {FNZ_ARG_##id, 0, word},
const fnzi_text_word fnzi_text_calls[] = {FNZI_TEXT_CALL_ROWS(TAG_ROW){0, 0, NULL}};
const fnzi_text_word fnzi_text_types[] = {FNZI_TEXT_TYPE_ROWS(TAG_ROW){0, 0, NULL}};
#undef TAG_ROW

const char *fnzi_text_word_of(const fnzi_text_word *rows, uint8_t tag) {
  for (; rows->word; rows++)
    if (rows->tag == tag)
      return rows->word;
  return "?";
}

bool fnzi_is_higher_order(const char *target) {
  static const char *const prefixes[] = {"higher_order.", "_operator.", "math.", "torch."};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(target, prefixes[i], strlen(prefixes[i])) == 0)
      return true;
  return false;
}

bool fnzi_is_identifier(const char *s) {
  static const char digits[] = "0123456789";
  static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  return *s && !strchr(digits, *s) && s[strspn(s, letters)] == 0;
}
