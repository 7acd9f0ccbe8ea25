/* source.c - the line of the user's file in a node's stack trace.
 *
 * Exporters leave a stack trace, outermost call first; people and tools write "file.py:7". Frames
 * inside PyTorch itself are no place where the user can change anything, so the innermost frame
 * outside of it is taken. */
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>

static const char frame_head[] = "File \"", frame_line[] = "\", line ";

/* The file belongs to PyTorch: it is below a folder `torch` of an installation, or at a relative
 * path as exporters write it, or PyTorch has generated it. */
static bool is_torch(const char *path, size_t size) {
  static const char *const folders[] = {"site-packages/torch/", "dist-packages/torch/"};
  if ((size > 6 && memcmp(path, "torch/", 6) == 0) ||
      (size > 15 && memcmp(path, "<eval_with_key>", 15) == 0))
    return true;
  for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
    size_t length = strlen(folders[f]);
    for (size_t i = 0; i + length <= size; i++)
      if (memcmp(path + i, folders[f], length) == 0)
        return true;
  }
  return false;
}

fnz_place fnz_source_place(const char *source) {
  fnz_place out = {.path = ""};
  bool found = false, is_own = false;
  if (!source || !*source)
    return out;
  for (const char *s = source; (s = strstr(s, frame_head)) != NULL;) {
    const char *path = s + strlen(frame_head), *end = strstr(path, frame_line);
    s = path;
    if (!end || memchr(path, '\n', (size_t)(end - path)))
      continue;
    bool own = !is_torch(path, (size_t)(end - path));
    if (found && is_own && !own)
      continue;
    char *rest;
    out = (fnz_place){.path = path, .path_size = (size_t)(end - path)};
    out.line = strtol(end + strlen(frame_line), &rest, 10);
    /* The statement that a trace shows below its frame, if it shows one. */
    const char *code = strchr(rest, '\n');
    code = code ? code + 1 + strspn(code + 1, " \t") : NULL;
    if (code && strncmp(code, frame_head, strlen(frame_head)) != 0) {
      out.code = code;
      out.code_size = strcspn(code, "\n");
    }
    found = true;
    is_own = own;
  }
  size_t size = strcspn(source, "\n"), at = size;
  while (at && source[at - 1] >= '0' && source[at - 1] <= '9')
    at--;
  bool numbered = at > 1 && at < size && source[at - 1] == ':';
  if (!found)
    out = (fnz_place){.path = source,
                      .path_size = numbered ? at - 1 : size,
                      .line = numbered ? strtol(source + at, NULL, 10) : 0};
  return out;
}
