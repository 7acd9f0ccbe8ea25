/* text_tables.c - numbers of a kernel's table that are the same at all sizes which a program has
 * met, as constants of its text: compilers unroll loops by them and divide by multiplying. */
#include "engine/cuda/text.h"

#include <ctype.h>
#include <stddef.h>

typedef enum met_state {
  FRESH,   /* only one plan has asked for it */
  SHARED,  /* another plan has asked for it: numbers equal in both are constants */
  GENERAL, /* it was compiled before another plan asked for it: no number is a constant */
} met_state;

struct fnzi_cuda_table_log {
  uint32_t index, count; /* index among a plan's kernels with tables; count of numbers */
  uint8_t state;
  uint64_t hash; /* of its text with all numbers in the table */
  int64_t *values;
  bool *differ; /* per number: another plan had a different one */
};

typedef struct fnzi_cuda_table_log met_kernel;

void fnzi_cuda_tables_end(fnz_context *ctx, fnzi_cuda_tables *tables) {
  FNZI_VEC_FREE(ctx, &tables->kernels);
}

void fnzi_cuda_tables_fix(fnzi_cuda_tables *tables) {
  for (size_t i = 0; i < tables->kernels.count; i++)
    if (tables->kernels.data[i].state == FRESH)
      tables->kernels.data[i].state = GENERAL;
  tables->fresh = 0;
}

/* --- Tables ----------------------------------------------------------------------------------- */

/* Finds the kernel among the known ones. A plan that runs adds it if it is new; a plan at other
 * sizes is compared with it. */
static fnz_status compare(fnz_context *ctx, fnzi_cuda_text *text, uint64_t hash, met_kernel **out) {
  met_kernel *k = NULL;
  for (size_t i = 0; !k && i < text->tables->kernels.count; i++) {
    met_kernel *met = &text->tables->kernels.data[i];
    if (met->index == text->ntables && met->hash == hash && met->count == text->pending)
      k = met;
  }
  *out = k;
  if (!k && !text->only_compares) {
    met_kernel fresh = {
        .index = text->ntables, .count = text->pending, .state = FRESH, .hash = hash};
    FNZI_NEW(text->tables->arena, fresh.count, &fresh.values);
    FNZI_NEW(text->tables->arena, fresh.count, &fresh.differ);
    memcpy(fresh.values, text->numbers, fresh.count * sizeof *fresh.values);
    FNZI_PUSH(ctx, &text->tables->kernels, fresh);
    text->tables->fresh++;
  }
  if (k && k->state == (text->only_compares ? FRESH : SHARED)) {
    /* Notes differences. A number that differed once stays in the table for ever. */
    for (uint32_t i = 0; i < k->count; i++)
      k->differ[i] = k->differ[i] || k->values[i] != text->numbers[i];
  }
  if (k && k->state == FRESH && text->only_compares) {
    k->state = SHARED;
    text->tables->fresh--;
  }
  text->ntables++;
  return FNZ_OK;
}

/* --- Text ------------------------------------------------------------------------------------- */
/* "n.at[12]" or "n_.at[12]" at `at`, and no part of a longer word: the number, and its end. */
static const char *read_number(const char *start, const char *at, const char *last, uint32_t *k) {
  static const char dot[] = ".at[";
  bool begins = at == start || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
  if (!begins || *at++ != 'n')
    return NULL;
  at += at < last && *at == '_';
  if (last - at < (ptrdiff_t)sizeof dot || memcmp(at, dot, sizeof dot - 1) != 0)
    return NULL;
  *k = 0;
  for (at += sizeof dot - 1; at < last && isdigit((unsigned char)*at); at++)
    *k = *k * 10 + (uint32_t)(*at - '0');
  return at < last && *at == ']' ? at + 1 : NULL;
}

static fnz_status put_constants(fnz_context *ctx, const met_kernel *k, const fnz_buffer *body,
                                const int64_t *numbers, fnz_buffer *out) {
  const char *start = (const char *)body->data, *from = start, *last = start + body->size;
  for (const char *at = start; at < last; at++) {
    uint32_t number;
    const char *end = read_number(start, at, last, &number);
    if (!end || number >= k->count || k->differ[number])
      continue;
    FNZ_TRY(fnzi_put(ctx, out, from, (size_t)(at - from)));
    if (numbers[number] == INT64_MIN)
      FNZ_TRY(fnzi_put_text(ctx, out, "INT64_MIN"));
    else
      FNZ_TRY(fnzi_printf(ctx, out, "(int64_t)%lldll", (long long)numbers[number]));
    from = end;
    at = end - 1;
  }
  return fnzi_put(ctx, out, from, (size_t)(last - from));
}

fnz_status fnzi_cuda_tables_apply(fnz_context *ctx, fnzi_cuda_text *text, const fnz_buffer *body,
                                  fnz_buffer *out) {
  met_kernel *k = NULL;
  if (text->tables && text->pending)
    FNZ_TRY(compare(ctx, text, fnzi_hash(ctx, body->data, body->size), &k));
  return k && k->state == SHARED && !text->only_compares
             ? put_constants(ctx, k, body, text->numbers, out)
             : fnzi_put(ctx, out, body->data, body->size);
}
