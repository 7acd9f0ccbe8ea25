/* text_test.c - NVRTC compiles the text of kernels: each row of point.def for each type that it
 * computes, each conversion, each way of a group to reach its operands, each formula, and places
 * that data say; sizes are constants of some, numbers of the table of others. No GPU and no driver
 * is needed.
 *
 *     text_test SM EVERY [FOLDER]     such as 90 1: of all kernels, or of every so many; or of the
 *                                     texts (.cc) of a folder, which the stand-in has kept
 *
 * Without NVRTC it prints that and exits with 77, or fails if FNZ_NEED_TOOLS is set. A program of
 * its own, for NVRTC goes ill with a driver that is none. */
#include "engine/cuda/driver.h"
#include "engine/cuda/text.h"

#include <dirent.h>
#include <fnz/fnz.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77, SLOTS = 8 };

static const unsigned char number[16] = {0, 0, 0x80, 0x3f};

typedef struct testing {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_cuda_nvrtc nvrtc;
  int failures, kernels, every, seen;
} testing;

static void fail(testing *t, const char *what) {
  const fnz_error *e = fnz_last_error(t->ctx);
  fprintf(stderr, "text_test: %s: %s: %s\n", what, e->where, e->message);
  t->failures++;
}

/* --- Groups ----------------------------------------------------------------------------------- */
/* A group in one of three ways: as it is, or its operands dense, over many elements, or as sets. */
static fnz_status add_group(testing *t, fnzi_cuda_text *text, fnzi_cuda_group *g) {
  const int64_t many = ((int64_t)1 << 22) + 3;
  int64_t count, blocks;
  uint32_t kernel;
  int way = t->kernels % 3;
  text->is_general = t->kernels / 3 % 2 != 0;
  for (uint32_t k = 0; k < g->nlanes && way > 0; k++) {
    bool repeats = g->lanes[k].strides[0] == 0;
    g->lanes[k].strides[0] =
        repeats ? 0 : (int64_t)fnzi_dtype((fnz_dtype)g->slots[g->lanes[k].slot].dtype)->bytes;
    g->lanes[k].aligned = 16;
    g->rank = 1;
    g->sizes = &many;
  }
  return way < 2 ? fnzi_cuda_text_add(t->ctx, text, g, &kernel, &count)
                 : fnzi_cuda_text_sets(t->ctx, text, g, &kernel, &count, &blocks);
}

/* Adds an instruction of `arity` operands, the last one a number, and one result; over [3, 5, 7],
 * where the first operand is transposed, the second repeats, the result is dense. */
static void add(testing *t, fnzi_cuda_text *text, fnzi_cuda_ins ins, fnz_dtype to, fnz_dtype from) {
  const int64_t sizes[] = {3, 5, 7}, cell = (int64_t)fnzi_dtype(from)->bytes,
                out = (int64_t)fnzi_dtype(to)->bytes;
  const int64_t strides[][3] = {{cell, 21 * cell, 3 * cell}, {0, 0, cell}, {0, 0, 0}, {0, 0, 0}};
  fnzi_cuda_slot slots[SLOTS] = {{.dtype = 0}};
  fnzi_cuda_lane lanes[SLOTS] = {{.slot = 0}};
  uint32_t nlanes = 0;
  if (t->seen++ % t->every != 0)
    return;
  for (uint16_t k = 0; k < ins.arity; k++) {
    bool is_number = k > 0 && k + 1 == ins.arity;
    slots[k] = (fnzi_cuda_slot){(uint8_t)from, is_number ? number : NULL};
    ins.in[k] = k;
    if (is_number)
      continue;
    lanes[nlanes] = (fnzi_cuda_lane){.slot = k};
    memcpy(lanes[nlanes++].strides, strides[k], sizeof strides[k]);
  }
  if (ins.kind == FNZI_CUDA_CHOOSE)
    slots[0].dtype = FNZ_BOOL;
  ins.out = ins.arity;
  slots[ins.out].dtype = (uint8_t)to;
  lanes[nlanes++] = (fnzi_cuda_lane){{35 * out, 7 * out, out}, ins.out, true};
  fnzi_cuda_group group = {3, sizes, lanes, &ins, slots, nlanes, 1, ins.arity + 1u};
  if (add_group(t, text, &group) != FNZ_OK)
    fail(t, ins.row ? ins.row : "conversion");
  t->kernels++;
}

static fnz_dtype out_of(const fnzi_cuda_row *row, fnz_dtype computes) {
  if (row->out == FNZI_CUDA_OUT_BOOL)
    return FNZ_BOOL;
  return row->out != FNZI_CUDA_OUT_REAL ? computes : computes == FNZ_C64 ? FNZ_F32 : FNZ_F64;
}

static void add_rows(testing *t, fnzi_cuda_text *text, const fnzi_cuda_section *s) {
  bool is_half = s->dtype == FNZ_F16 || s->dtype == FNZ_BF16;
  fnz_dtype computes = is_half ? FNZ_F32 : s->dtype;
  for (int k = 0; k < 2 && s->tables[k]; k++)
    for (const fnzi_cuda_row *row = s->tables[k]; row->name; row++) {
      fnzi_cuda_ins ins = {.kind = FNZI_CUDA_ROW,
                           .arity = row->arity,
                           .compute = (uint8_t)s->dtype,
                           .row = row->name};
      add(t, text, ins, out_of(row, computes), computes);
    }
}

/* Bits of NaN are kept, and casts have their own, between f32 and the halves. */
static bool is_own_way(int kind, int to, int from) {
  bool halves = to == FNZ_F16 || to == FNZ_BF16 || from == FNZ_F16 || from == FNZ_BF16;
  return kind == FNZI_CUDA_CONVERT || (halves && (to == FNZ_F32 || from == FNZ_F32));
}

static void add_moves(testing *t, fnzi_cuda_text *text) {
  for (int to = 0; to < FNZ_DTYPE_COUNT; to++)
    for (int from = 0; from < FNZ_DTYPE_COUNT; from++)
      for (int kind = FNZI_CUDA_CONVERT; kind <= FNZI_CUDA_CAST; kind++)
        if (is_own_way(kind, to, from) && fnzi_cuda_text_converts((fnz_dtype)to) &&
            fnzi_cuda_text_converts((fnz_dtype)from))
          add(t, text, (fnzi_cuda_ins){.kind = (uint8_t)kind, .arity = 1}, (fnz_dtype)to,
              (fnz_dtype)from);
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++) {
    add(t, text, (fnzi_cuda_ins){.kind = FNZI_CUDA_CONVERT, .arity = 1}, (fnz_dtype)d,
        (fnz_dtype)d);
    add(t, text, (fnzi_cuda_ins){.kind = FNZI_CUDA_CHOOSE, .arity = 3}, (fnz_dtype)d, (fnz_dtype)d);
  }
}

/* --- Formulas and places ---------------------------------------------------------------------- */
static void add_formulas(testing *t, fnzi_cuda_text *text) {
  static const char *const names[] = {
#define FORMULA(name, values, file) #name,
#include "engine/cuda/formulas.def"
#undef FORMULA
  };
  static const fnz_dtype widths[][4] = {{FNZ_F32, FNZ_F32, FNZ_F32, FNZ_I64},
                                        {FNZ_F64, FNZ_F64, FNZ_F64, FNZ_I64}};
  const double numbers[4] = {0.5, 2, 1, 0};
  int64_t integers[40];
  uint32_t kernel;
  for (int k = 0; k < 40; k++)
    integers[k] = 2;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (int w = 0; w < 2; w++) {
      text->is_general = w != 0;
      const fnzi_cuda_formula f = {names[i], 100, widths[w], 4, integers, 40, numbers, 4, true};
      if (t->seen++ % t->every == 0 && fnzi_cuda_text_formula(t->ctx, text, &f, &kernel) != FNZ_OK)
        fail(t, names[i]);
      t->kernels++;
    }
}

/* Adds an indexing of [3, 4, 5], the middle dimension indexed, by an index of its own for each
 * column or of all. */
static void add_picking(testing *t, fnzi_cuda_text *text, fnz_dtype d, bool into, bool joins,
                        bool by_lane) {
  static const int64_t sizes[] = {3, 4, 5};
  const int64_t cell = (int64_t)fnzi_dtype(d)->bytes;
  fnzi_cuda_slot slots[2] = {{(uint8_t)d, NULL}, {(uint8_t)d, NULL}};
  fnzi_cuda_ins none;
  const fnzi_cuda_statements same = {{.slots = slots, .ins = &none, .nslots = 2}, 0};
  fnzi_cuda_picking p = {.rank = 3, .sizes = sizes, .stored = d, .read = d, .npicks = 1};
  uint32_t kernel;
  if (t->seen++ % t->every != 0)
    return;
  text->is_general = by_lane;
  p.to[0] = p.from[0] = 20 * cell, p.to[2] = p.from[2] = cell;
  *(into ? &p.from[1] : &p.to[1]) = 5 * cell;
  p.picks[0] = (fnzi_cuda_pick){.dtype = FNZ_I64, .size = 4, .stride = 5 * cell, .wraps = true};
  p.picks[0].strides[1] = 40, p.picks[0].strides[2] = by_lane ? 8 : 0;
  p.into = into, p.first = 1, p.order = into, p.joins = joins;
  p.move = p.open = p.join = p.close = same;
  if (into && (fnzi_cuda_text_in_order(t->ctx, text, &p, &kernel) != FNZ_OK ||
               fnzi_cuda_text_keys(t->ctx, text, &p, &kernel) != FNZ_OK))
    fail(t, "order");
  if (fnzi_cuda_text_pick(t->ctx, text, &p, &kernel) != FNZ_OK ||
      fnzi_cuda_text_guard(t->ctx, text, kernel, &kernel) != FNZ_OK)
    fail(t, "places");
  t->kernels++;
}

static void add_pickings(testing *t, fnzi_cuda_text *text) {
  for (int d = 0; d < FNZ_DTYPE_COUNT; d++)
    for (int by_lane = 0; by_lane < 2; by_lane++) {
      add_picking(t, text, (fnz_dtype)d, false, false, by_lane);
      add_picking(t, text, (fnz_dtype)d, true, false, by_lane);
      add_picking(t, text, (fnz_dtype)d, true, true, by_lane);
    }
}

/* --- Compiling -------------------------------------------------------------------------------- */
static void compile(testing *t, const fnzi_cuda_text *text, const char *what, int sm) {
  fnz_buffer source = {.data = NULL}, code = {.data = NULL};
  if (fnzi_cuda_text_write(t->ctx, text, &source) != FNZ_OK ||
      fnzi_cuda_nvrtc_compile(t->ctx, &t->nvrtc, (const char *)source.data, sm / 10, sm % 10,
                              &code) != FNZ_OK)
    fail(t, what);
  else if (code.size < 1000 || memcmp(code.data, "\177ELF", 4) != 0)
    fprintf(stderr, "text_test: %s: no code came out\n", what), t->failures++;
  fnz_buffer_free(t->ctx, &source);
  fnz_buffer_free(t->ctx, &code);
}

static void add_part(testing *t, fnzi_cuda_text *text, int part) {
  if (part < FNZI_CUDA_SECTIONS)
    add_rows(t, text, &fnzi_cuda_sections[part]);
  else if (part == FNZI_CUDA_SECTIONS)
    add_moves(t, text);
  else if (part == FNZI_CUDA_SECTIONS + 1)
    add_formulas(t, text);
  else
    add_pickings(t, text);
}

static void try_all(testing *t, int sm) {
  static const char *const others[] = {"conversions", "formulas", "places"};
  for (int part = 0; part < FNZI_CUDA_SECTIONS + 3; part++) {
    fnzi_cuda_text text;
    fnzi_cuda_text_begin(&t->arena, &text);
    add_part(t, &text, part);
    compile(t, &text,
            part < FNZI_CUDA_SECTIONS ? fnzi_cuda_sections[part].name
                                      : others[part - FNZI_CUDA_SECTIONS],
            sm);
    fnzi_cuda_text_end(t->ctx, &text);
    fnzi_arena_reset(&t->arena);
  }
}

/* Texts that the engine has made of programs. */
static void try_kept(testing *t, const char *path, int sm) {
  fnz_buffer text = {.data = NULL}, code = {.data = NULL};
  FILE *f = t->seen++ % t->every == 0 ? fopen(path, "rb") : NULL;
  char part[4096];
  if (!f)
    return;
  for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
    if (fnzi_put(t->ctx, &text, part, n) != FNZ_OK)
      fail(t, path);
  fclose(f);
  if (fnzi_put(t->ctx, &text, "", 1) != FNZ_OK ||
      fnzi_cuda_nvrtc_compile(t->ctx, &t->nvrtc, (const char *)text.data, sm / 10, sm % 10,
                              &code) != FNZ_OK)
    fail(t, path);
  t->kernels++;
  fnz_buffer_free(t->ctx, &text);
  fnz_buffer_free(t->ctx, &code);
}

static void try_folder(testing *t, const char *folder, int sm) {
  char path[600];
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
    const char *end = strrchr(e->d_name, '.');
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (end && strcmp(end, ".cc") == 0)
      try_kept(t, path, sm);
  }
  if (dir)
    closedir(dir);
}

int main(int argc, char **argv) {
  testing t = {.failures = 0};
  if (fnz_context_create(NULL, &t.ctx) != FNZ_OK)
    return EXIT_FAILURE;
  if (fnzi_cuda_nvrtc_open(t.ctx, &t.nvrtc) != FNZ_OK) {
    printf("SKIPPED: %s\n", fnz_last_error(t.ctx)->message);
    fnz_context_destroy(t.ctx);
    return getenv("FNZ_NEED_TOOLS") ? EXIT_FAILURE : SKIPPED;
  }
  fnzi_arena_init(&t.arena, t.ctx);
  t.every = argc >= 3 ? (int)strtol(argv[2], NULL, 10) : 0;
  if (t.every > 0 && argc == 4)
    try_folder(&t, argv[3], (int)strtol(argv[1], NULL, 10));
  else if (t.every > 0)
    try_all(&t, (int)strtol(argv[1], NULL, 10));
  printf("%d kernels, %d failures\n", t.kernels, t.failures);
  fnzi_arena_free(&t.arena);
  fnzi_cuda_nvrtc_close(&t.nvrtc);
  fnz_context_destroy(t.ctx);
  return t.failures || t.kernels == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
