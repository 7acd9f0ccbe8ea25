/* signature.c - maps for comparing signatures, so that programs of many inputs, weights,
 * ranges and guards take linear time. */
#include "program/signature.h"

#include <stdlib.h>

bool fnzi_is_weight(const fnz_program *p, uint32_t input) {
  return p->inputs[input].kind == FNZ_INPUT_PARAMETER || p->inputs[input].kind == FNZ_INPUT_BUFFER;
}

uint32_t fnzi_next_user(const fnz_program *p, uint32_t input) {
  while (input < p->graphs.data[0].ninputs &&
         (fnzi_is_weight(p, input) || p->inputs[input].kind == FNZ_INPUT_CONSTANT))
    input++;
  return input;
}

/* The first one of a name stays. */
static fnz_status add(fnzi_map *map, const char *name, uint64_t value) {
  uint64_t there;
  if (fnzi_map_get(map, name, strlen(name), &there))
    return FNZ_OK;
  return fnzi_map_set(map, name, strlen(name), value);
}

/* --- texts that say the same ------------------------------------------------------------------ */
fnz_status fnzi_target_name(fnzi_signature *s, const char *target, const char **out) {
  uint64_t position;
  *out = target ? target : "";
  if (!target || !fnzi_map_get(&s->users, target, strlen(target), &position))
    return FNZ_OK;
  return fnzi_arena_format(&s->arena, out, "input %llu", (unsigned long long)position);
}

static fnz_status range_text(fnzi_signature *s, const fnzi_range *r, const char **out) {
  return fnzi_arena_format(&s->arena, out, "%lld..%lld %s", (long long)r->min, (long long)r->max,
                           r->symbol);
}

/* The inputs of a guard go by their positions. */
static fnz_status put_guard(fnzi_signature *s, const fnz_guard *guard, fnz_buffer *text) {
  FNZ_TRY(fnzi_printf(s->arena.ctx, text, "%d %u %d%s", (int)guard->kind, guard->count,
                      guard->text != NULL, guard->text ? guard->text : ""));
  for (uint32_t i = 0; i < guard->count; i++) {
    const char *name;
    FNZ_TRY(fnzi_target_name(s, guard->names[i], &name));
    FNZ_TRY(fnzi_printf(s->arena.ctx, text, " %zu %s", strlen(name), name));
  }
  return FNZ_OK;
}

static fnz_status guard_text(fnzi_signature *s, const fnz_guard *guard, const char **out) {
  fnz_buffer text = {0};
  fnz_status status = put_guard(s, guard, &text);
  if (status == FNZ_OK)
    status = fnzi_arena_string(&s->arena, text.data, text.size, out);
  fnz_buffer_free(s->arena.ctx, &text);
  return status;
}

/* --- the whole -------------------------------------------------------------------------------- */
fnz_status fnzi_signature_of(fnz_context *ctx, const fnz_program *p, fnzi_signature *out) {
  *out = (fnzi_signature){.p = p};
  fnzi_map_init(&out->users, ctx);
  fnzi_map_init(&out->weights, ctx);
  fnzi_map_init(&out->ranges, ctx);
  fnzi_map_init(&out->guards, ctx);
  fnzi_arena_init(&out->arena, ctx);
  const uint32_t ninputs = p->graphs.data[0].ninputs;
  uint32_t count = 0;
  for (uint32_t k = fnzi_next_user(p, 0); k < ninputs; k = fnzi_next_user(p, k + 1))
    FNZ_TRY(add(&out->users, p->inputs[k].target, count++));
  for (uint32_t k = 0; k < ninputs; k++)
    if (fnzi_is_weight(p, k))
      FNZ_TRY(add(&out->weights, p->inputs[k].target, k));
  const char *text;
  for (size_t i = 0; i < p->ranges.count; i++) {
    FNZ_TRY(range_text(out, &p->ranges.data[i], &text));
    FNZ_TRY(add(&out->ranges, text, 1));
  }
  for (size_t i = 0; i < p->guards.count; i++) {
    FNZ_TRY(guard_text(out, &p->guards.data[i], &text));
    FNZ_TRY(add(&out->guards, text, 1));
  }
  return FNZ_OK;
}

void fnzi_signature_end(fnzi_signature *s) {
  if (!s->p)
    return;
  fnzi_map_free(&s->users);
  fnzi_map_free(&s->weights);
  fnzi_map_free(&s->ranges);
  fnzi_map_free(&s->guards);
  fnzi_arena_free(&s->arena);
}

bool fnzi_weight_input(const fnzi_signature *s, const char *name, uint32_t *input) {
  uint64_t found;
  if (!fnzi_map_get(&s->weights, name, strlen(name), &found))
    return false;
  *input = (uint32_t)found;
  return true;
}

static bool has(const fnzi_map *map, const char *text) {
  uint64_t unused;
  return fnzi_map_get(map, text, strlen(text), &unused);
}

fnz_status fnzi_has_range(fnzi_signature *s, const fnzi_range *range, bool *out) {
  const char *text;
  FNZ_TRY(range_text(s, range, &text));
  *out = has(&s->ranges, text);
  return FNZ_OK;
}

fnz_status fnzi_has_guard(fnzi_signature *s, fnzi_signature *of, const fnz_guard *guard,
                          bool *out) {
  const char *text;
  FNZ_TRY(guard_text(of, guard, &text));
  *out = has(&s->guards, text);
  return FNZ_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */
static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t sort(const char **texts, size_t count) {
  size_t kept = 0;
  if (count)
    qsort(texts, count, sizeof *texts, by_text);
  for (size_t i = 0; i < count; i++)
    if (!kept || strcmp(texts[kept - 1], texts[i]) != 0)
      texts[kept++] = texts[i];
  return kept;
}

fnz_status fnzi_range_texts(fnzi_signature *s, const char ***out, size_t *count) {
  FNZI_NEW(&s->arena, s->p->ranges.count, out);
  for (size_t i = 0; i < s->p->ranges.count; i++)
    FNZ_TRY(range_text(s, &s->p->ranges.data[i], &(*out)[i]));
  *count = sort(*out, s->p->ranges.count);
  return FNZ_OK;
}

fnz_status fnzi_guard_texts(fnzi_signature *s, const char ***out, size_t *count) {
  FNZI_NEW(&s->arena, s->p->guards.count, out);
  for (size_t i = 0; i < s->p->guards.count; i++)
    FNZ_TRY(guard_text(s, &s->p->guards.data[i], &(*out)[i]));
  *count = sort(*out, s->p->guards.count);
  return FNZ_OK;
}
