/* text_put.c - sizes, numbers, and elements of memory as types of sums, in the text of a kernel. */
#include "engine/cuda/text_put.h"

#include <math.h>
#include <stdio.h>

/* --- Sizes ------------------------------------------------------------------------------------ */
static bool has_room(const fnzi_cuda_text *text, uint32_t count) {
  return text && text->is_general && text->pending + count <= FNZI_CUDA_NUMBERS;
}

/* Adds a number to the table and returns its index. */
static unsigned text_put_take(fnzi_cuda_text *text, int64_t value) {
  text->numbers[text->pending] = value;
  text->of_slots[text->pending] = false;
  return text->pending++;
}

static const char *table_of(const fnzi_cuda_text *text) {
  return text->table ? text->table : "n";
}

static fnzi_cuda_word word_of(fnzi_cuda_text *text, const char *before, int64_t value) {
  fnzi_cuda_word w;
  if (has_room(text, 1))
    snprintf(w.text, sizeof w.text, "%s%s.at[%u]", before, table_of(text),
             text_put_take(text, value));
  else if (value == INT64_MIN)
    snprintf(w.text, sizeof w.text, "INT64_MIN");
  else
    snprintf(w.text, sizeof w.text, "%lld", (long long)value);
  return w;
}

fnzi_cuda_word fnzi_cuda_word_of(fnzi_cuda_text *text, int64_t value) {
  return word_of(text, "", value);
}

fnzi_cuda_word fnzi_cuda_word_index(fnzi_cuda_text *text, int64_t value) {
  return word_of(text, "(index)", value);
}

fnz_status fnzi_cuda_put_double(const fnzi_cuda_writer *w, double v) {
  int64_t bits;
  memcpy(&bits, &v, sizeof bits);
  PUT(w, "__longlong_as_double(%s)", WORD(w->text, bits));
  return FNZ_OK;
}

/* Returns the factor and shift for division by `by`. With `by` below 2^31 and s the bits of by - 1,
 * i / by is (i * m / 2^32 + i) / 2^s for each i below 2^31, where m = 2^32 * (2^s - by) / by + 1.
 * Larger `by` give 0. */
static int64_t factor_and_shift(int64_t by) {
  uint64_t s = 0;
  if (by <= 1)
    return 1;
  if (by > INT32_MAX)
    return (int64_t)31 << 32;
  while (((uint64_t)1 << s) < (uint64_t)by)
    s++;
  return (int64_t)(((((uint64_t)1 << s) - (uint64_t)by) << 32) / (uint64_t)by + 1 + (s << 32));
}

fnzi_cuda_word fnzi_cuda_word_over(fnzi_cuda_text *text, const char *i, int64_t by, bool is_small) {
  fnzi_cuda_word w;
  if (!has_room(text, 1))
    snprintf(w.text, sizeof w.text, "%s / %lld", i, (long long)by);
  else if (is_small)
    snprintf(w.text, sizeof w.text, "quotient(%s, %s.at[%u])", i, table_of(text),
             text_put_take(text, factor_and_shift(by)));
  else
    snprintf(w.text, sizeof w.text, "%s / %s.at[%u]", i, table_of(text), text_put_take(text, by));
  return w;
}

fnzi_cuda_word fnzi_cuda_word_digit(fnzi_cuda_text *text, const char *i, int64_t inner,
                                    int64_t size, bool is_small) {
  fnzi_cuda_word w;
  if (!has_room(text, 3)) {
    snprintf(w.text, sizeof w.text, "%s / %lld %% %lld", i, (long long)inner, (long long)size);
    return w;
  }
  const char *n = table_of(text);
  unsigned first = text_put_take(text, is_small ? factor_and_shift(inner) : inner);
  if (is_small) {
    text_put_take(text, factor_and_shift(size));
    text_put_take(text, size);
    snprintf(w.text, sizeof w.text, "digit(%s, %s.at[%u], %s.at[%u], %s.at[%u])", i, n, first, n,
             first + 1, n, first + 2);
  } else {
    snprintf(w.text, sizeof w.text, "%s / %s.at[%u] %% %s.at[%u]", i, n, first, n,
             text_put_take(text, size));
  }
  return w;
}

/* --- Types ------------------------------------------------------------------------------------ */
/* The name of its type: "cell_F32". Dtypes that kernels only move use a type of eight bits. */
const char *fnzi_cuda_type_name(fnz_dtype d) {
  return fnzi_is_complex(d)        ? (d == FNZ_C32   ? "C32"
                                      : d == FNZ_C64 ? "C64"
                                                     : "C128")
         : fnzi_cuda_cells[d].name ? fnzi_cuda_cells[d].name
                                   : "F8";
}

/* --- Numbers, by their bits ------------------------------------------------------------------- */
/* Returns whether compilers optimize for this number. A size that is such a number has a text of
 * its own. */
bool fnzi_cuda_is_usual(fnz_dtype d, const unsigned char *number) {
  static const double usual[] = {0, 0.5, 1, 2, -1, INFINITY, -INFINITY};
  const unsigned char none[8] = {0};
  float narrow = NAN;
  double v = NAN;
  if (d == FNZ_F32) {
    memcpy(&narrow, number, sizeof narrow);
    v = (double)narrow;
  } else if (d == FNZ_F64) {
    memcpy(&v, number, sizeof v);
  } else {
    return d == FNZ_BOOL || memcmp(number, none, fnzi_dtype(d)->bytes) == 0;
  }
  bool found = isnan(v);
  for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
    found = found || v == usual[k];
  return found;
}

/* Numbers may follow from sizes. */
static fnz_status put_bits(const fnzi_cuda_writer *w, fnz_dtype d, const unsigned char *number) {
  uint64_t bits = 0;
  memcpy(&bits, number, fnzi_dtype(d)->bytes);
  if (w->text->is_general && !fnzi_cuda_is_usual(d, number)) {
    const uint32_t at = w->text->pending;
    const fnzi_cuda_word word = fnzi_cuda_word_of(w->text, (int64_t)bits);
    if (w->text->pending > at)
      w->text->of_slots[at] = true;
    if (d == FNZ_F32)
      PUT(w, "__int_as_float((int)%s)", word.text);
    else if (d == FNZ_F64)
      PUT(w, "__longlong_as_double(%s)", word.text);
    else
      PUT(w, "(cell_%s)%s", fnzi_cuda_type_name(d), word.text);
    return FNZ_OK;
  }
  if (d == FNZ_F32)
    PUT(w, "__int_as_float((int)0x%llxu)", (unsigned long long)bits);
  else if (d == FNZ_F64)
    PUT(w, "__longlong_as_double((long long)0x%llxull)", (unsigned long long)bits);
  else
    PUT(w, "(cell_%s)0x%llxull", fnzi_cuda_type_name(d), (unsigned long long)bits);
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_number(const fnzi_cuda_writer *w, uint32_t k) {
  const fnzi_cuda_slot *slot = &w->group->slots[k];
  fnz_dtype d = (fnz_dtype)slot->dtype, part = fnzi_cuda_part_of(d);
  PUT(w, "    const cell_%s s%u = ", fnzi_cuda_type_name(d), (unsigned)k);
  if (!fnzi_is_complex(d)) {
    FNZ_TRY(put_bits(w, d, slot->number));
  } else {
    PUT(w, "{");
    FNZ_TRY(put_bits(w, part, slot->number));
    PUT(w, ", ");
    FNZ_TRY(put_bits(w, part, slot->number + fnzi_dtype(part)->bytes));
    PUT(w, "}");
  }
  PUT(w, ";\n");
  return FNZ_OK;
}

/* --- Elements --------------------------------------------------------------------------------- */
const char *fnzi_cuda_sum_type(fnz_dtype sum) {
  return sum == FNZ_F32   ? "float"
         : sum == FNZ_F64 ? "double"
         : sum == FNZ_I64 ? "uint64_t"
         : sum == FNZ_C64 ? "cell_C64"
                          : "cell_C128";
}

fnz_status fnzi_cuda_put_read(const fnzi_cuda_writer *w, fnz_dtype sum, fnz_dtype dtype) {
  const char *name =
      fnzi_is_complex(dtype) ? fnzi_cuda_sum_type(sum) + 5 : fnzi_cuda_cells[dtype].name;
  if (fnzi_is_complex(dtype))
    PUT(w, "    return LOAD(cell_%s, at);\n", name);
  else
    PUT(w, "    const cell_%s v = LOAD(cell_%s, at);\n    return (sum)read_%s(&v);\n", name, name,
        name);
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_store(const fnzi_cuda_writer *w, fnz_dtype sum, fnz_dtype dtype) {
  const char *name =
      fnzi_is_complex(dtype) ? fnzi_cuda_sum_type(sum) + 5 : fnzi_cuda_cells[dtype].name;
  if (fnzi_is_complex(dtype))
    PUT(w, "    STORE(cell_%s, at, v);\n", name);
  else if (sum == FNZ_I64)
    PUT(w, "    STORE(cell_%s, at, int64_t_to_%s((int64_t)v));\n", name, name);
  else
    PUT(w, "    STORE(cell_%s, at, double_to_%s((double)v));\n", name, name);
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_step(const fnzi_cuda_writer *w, const char *index, int64_t stride,
                              fnz_dtype dtype) {
  int64_t bytes;
  if (!fnzi_mul_i64(stride, (int64_t)fnzi_dtype(dtype)->bytes, &bytes))
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a stride leaves 64 bits");
  if (stride == 1)
    PUT(w, " + %s * %lld", index, (long long)bytes);
  else if (bytes != 0)
    PUT(w, " + %s * %s", index, WORD(w->text, bytes));
  return FNZ_OK;
}

/* Functions of a struct within a kernel do not see the kernel's operands. */
fnz_status fnzi_cuda_put_table(const fnzi_cuda_writer *w) {
  if (!w->text->is_general)
    return FNZ_OK;
  w->text->table = "n_";
  PUT(w, "  decltype(n) n_;\n");
  return FNZ_OK;
}

fnz_status fnzi_cuda_put_operands(const fnzi_cuda_writer *w) {
  w->text->table = NULL;
  PUT(w, "  };\n  const operands o = {p%s};\n", w->text->is_general ? ", n" : "");
  return FNZ_OK;
}
