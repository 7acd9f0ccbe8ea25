/* standin_batch.c - many texts as one library (standin_batch.h). The common prelude, and the
 * functions that rows use, are there once; each text has a namespace of its own for the rest. */
#define _GNU_SOURCE /* memmem */
#include "tests/cuda/standin_batch.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIBRARIES = 64, SECTIONS = 16 };

typedef struct kept {
  char *text;
  int library; /* -1: none yet */
} kept;

static struct {
  bool is_on;
  kept *texts;
  size_t count, built, refused;
  char folder[256];
  void *libraries[LIBRARIES]; /* stay loaded */
  int nlibraries;
} batch;

/* A kernel of the library that is made, in its text. */
typedef struct built {
  const char *kernel;
  size_t length, text;
  uint64_t helpers, bases; /* the text before it, and the sections that it names */
} built;

static struct {
  built *all;
  size_t count, room;
} kernels;

static void kernels_forget(void) {
  free(kernels.all);
  memset(&kernels, 0, sizeof kernels);
}

static void path_of(int library, const char *end, char out[300]) {
  snprintf(out, 300, "%s/%d%s", batch.folder, library, end);
}

standin_batch_fn standin_batch_begin, standin_batch_end;
standin_batch_count_fn standin_batch_count;
standin_batch_build_fn standin_batch_build;

void standin_batch_begin(void) {
  const char *under = getenv("STANDIN_KEPT");
  snprintf(batch.folder, sizeof batch.folder, "%s/XXXXXX", under ? under : "/tmp");
  batch.is_on = mkdtemp(batch.folder) != NULL;
}

void standin_batch_end(void) {
  char path[300];
  for (int l = 0; l < batch.nlibraries; l++) {
    if (batch.libraries[l])
      dlclose(batch.libraries[l]);
    path_of(l, ".so", path);
    remove(path);
  }
  for (size_t i = 0; i < batch.count; i++)
    free(batch.texts[i].text);
  free(batch.texts);
  kernels_forget();
  rmdir(batch.folder);
  memset(&batch, 0, sizeof batch);
}

size_t standin_batch_count(void) {
  return batch.refused;
}

static bool add(const char *text) {
  kept *more = realloc(batch.texts, (batch.count + 1) * sizeof *more);
  if (!more)
    return false;
  batch.texts = more;
  more[batch.count] = (kept){strdup(text), -1};
  return more[batch.count++].text != NULL;
}

static void make_image(size_t k, unsigned char **image, size_t *bytes) {
  char path[300], words[400];
  path_of(batch.texts[k].library, ".so", path);
  uint64_t length = (uint64_t)snprintf(words, sizeof words, STANDIN_IN_LIBRARY "%s t%zu_", path, k);
  *bytes = length + 9;
  *image = malloc(*bytes);
  if (!*image)
    return;
  memcpy(*image, &length, 8);
  memcpy(*image + 8, words, length + 1);
}

bool standin_batch_take(const char *text, unsigned char **image, size_t *bytes) {
  size_t k = 0;
  if (!batch.is_on)
    return false;
  while (k < batch.count && strcmp(batch.texts[k].text, text) != 0)
    k++;
  if (k == batch.count && !add(text))
    return false;
  if (batch.texts[k].library >= 0)
    make_image(k, image, bytes);
  else
    batch.refused++;
  return true;
}

/* --- Building --------------------------------------------------------------------------------- */
/* A section of rows: the base of all of its rows, and the rows of the text. */
typedef struct section {
  char name[16];
  const char *base, *rows, *end;
} section;

/* The offset of a text's own part: its first section of rows, or helpers of its kernels, which the
 * second such line opens. */
static size_t own_part(const char *text) {
  static const char rows[] = "\nnamespace ", helpers[] = "\n#define inline __device__\n";
  const char *half = strstr(text, helpers), *at = half ? strstr(half + 1, helpers) : NULL;
  const char *first = strstr(text, rows);
  if (!at || (first && first < at))
    at = first;
  return at ? (size_t)(at + 1 - text) : 0;
}

static const char *line_after(const char *line) {
  const char *end = strchr(line, '\n');
  return end ? end + 1 : line + strlen(line);
}

/* Reads the line "namespace NAME {"; false: it opens no section. */
static bool read_section(const char *line, section *out) {
  char ends[64];
  if (sscanf(line, "namespace %15s {", out->name) != 1)
    return false;
  snprintf(ends, sizeof ends, "\n} // namespace %s\n", out->name);
  const char *end = strstr(line, ends), *row = strstr(line, "(T a, T b, T c, T d) {");
  if (!end || !row || row > end)
    return false;
  while (row[-1] != '\n')
    row--;
  out->base = line_after(line);
  out->rows = row;
  out->end = end + 1;
  return true;
}

/* --- Kernels that are there already ----------------------------------------------------------- */
/* "KERNEL(k" or "BLOCKS(k": both names have as many letters. */
static bool is_kernel(const char *line) {
  return strncmp(line, "KERNEL(k", 8) == 0 || strncmp(line, "BLOCKS(k", 8) == 0;
}

static const char *behind_number(const char *kernel) {
  return kernel + 8 + strspn(kernel + 8, "0123456789");
}

/* The texts are the same, except for their numbers, over the same rows and helpers. */
static bool are_alike(const built *a, const built *b) {
  const char *x = behind_number(a->kernel), *y = behind_number(b->kernel);
  size_t n = a->length - (size_t)(x - a->kernel), m = b->length - (size_t)(y - b->kernel);
  return a->bases == b->bases && a->helpers == b->helpers && n == m &&
         a->kernel[0] == b->kernel[0] && memcmp(x, y, n) == 0;
}

/* NULL: it is the first one like this, and is kept where there is memory. */
static const built *find_kernel(const built *like) {
  for (size_t i = 0; i < kernels.count; i++)
    if (are_alike(&kernels.all[i], like))
      return &kernels.all[i];
  if (kernels.count == kernels.room) {
    size_t room = 2 * kernels.room + 64;
    built *more = realloc(kernels.all, room * sizeof *more);
    if (!more)
      return NULL;
    kernels.all = more;
    kernels.room = room;
  }
  kernels.all[kernels.count++] = *like;
  return NULL;
}

/* Another name for it. */
static void put_alias(FILE *to, const char *kernel, size_t k, const built *as) {
  int own = (int)(behind_number(kernel) - kernel - 8),
      its = (int)(behind_number(as->kernel) - as->kernel - 8);
  bool blocks = kernel[0] == 'B';
  char name[64], other[64];
  snprintf(name, sizeof name, "t%zu_k%.*s", k, own, kernel + 8);
  snprintf(other, sizeof other, "t%zu_k%.*s", as->text, its, as->kernel + 8);
  fprintf(to, "extern \"C\" void %s(void **%s) __attribute__((alias(\"%s\")));\n", name,
          blocks ? "" : ", int64_t, int64_t", other);
  fprintf(to, "extern \"C\" const int %s_operands __attribute__((alias(\"%s_operands\")));\n", name,
          other);
  fprintf(to, "extern \"C\" const int %s_numbers __attribute__((alias(\"%s_numbers\")));\n", name,
          other);
  if (blocks)
    fprintf(to, "extern \"C\" const int %s_threads __attribute__((alias(\"%s_threads\")));\n", name,
            other);
}

/* Guards of headers are open, and kernels have names of their own. */
static void put_line(FILE *to, const char *line, size_t length, size_t k) {
  enum { NAME = 7 }; /* where it begins */
  if (strncmp(line, "#ifndef ", 8) == 0)
    fputs("#if 1\n", to);
  else if (is_kernel(line))
    fprintf(to, "%.*st%zu_%.*s", NAME, line, k, (int)length - NAME, line + NAME);
  else
    fwrite(line, 1, length, to);
}

/* Writes the lines up to `end`, with `only_words` only lines of the preprocessor. */
static void put_lines(FILE *to, const char *line, const char *end, size_t k, bool only_words) {
  bool goes_on = false;
  for (const char *next; line < end; line = next) {
    next = line_after(line);
    bool is_word = goes_on || line[0] == '#';
    goes_on = is_word && next - line > 1 && next[-2] == '\\';
    if (is_word || !only_words)
      put_line(to, line, (size_t)(next - line), k);
  }
}

/* The first text of a library that has the section brings the base of its rows. */
static size_t put_section(FILE *to, const section *s, size_t k, const char **bases) {
  size_t b = 0;
  while (bases[b] && strncmp(bases[b], s->base, (size_t)(s->rows - s->base)) != 0)
    b++;
  fprintf(to, "}\nnamespace base%zu {\n", b);
  put_lines(to, s->base, s->rows, k, bases[b] != NULL);
  bases[b] = s->base;
  fprintf(to, "namespace t%zu {\n", k);
  put_lines(to, s->rows, s->end, k, false);
  fprintf(to, "}\n}\nnamespace t%zu {\nnamespace %s = ::base%zu::t%zu;\n", k, s->name, b, k);
  return b;
}

/* Sections of a text, and which base each one has. */
typedef struct used {
  char names[SECTIONS][16];
  size_t bases[SECTIONS], count;
} used;

static uint64_t bases_of(const used *u, const char *kernel, const char *end) {
  uint64_t all = 0;
  for (size_t i = 0; i < u->count; i++) {
    char word[24];
    snprintf(word, sizeof word, "%s::", u->names[i]);
    const char *at = memmem(kernel, (size_t)(end - kernel), word, strlen(word));
    all = all * 67 + (at ? u->bases[i] + 1 : 0);
  }
  return all;
}

/* The line behind the kernel. */
static const char *put_kernel(FILE *to, const char *kernel, size_t k, const used *u,
                              uint64_t helpers) {
  const char *last = strstr(kernel, "\n}\n"), *end = last ? last + 3 : kernel + strlen(kernel);
  const built b = {kernel, (size_t)(end - kernel), k, helpers, bases_of(u, kernel, end)};
  const built *as = find_kernel(&b);
  if (as)
    put_alias(to, kernel, k, as);
  else
    put_lines(to, kernel, end, k, false);
  return end;
}

/* FNV-1a, of lines that are neither empty nor a section's nor a kernel's. */
static uint64_t hash_line(uint64_t hash, const char *line, size_t length) {
  for (size_t i = 0; i < length && length > 1; i++)
    hash = (hash ^ (unsigned char)line[i]) * 1099511628211u;
  return hash;
}

static void put_own(FILE *to, const char *text, size_t k, const char **bases) {
  section s;
  used u = {.count = 0};
  uint64_t helpers = 14695981039346656037u;
  fprintf(to, "namespace t%zu {\n", k);
  for (const char *next; *text; text = next) {
    next = line_after(text);
    if (strncmp(text, "namespace ", 10) == 0 && u.count < SECTIONS && read_section(text, &s)) {
      memcpy(u.names[u.count], s.name, sizeof s.name);
      u.bases[u.count++] = put_section(to, &s, k, bases);
      next = line_after(s.end);
    } else if (is_kernel(text)) {
      next = put_kernel(to, text, k, &u, helpers);
    } else {
      put_line(to, text, (size_t)(next - text), k);
      helpers = hash_line(helpers, text, (size_t)(next - text));
    }
  }
  fprintf(to, "}\n");
}

static bool write_source(const char *path) {
  enum { BASES = 64 };
  const char *bases[BASES] = {NULL};
  const char *first = batch.texts[batch.built].text;
  size_t common = own_part(first);
  FILE *to = fopen(path, "wb");
  if (!to)
    return false;
  bool alike = true;
  kernels.count = 0;
  fwrite(first, 1, common, to);
  for (size_t k = batch.built; k < batch.count; k++) {
    const char *text = batch.texts[k].text;
    alike = alike && own_part(text) == common && memcmp(text, first, common) == 0;
    put_own(to, text + own_part(text), k, bases);
  }
  return fclose(to) == 0 && alike;
}

bool standin_batch_build(void) {
  char source[300], library[300], command[2048];
  int l = batch.nlibraries;
  if (batch.built == batch.count)
    return true;
  if (l == LIBRARIES)
    return false;
  path_of(l, ".cc", source);
  path_of(l, ".so", library);
  snprintf(command, sizeof command, "%s " STANDIN_WORDS " -O0 %s -include %s %s -o %s",
           getenv("STANDIN_CXX"), standin_flags(), getenv("STANDIN_SHIM"), source, library);
  if (!write_source(source) || system(command) != 0)
    return false;
  batch.libraries[l] = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  batch.nlibraries++;
  remove(source);
  for (; batch.built < batch.count; batch.built++)
    batch.texts[batch.built].library = l;
  return batch.libraries[l] != NULL;
}
