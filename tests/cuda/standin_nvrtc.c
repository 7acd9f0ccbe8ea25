/* standin_nvrtc.c - a libnvrtc.so.13 and, compiled again, a libnvrtc.so.12 that build text by the
 * host's C++ compiler, as a library that standin_cuda.c runs: STANDIN_CXX, the compiler;
 * STANDIN_SHIM, the header in front of the text; STANDIN_KEPT, a folder where libraries are kept by
 * their text, for the next test; STANDIN_FLAGS, further words for the compiler.
 *
 * STANDIN_PLANT plants an error: "N;old;new" puts `new` in the place where `old` stands for the
 * N-th time; a text without that does not compile. */
#include "tests/cuda/standin_batch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SUCCESS, OUT_OF_MEMORY, INVALID_OPTION = 5, COMPILATION = 6 };

typedef struct program {
  char *text, *log;
  unsigned char *code; /* its length in eight bytes, and a library */
  size_t code_bytes;
} program;

static _Atomic(size_t) compiles;

/* How often text was compiled. */
size_t standin_compiles(void);
size_t standin_compiles(void) {
  return compiles;
}

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor) {
  *major = STANDIN_NVRTC;
  *minor = 0;
  return SUCCESS;
}

/* The older one has a kind that the newer one has left out. */
static const int kinds[] = {80, 90, STANDIN_NVRTC == 12 ? 92 : 100};

int nvrtcGetNumSupportedArchs(int *out);
int nvrtcGetNumSupportedArchs(int *out) {
  *out = sizeof kinds / sizeof *kinds;
  return SUCCESS;
}

int nvrtcGetSupportedArchs(int *out);
int nvrtcGetSupportedArchs(int *out) {
  memcpy(out, kinds, sizeof kinds);
  return SUCCESS;
}

static bool is_aimed(const char *option) {
  char known[64];
  bool is = false;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    snprintf(known, sizeof known, "--gpu-architecture=sm_%d", kinds[k]);
    is = is || strcmp(option, known) == 0;
  }
  return is;
}

static char *with_plant(const char *text) {
  const char *plant = getenv("STANDIN_PLANT"), *at = text, *end = plant ? strchr(plant, ';') : NULL;
  if (!end)
    return strdup(text);
  const char *old = end + 1, *new = strrchr(plant, ';') + 1;
  size_t length = (size_t)(new - 1 - old);
  char *word = strndup(old, length), *made = malloc(strlen(text) + strlen(new) + 1);
  long count = strtol(plant, NULL, 10);
  for (; at && word && (at = strstr(at, word)) != NULL && --count > 0; at += length)
    ;
  if (made && at)
    sprintf(made, "%.*s%s%s", (int)(at - text), text, new, at + length);
  free(word);
  return made && at ? made : (free(made), strdup("#error nothing to plant in"));
}

int nvrtcCreateProgram(void **out, const char *text, const char *name, int nheaders,
                       const char *const *headers, const char *const *names);
int nvrtcCreateProgram(void **out, const char *text, const char *name, int nheaders,
                       const char *const *headers, const char *const *names) {
  program *p = calloc(1, sizeof *p);
  (void)name, (void)headers, (void)names;
  if (!p || nheaders != 0 || !(p->text = with_plant(text)))
    return OUT_OF_MEMORY;
  *out = p;
  return SUCCESS;
}

int nvrtcDestroyProgram(void **at);
int nvrtcDestroyProgram(void **at) {
  program *p = *at;
  free(p->text);
  free(p->log);
  free(p->code);
  free(p);
  *at = NULL;
  return SUCCESS;
}

static char *read_all(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  if (!f)
    return NULL;
  fseek(f, 0, SEEK_END);
  *bytes = (size_t)ftell(f);
  rewind(f);
  char *data = calloc(*bytes + 1, 1);
  if (data && fread(data, 1, *bytes, f) != *bytes)
    data[0] = 0;
  fclose(f);
  return data;
}

static bool write_all(const char *path, const char *text) {
  FILE *f = fopen(path, "wb");
  return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

static bool take_code(program *p, const char *library) {
  size_t bytes;
  char *code = read_all(library, &bytes);
  if (code && (p->code = malloc(bytes + 8))) {
    uint64_t length = bytes;
    memcpy(p->code, &length, 8);
    memcpy(p->code + 8, code, bytes);
    p->code_bytes = bytes + 8;
  }
  free(code);
  return p->code != NULL;
}

/* FNV-1a. */
static uint64_t hash(const char *text) {
  uint64_t h = 14695981039346656037u;
  for (; *text; text++)
    h = (h ^ (unsigned char)*text) * 1099511628211u;
  return h;
}

/* The files in which the library of a text, and the text itself, are kept. */
static bool kept_paths(const program *p, char source[256], char library[256]) {
  const char *folder = getenv("STANDIN_KEPT");
  size_t bytes;
  char *shim = folder ? read_all(getenv("STANDIN_SHIM"), &bytes) : NULL;
  bool found = shim != NULL;
  if (found) {
    unsigned long long key = hash(p->text) ^ hash(shim);
    snprintf(source, 256, "%s/%016llx.cc", folder, key);
    snprintf(library, 256, "%s/%016llx.so", folder, key);
  }
  free(shim);
  return found;
}

static bool find_kept(program *p) {
  char source[256], library[256];
  size_t bytes;
  char *text = kept_paths(p, source, library) ? read_all(source, &bytes) : NULL;
  bool found = text && strcmp(text, p->text) == 0 && take_code(p, library);
  free(text);
  return found;
}

/* Others may read and write them at the same time: each appears whole, the text last. */
static void keep(const program *p, const char *made_source, const char *made_library) {
  char source[256], library[256];
  if (kept_paths(p, source, library) && rename(made_library, library) == 0)
    rename(made_source, source);
}

const char *standin_flags(void) {
  const char *flags = getenv("STANDIN_FLAGS");
  return flags ? flags : "";
}

static bool build(program *p, const char *folder) {
  char source[300], library[300], log[300], command[2048];
  size_t bytes;
  snprintf(source, sizeof source, "%s/text.cc", folder);
  snprintf(library, sizeof library, "%s/text.so", folder);
  snprintf(log, sizeof log, "%s/log", folder);
  snprintf(command, sizeof command, "%s " STANDIN_WORDS " -Og %s -include %s %s -o %s 2>%s",
           getenv("STANDIN_CXX"), standin_flags(), getenv("STANDIN_SHIM"), source, library, log);
  bool done = write_all(source, p->text) && system(command) == 0 && take_code(p, library);
  p->log = read_all(log, &bytes);
  if (done)
    keep(p, source, library);
  remove(source), remove(library), remove(log);
  return done;
}

/* The options that bits depend on must be there. */
int nvrtcCompileProgram(void *of, int noptions, const char *const *options);
int nvrtcCompileProgram(void *of, int noptions, const char *const *options) {
  char folder[256];
  bool unfused = false, aimed = false;
  for (int i = 0; i < noptions; i++) {
    unfused = unfused || strcmp(options[i], "-fmad=false") == 0;
    aimed = aimed || is_aimed(options[i]);
  }
  if (!unfused || !aimed || !getenv("STANDIN_CXX") || !getenv("STANDIN_SHIM"))
    return INVALID_OPTION;
  compiles++;
  program *p = of;
  if (standin_batch_take(p->text, &p->code, &p->code_bytes))
    return p->code ? SUCCESS : COMPILATION;
  if (find_kept(of))
    return SUCCESS;
  snprintf(folder, sizeof folder, "%s/XXXXXX",
           getenv("STANDIN_KEPT") ? getenv("STANDIN_KEPT") : "/tmp");
  if (!mkdtemp(folder))
    return OUT_OF_MEMORY;
  bool done = build(of, folder);
  rmdir(folder);
  return done ? SUCCESS : COMPILATION;
}

int nvrtcGetProgramLogSize(void *of, size_t *out);
int nvrtcGetProgramLogSize(void *of, size_t *out) {
  const program *p = of;
  *out = p->log ? strlen(p->log) + 1 : 1;
  return SUCCESS;
}

int nvrtcGetProgramLog(void *of, char *out);
int nvrtcGetProgramLog(void *of, char *out) {
  const program *p = of;
  strcpy(out, p->log ? p->log : "");
  return SUCCESS;
}

int nvrtcGetCUBINSize(void *of, size_t *out);
int nvrtcGetCUBINSize(void *of, size_t *out) {
  *out = ((const program *)of)->code_bytes;
  return SUCCESS;
}

int nvrtcGetCUBIN(void *of, char *out);
int nvrtcGetCUBIN(void *of, char *out) {
  const program *p = of;
  memcpy(out, p->code, p->code_bytes);
  return SUCCESS;
}
