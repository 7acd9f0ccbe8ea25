/* values_lines.h - calls on values of a backend by lines of text, and tensors to begin with. */
#ifndef FNZ_TESTS_CUDA_VALUES_LINES_H
#define FNZ_TESTS_CUDA_VALUES_LINES_H

#include "tests/cuda/values_help.h"

/* 0.5, 1.5, 2.5 ... as the dtype. */
static inline fnz_status give(side *s, fnz_dtype dtype, uint32_t rank, const int64_t *sizes) {
  unsigned char cells[CELLS];
  int64_t strides[4], count = 1;
  fnz_geometry g = {.dtype = dtype, .rank = rank, .sizes = sizes, .strides = strides};
  for (uint32_t d = rank; d-- > 0; count *= sizes[d])
    strides[d] = count;
  for (int64_t i = 0; i < count; i++) {
    if (dtype == FNZ_F32)
      ((float *)(void *)cells)[i] = (float)i + 0.5f;
    else if (dtype == FNZ_I64)
      ((int64_t *)(void *)cells)[i] = i % 3;
    else
      cells[i] = i % 2 == 0;
  }
  fnz_eager *t = &s->tensors[s->count];
  t->backend = s->backend;
  FNZ_TRY(s->backend->upload(s->backend->self, s->ctx, &g, cells, &t->handle));
  s->count++;
  return FNZ_OK;
}

/* --- Scripts ------------------------------------------------------------------------------------
 * t3 a tensor, i-1 f0.5 b1 numbers, [1,2] integers, {0,1} tensors, d6 a dtype, n None; @out names
 * the argument before it. */
static inline size_t numbers_of(const char *text, int64_t out[8]) {
  size_t count = 0;
  for (char *end; *text && *text != ']' && *text != '}' && count < 8; text = end + (*end == ','))
    out[count++] = strtoll(text, &end, 10);
  return count;
}

static inline void push(side *s, const char *word) {
  int64_t numbers[8];
  fnz_eager tensors[8];
  size_t count = 0;
  switch (word[0]) {
  case 't':
    fnz_push_tensor(s->stack, s->tensors[atoi(word + 1)]);
    return;
  case 'i':
    fnz_push_int(s->stack, atoi(word + 1));
    return;
  case 'f':
    fnz_push_float(s->stack, atof(word + 1));
    return;
  case 'b':
    fnz_push_bool(s->stack, word[1] == '1');
    return;
  case 'd':
    fnz_push_dtype(s->stack, (fnz_dtype)atoi(word + 1));
    return;
  case '@':
    fnz_push_name(s->stack, word + 1);
    return;
  case '[':
    count = numbers_of(word + 1, numbers);
    fnz_push_ints(s->stack, numbers, count);
    return;
  case '{':
    count = numbers_of(word + 1, numbers);
    for (size_t k = 0; k < count; k++)
      tensors[k] = s->tensors[numbers[k]];
    fnz_push_tensors(s->stack, tensors, count);
    return;
  default:
    fnz_push_none(s->stack);
  }
}

/* "add_.Tensor t1 t2" */
static inline fnz_status step(side *s, const char *line) {
  char words[200], *rest;
  snprintf(words, sizeof words, "%s", line);
  const fnz_op *op = fnz_op_find(NULL, strtok_r(words, " ", &rest));
  ck_assert_msg(op != NULL, "%s", line);
  for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;)
    push(s, word);
  fnz_status status = fnz_call(s->ctx, op, s->stack);
  if (status == FNZ_OK)
    keep_results(s);
  fnz_stack_clear(s->stack);
  return status;
}

/* --- Tensors ---------------------------------------------------------------------------------- */
static const int64_t matrix[] = {4, 6}, row[] = {6}, few[] = {3};

/* t0 f32[4,6], t1 f32[6], t2 i64[3], t3 bool[4,6]. */
static inline fnz_status give_all(side *s) {
  FNZ_TRY(give(s, FNZ_F32, 2, matrix));
  FNZ_TRY(give(s, FNZ_F32, 1, row));
  FNZ_TRY(give(s, FNZ_I64, 1, few));
  return give(s, FNZ_BOOL, 2, matrix);
}

#endif
