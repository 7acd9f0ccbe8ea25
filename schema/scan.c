/* scan.c - tokens of the text of a schema, and where in it something is wrong. */
#include "schema/parse.h"

#include <stdio.h>

fnz_status fnzi_scan_fail(const fnzi_scan *s, const char *want) {
  char where[64];
  snprintf(where, sizeof where, "schema column %zu", (size_t)(s->at - s->text) + 1);
  if (!*s->at)
    return fnzi_fail(s->arena->ctx, FNZ_CLASS_SYNTAX, where, "expected %s, but '%.200s' ends here",
                     want, s->text);
  return fnzi_fail(s->arena->ctx, FNZ_CLASS_SYNTAX, where, "expected %s before '%.40s' in '%.200s'",
                   want, s->at, s->text);
}

static bool is_letter(char c) {
  return fnzi_is_letter(c) || c == '_';
}

fnzi_word fnzi_scan_word(fnzi_scan *s, bool dots) {
  const char *start = s->at;
  if (is_letter(*s->at))
    while (is_letter(*s->at) || fnzi_is_digit(*s->at) ||
           (dots && *s->at == '.' && is_letter(s->at[1])))
      s->at++;
  return (fnzi_word){start, (size_t)(s->at - start)};
}

bool fnzi_word_is(fnzi_word word, const char *text) {
  return strlen(text) == word.size && memcmp(word.start, text, word.size) == 0;
}

bool fnzi_scan_accept(fnzi_scan *s, const char *text) {
  while (*s->at == ' ')
    s->at++;
  size_t size = strlen(text);
  if (strncmp(s->at, text, size) != 0)
    return false;
  s->at += size;
  return true;
}

fnz_status fnzi_scan_expect(fnzi_scan *s, const char *text) {
  char want[16];
  snprintf(want, sizeof want, "'%s'", text);
  return fnzi_scan_accept(s, text) ? FNZ_OK : fnzi_scan_fail(s, want);
}
