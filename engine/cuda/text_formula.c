/* text_formula.c - kernels that compute each element by a function. Its text is the CPU kernel's
 * source (kernels/cpu/..._values.h), and a few lines around it. */
#include "engine/cuda/text_parts.h"

/* Files as lines (texts.cmake). */
extern const char *const fnzi_cuda_text_formula_cells[],
    *const fnzi_cuda_text_special_functions_values[], *const fnzi_cuda_text_select_values[];
#define FORMULA(name, values, file)                                                                \
  extern const char *const fnzi_cuda_text_##values[], *const fnzi_cuda_text_##file[];
#include "engine/cuda/formulas.def"
#undef FORMULA

/* Names distinguish kernels, so two formulas with one name must not compile. */
enum {
#define FORMULA(name, values, file) FORMULA_##name,
#include "engine/cuda/formulas.def"
#undef FORMULA
  FORMULAS
};

/* A formula and the files that define its functions, in order. */
typedef struct formula {
  const char *name;
  bool by_block;
  const char *const *files[4];
} formula;
static const formula formulas[FORMULAS] = {
#define FORMULA(name, values, file)                                                                \
  {#name, false, {fnzi_cuda_text_##values, fnzi_cuda_text_##file}},
#define BY_BLOCK(name, values, file)                                                               \
  {#name, true, {fnzi_cuda_text_##values, fnzi_cuda_text_##file}},
#define SPECIAL(name)                                                                              \
  {#name,                                                                                          \
   false,                                                                                          \
   {fnzi_cuda_text_special_functions_values, fnzi_cuda_text_special,                               \
    fnzi_cuda_text_special_functions}},
#define CHOSEN(name, by_block, before, file)                                                       \
  {#name,                                                                                          \
   by_block,                                                                                       \
   {fnzi_cuda_text_sort_values, fnzi_cuda_text_##before, fnzi_cuda_text_select_values,             \
    fnzi_cuda_text_##file}},
#include "engine/cuda/formulas.def"
#undef FORMULA
};

static fnz_status formula_put_body(const fnzi_cuda_writer *w, const fnzi_cuda_formula *f,
                                   bool by_block) {
  PUT(w, "  const cells w[WINDOWS] = {");
  for (uint32_t k = 0; k < FNZI_CUDA_FORMULA_WINDOWS; k++)
    if (f->draws && k + 2 >= FNZI_CUDA_FORMULA_WINDOWS)
      PUT(w, "{p.at[%u], 0}, ", (unsigned)(f->nwindows + k + 2 - FNZI_CUDA_FORMULA_WINDOWS));
    else if (k < f->nwindows)
      PUT(w, "{p.at[%u], %u}, ", (unsigned)k, (unsigned)fnzi_dtype(f->windows[k])->bytes);
    else
      PUT(w, "{}, ");
  if (f->checks)
    PUT(w, "{p.at[%u], 4}", (unsigned)f->nwindows + (f->draws ? 2 : 0));
  PUT(w, "};\n  const int64_t integers[] = {0");
  for (uint32_t k = 0; k < f->nintegers; k++)
    PUT(w, ", %s", WORD(w->text, f->integers[k]));
  PUT(w, "};\n  const double doubles[] = {0");
  for (uint32_t k = 0; k < f->nnumbers; k++) {
    PUT(w, ", ");
    FNZ_TRY(fnzi_cuda_put_double(w, f->numbers[k]));
  }
  PUT(w,
      "};\n  for (int64_t at = %s; at < %s; at += %s)\n"
      "    formula_%s(at, w, integers + 1, doubles + 1);\n",
      by_block ? "blockIdx.x" : "FIRST", WORD(w->text, f->count), by_block ? "gridDim.x" : "STEP",
      f->name);
  return FNZ_OK;
}

fnz_status fnzi_cuda_text_formula(fnz_context *ctx, fnzi_cuda_text *text,
                                  const fnzi_cuda_formula *f, uint32_t *kernel) {
  const formula *of = NULL;
  fnz_buffer body = {.data = NULL};
  const fnzi_cuda_writer w = {.ctx = ctx, .out = &body, .text = text};
  for (size_t i = 0; !of && i < FORMULAS; i++)
    if (strcmp(formulas[i].name, f->name) == 0)
      of = &formulas[i];
  if (!of)
    return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "there is no text of the formula %s", f->name);
  const fnzi_cuda_kernel shape = {NULL, f->nwindows + (f->draws ? 2 : 0) + f->checks, 256,
                                  of->by_block ? FNZI_CUDA_GRID_BLOCKS : FNZI_CUDA_GRID_FLAT, 0};
  FNZ_TRY(fnzi_cuda_text_use(ctx, text, fnzi_cuda_text_formula_cells));
  for (int k = 0; k < 4 && of->files[k]; k++)
    FNZ_TRY(fnzi_cuda_text_use(ctx, text, of->files[k]));
  fnz_status status = formula_put_body(&w, f, of->by_block);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_kernel(ctx, text, &body, &shape, kernel);
  fnz_buffer_free(ctx, &body);
  return status;
}
