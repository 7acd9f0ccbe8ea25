/* checks: 7
 * told_test.c - explain's account of a plan on a GPU equals a run there, and figures of kernels are
 * read from code with care. */
#include "engine/cuda/cubin.h"
#include "soak/programs.h"
#include "tests/cuda/help.h"

#include <elf.h>
#include <fnz/engine.h>

/* The number after `name` in the text; the test fails if there is none. */
static uint64_t number_of(const char *told, const char *name) {
  const char *at = strstr(told, name);
  ck_assert_msg(at != NULL, "no %s in %s", name, told);
  return strtoull(at + strlen(name), NULL, 10);
}

static fnz_status tell(fnz_context *ctx, const fnz_program *p, const fnz_arrays *inputs,
                       const char *device, bool json, fnz_buffer *out) {
  const fnz_plan_options options = {
      .size = sizeof options, .json = json, .device = device, .inputs = inputs};
  return fnz_plan_write(ctx, p, &options, out);
}

static char *told_at(fnz_context *ctx, const fnz_program *p, const fnz_arrays *inputs,
                     const char *device, bool json) {
  fnz_buffer text = {.data = NULL};
  OK(ctx, tell(ctx, p, inputs, device, json, &text));
  char *copy = malloc(text.size + 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, text.data, text.size);
  copy[text.size] = 0;
  fnz_buffer_free(ctx, &text);
  return copy;
}

static char *told_of(fnz_context *ctx, const fnz_program *p, const char *device, bool json) {
  return told_at(ctx, p, NULL, device, json);
}

/* Copies and launches of a second run, when weights are there. */
static standin_counts counts_with(fnz_context *ctx, const fnz_program *p,
                                  const fnz_arrays *inputs) {
  fnz_executable *exe;
  fnz_arrays *outputs;
  standin_counts before = {0}, after;
  OK(ctx, compile(ctx, p, "cuda", &exe));
  for (int run = 0; run < 2; run++) {
    before = counts_now();
    OK(ctx, fnz_arrays_create(ctx, &outputs));
    OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, outputs));
    fnz_arrays_destroy(outputs);
  }
  after = counts_now();
  after.launches -= before.launches;
  after.bytes_in -= before.bytes_in;
  after.bytes_out -= before.bytes_out;
  fnz_executable_destroy(exe);
  nothing_is_left_but(1);
  return after;
}

static standin_counts counts_of(fnz_context *ctx, const fnz_program *p) {
  fnz_arrays *inputs;
  OK(ctx, fnzi_random_inputs(ctx, p, 5, &inputs));
  standin_counts counts = counts_with(ctx, p, inputs);
  fnz_arrays_destroy(inputs);
  return counts;
}

/* The CPU has a part in it. */
static fnz_program *with_cpu(fnz_context *ctx) {
  return functional_of(ctx,
                       program_of(ctx, "%x: f32[100]",
                                  "  %a: f32[100] = mul.Tensor(%x, 2)\n" BY_CPU(
                                      "v", "a") "  %y: f32[100] = add.Tensor(%v, 1)\n  return %y"));
}

START_TEST(a_run_does_what_is_told) {
  fnz_context *ctx = open_context();
  fnz_program *p = with_cpu(ctx);
  char *told = told_of(ctx, p, "cuda", false);
  standin_counts counts = counts_of(ctx, p);
  ck_assert_uint_eq(number_of(told, "on the device, by "), counts.launches);
  ck_assert_uint_eq(number_of(told, "copied to the CPU "), 404);
  ck_assert_uint_eq(number_of(told, ", back "), 400);
  ck_assert_uint_eq(number_of(told, ", at the end "), 400);
  ck_assert_uint_eq(counts.bytes_in, 400 + 400);
  ck_assert_uint_eq(counts.bytes_out, 404 + 400);
  ck_assert_ptr_nonnull(strstr(told, "on the CPU (nothing of a GPU computes it): %"));
  free(told);
  told = told_of(ctx, p, "cuda", true);
  ck_assert_ptr_nonnull(strstr(told, "\"to_cpu\": 404, \"to_device\": 400}"));
  ck_assert_uint_eq(number_of(told, "\"to_cpu_at_end\": "), 400);
  free(told);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(a_plan_of_the_cpu_copies_nothing) {
  fnz_context *ctx = open_context();
  fnz_program *p =
      functional_of(ctx, program_of(ctx, "%x: f32[100]", BY_CPU("v", "x") "  return %v"));
  char *told = told_of(ctx, p, "sm_80", false);
  standin_counts counts = counts_of(ctx, p);
  ck_assert_ptr_nonnull(strstr(told, "for sm_80: no step runs on the device; nothing is copied\n"));
  ck_assert_uint_eq(counts.launches, 0);
  ck_assert_uint_eq(counts.bytes_in + counts.bytes_out, 0);
  free(told);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* To sort places takes 40 bytes of each: 2^27 at most. */
START_TEST(places_beyond_measure_are_the_cpus) {
  for (int more = 0; more < 2; more++) {
    fnz_context *ctx = open_context();
    const char *inputs = more ? "%x: f32[10], %i: i64[134217729], %v: f32[134217729]"
                              : "%x: f32[10], %i: i64[134217728], %v: f32[134217728]";
    fnz_program *p = functional_of(
        ctx, program_of(ctx, inputs, "  %y: f32[10] = scatter_add(%x, 0, %i, %v)\n  return %y"));
    char *told = told_of(ctx, p, "sm_90", false);
    bool says = strstr(told, "on the CPU (sorting so many indices takes too much memory)") != NULL;
    ck_assert_msg(says == more, "%s", told);
    free(told);
    fnz_program_destroy(p);
    fnz_context_destroy(ctx);
  }
}
END_TEST

/* A row of a symbol's number of elements, which the CPU solves for; `symbol`: with the recorded
 * size. */
static fnz_program *with_symbol(fnz_context *ctx, const char *symbol) {
  fnz_program *traced;
  char text[512];
  snprintf(
      text, sizeof text,
      "fnz 1\n%s\nprogram(%%x: f32[{s0}])\n{\n"
      "  %%a: f32[{s0}] = mul.Tensor(%%x, 2)\n"
      "  %%p: f32[1,{s0}] = unsqueeze(%%a, 0)\n"
      "  %%o: f32[1,1] = slice.Tensor(%%p, 1, 0, 1)\n"
      "  %%q: f32[1,{s0}] = linalg_solve_triangular(%%o, %%p, upper=True, unitriangular=True)\n"
      "  %%v: f32[{s0}] = squeeze.dim(%%q, 0)\n"
      "  %%y: f32[{s0}] = add.Tensor(%%v, 1)\n  return %%y\n}\n",
      symbol);
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  return functional_of(ctx, traced);
}

static fnz_arrays *row_of(fnz_context *ctx, int64_t size) {
  fnz_arrays *inputs;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  OK(ctx, fnz_arrays_add(inputs, "x", FNZ_F32, 1, &size, &data));
  memset(data, 0, (size_t)size * sizeof(float));
  return inputs;
}

/* At the sizes of inputs, or at recorded ones, the plan equals the plan of a run there. */
START_TEST(sizes_that_are_symbols_are_told) {
  fnz_context *ctx = open_context();
  fnz_program *p = with_symbol(ctx, "symbol s0 = 600");
  for (int64_t size = 300; size <= 600; size += 300) {
    fnz_arrays *inputs = row_of(ctx, size);
    char *told = told_at(ctx, p, size == 600 ? NULL : inputs, "cuda", false), line[32];
    standin_counts counts = counts_with(ctx, p, inputs);
    snprintf(line, sizeof line, "at sizes with s0 = %d\n", (int)size);
    ck_assert_ptr_eq(strstr(told, line), told);
    ck_assert_uint_eq(number_of(told, "on the device, by "), counts.launches);
    ck_assert_uint_eq(number_of(told, "copied to the CPU "), 4 * (uint64_t)size + 4);
    ck_assert_uint_eq(counts.bytes_in, 8 * (uint64_t)size);
    ck_assert_uint_eq(counts.bytes_out, 8 * (uint64_t)size + 4);
    free(told);
    told = told_at(ctx, p, inputs, "sm_90", true);
    snprintf(line, sizeof line, "\"sizes\": \"s0 = %d\",", (int)size);
    ck_assert_ptr_nonnull(strstr(told, line));
    free(told);
    told = told_at(ctx, p, inputs, NULL, false);
    ck_assert_ptr_nonnull(strstr(told, "at sizes with s0 = "));
    ck_assert_ptr_null(strstr(told, "on the GPU"));
    free(told);
    fnz_arrays_destroy(inputs);
  }
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(sizes_that_are_not_known_are_refused) {
  fnz_context *ctx = open_context();
  fnz_program *p = with_symbol(ctx, "symbol s0 = 50 range s0 2..100");
  fnz_arrays *inputs = row_of(ctx, 101);
  fnz_buffer text = {.data = NULL};
  for (size_t i = 0; i < p->symbols.count; i++) /* as exporters may leave it */
    p->symbols.data[i].has_hint = false;
  FAILS(ctx, "UNSUPPORTED", tell(ctx, p, NULL, "cuda", false, &text));
  FAILS(ctx, "BOUNDS", tell(ctx, p, inputs, "cuda", false, &text));
  ck_assert_uint_eq(text.size, 0);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(other_devices_are_refused) {
  fnz_context *ctx = open_context();
  fnz_program *p = with_cpu(ctx);
  fnz_buffer text = {.data = NULL};
  FAILS(ctx, "ARGUMENT", tell(ctx, p, NULL, "sm_x", false, &text));
  FAILS(ctx, "ARGUMENT", tell(ctx, p, NULL, "sm_1234", false, &text));
  FAILS(ctx, "ARGUMENT", tell(ctx, p, NULL, "gpu", false, &text));
  ck_assert_uint_eq(text.size, 0);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Code ------------------------------------------------------------------------------------- */
enum { SECTIONS = 6, SYMBOLS = 2 };

typedef struct image {
  Elf64_Ehdr head;
  Elf64_Shdr sections[SECTIONS];
  Elf64_Sym symbols[SYMBOLS];
  uint32_t records[3][3];
  char names[64];
} image;

/* As NVRTC lays it out. */
static void make_image(image *e) {
  static const char names[] = "\0.strtab\0.symtab\0.nv.info\0.nv.shared.k0\0k0";
  memset(e, 0, sizeof *e);
  memcpy(e->head.e_ident, ELFMAG, SELFMAG);
  e->head.e_ident[EI_CLASS] = ELFCLASS64;
  e->head.e_machine = EM_CUDA;
  e->head.e_shoff = offsetof(image, sections);
  e->head.e_shentsize = sizeof *e->sections;
  e->head.e_shnum = SECTIONS;
  e->head.e_shstrndx = 1;
  memcpy(e->names, names, sizeof names);
  e->sections[1] = (Elf64_Shdr){.sh_name = 1,
                                .sh_type = SHT_STRTAB,
                                .sh_offset = offsetof(image, names),
                                .sh_size = sizeof names};
  e->sections[2] = (Elf64_Shdr){.sh_name = 9,
                                .sh_type = SHT_SYMTAB,
                                .sh_offset = offsetof(image, symbols),
                                .sh_size = sizeof e->symbols,
                                .sh_link = 1};
  e->sections[3] = (Elf64_Shdr){.sh_name = 17,
                                .sh_type = 0x70000000,
                                .sh_offset = offsetof(image, records),
                                .sh_size = sizeof e->records};
  e->sections[4] = (Elf64_Shdr){.sh_name = 26, .sh_type = SHT_NOBITS, .sh_size = 1200};
  e->symbols[1].st_name = 40;
  memcpy(e->records,
         (uint32_t[3][3]){{0x00082f04, 0, 99}, {0x00082f04, 1, 24}, {0x00081204, 1, 16}},
         sizeof e->records);
}

/* Every byte is changed in turn, and every end is cut off: nothing is read beyond it (sanitizers
 * see that), and each figure is a number or missing. */
START_TEST(code_is_read_with_care) {
  image e;
  make_image(&e);
  fnzi_cuda_figures f = fnzi_cuda_cubin_figures(&e, sizeof e, "k0");
  ck_assert(f.known);
  ck_assert_uint_eq(f.registers, 24);
  ck_assert_uint_eq(f.stack, 16);
  ck_assert_uint_eq(f.shared, 1200);
  ck_assert(!fnzi_cuda_cubin_figures(&e, sizeof e, "k1").known);
  for (size_t size = 0; size < sizeof e; size++) {
    unsigned char *cut = malloc(size + 1);
    ck_assert_ptr_nonnull(cut);
    memcpy(cut, &e, size);
    (void)fnzi_cuda_cubin_figures(cut, size, "k0");
    free(cut);
  }
  for (size_t at = 0; at < sizeof e; at++)
    for (int value = 0; value < 256; value += 51) {
      unsigned char *changed = malloc(sizeof e);
      ck_assert_ptr_nonnull(changed);
      memcpy(changed, &e, sizeof e);
      changed[at] = (unsigned char)value;
      (void)fnzi_cuda_cubin_figures(changed, sizeof e, "k0");
      free(changed);
    }
}
END_TEST

RUN_SUITE("told", a_run_does_what_is_told, a_plan_of_the_cpu_copies_nothing,
          places_beyond_measure_are_the_cpus, sizes_that_are_symbols_are_told,
          sizes_that_are_not_known_are_refused, other_devices_are_refused, code_is_read_with_care)
