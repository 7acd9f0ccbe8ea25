/* collectives_ranks.h - one process of fixtures/collectives/ranks: the program in each way that
 * there is to run one, and what PyTorch gave over gloo. */
#ifndef FNZ_TESTS_RUN_COLLECTIVES_RANKS_H
#define FNZ_TESTS_RUN_COLLECTIVES_RANKS_H

#include <fnz/fnz.h>

#include <stdio.h>
#include <string.h>

#define RANKS FNZ_SOURCE_DIR "/fixtures/collectives/ranks"

typedef enum way { WAY_ORIGINAL, WAY_INTERPRETER, WAY_ENGINE, WAYS } way;

typedef struct rank_run {
  fnz_context *ctx;
  int64_t rank, count;
  way way;
  fnz_program *program, *functional;
  fnz_arrays *fixture, *inputs, *outputs;
  fnz_backend *backend;
  fnz_executable *exe;
  size_t compared;
  char failure[400];
} rank_run;

/* The part after "RANK." of a name in the fixture; NULL for others. */
static inline const char *own_name(const rank_run *r, const char *name) {
  char prefix[24];
  size_t length = (size_t)snprintf(prefix, sizeof prefix, "%lld.", (long long)r->rank);
  return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

static inline bool is_result(const char *name) {
  return strncmp(name, "output.", 7) == 0 || strncmp(name, "input.", 6) == 0;
}

static inline fnz_status take_inputs(rank_run *r) {
  fnz_status status = fnz_arrays_create(r->ctx, &r->inputs);
  for (size_t i = 0; i < fnz_arrays_count(r->fixture) && status == FNZ_OK; i++) {
    const fnz_array *a = fnz_arrays_at(r->fixture, i);
    const char *name = own_name(r, a->name);
    void *data;
    if (!name || is_result(name))
      continue;
    status = fnz_arrays_add(r->inputs, name, a->dtype, a->rank, a->sizes, &data);
    if (status == FNZ_OK && a->bytes)
      memcpy(data, a->data, a->bytes);
  }
  return status;
}

static inline fnz_status run_once(rank_run *r) {
  const fnz_run_options original = {.size = sizeof original, .original = true};
  fnz_arrays_destroy(r->outputs);
  r->outputs = NULL;
  fnz_status status = fnz_arrays_create(r->ctx, &r->outputs);
  if (status != FNZ_OK)
    return status;
  if (r->way == WAY_ENGINE)
    return fnz_executable_run_arrays(r->ctx, r->exe, r->inputs, NULL, NULL, r->outputs);
  return r->way == WAY_ORIGINAL
             ? fnz_run(r->ctx, r->program, r->backend, r->inputs, &original, r->outputs)
             : fnz_run(r->ctx, r->functional, r->backend, r->inputs, NULL, r->outputs);
}

static inline fnz_status open_rank(rank_run *r) {
  char path[600];
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.threads = 2;
  options.check = true;
  snprintf(path, sizeof path, RANKS "/%lld.fnz", (long long)r->count);
  fnz_status status = fnz_program_load(r->ctx, path, FNZ_FORMAT_AUTO, &r->program);
  snprintf(path, sizeof path, RANKS "/%lld.safetensors", (long long)r->count);
  if (status == FNZ_OK)
    status = fnz_arrays_load(r->ctx, path, &r->fixture);
  if (status == FNZ_OK)
    status = take_inputs(r);
  if (status == FNZ_OK && r->way != WAY_ORIGINAL)
    status = fnz_functionalize(r->ctx, r->program, NULL, &r->functional);
  if (status == FNZ_OK && r->way == WAY_ENGINE)
    return fnz_compile(r->ctx, r->functional, &options, &r->exe);
  return status == FNZ_OK ? fnz_cpu_backend_create(r->ctx, 2, &r->backend) : status;
}

static inline void compare(rank_run *r) {
  for (size_t i = 0; i < fnz_arrays_count(r->fixture) && !*r->failure; i++) {
    const fnz_array *want = fnz_arrays_at(r->fixture, i);
    const char *name = own_name(r, want->name);
    if (!name || !is_result(name))
      continue;
    const fnz_array *have = fnz_arrays_find(r->outputs, name);
    if (!have || have->dtype != want->dtype || have->bytes != want->bytes ||
        memcmp(have->data, want->data, want->bytes) != 0)
      snprintf(r->failure, sizeof r->failure, "way %d, rank %lld of %lld: %s differs", r->way,
               (long long)r->rank, (long long)r->count, name);
    r->compared++;
  }
}

static inline void close_rank(rank_run *r) {
  fnz_executable_destroy(r->exe);
  fnz_backend_destroy(r->backend);
  fnz_arrays_destroy(r->outputs);
  fnz_arrays_destroy(r->inputs);
  fnz_arrays_destroy(r->fixture);
  fnz_program_destroy(r->functional);
  fnz_program_destroy(r->program);
}

/* Twice, as the second run of an executable has a plan. r->failure says what was wrong. */
static inline void run_rank(rank_run *r) {
  fnz_status status = open_rank(r);
  for (int i = 0; i < 2 && status == FNZ_OK; i++) {
    status = run_once(r);
    if (status == FNZ_OK)
      compare(r);
  }
  if (status != FNZ_OK)
    snprintf(r->failure, sizeof r->failure, "way %d, rank %lld of %lld: %.60s: %.200s", r->way,
             (long long)r->rank, (long long)r->count, fnz_last_error(r->ctx)->where,
             fnz_last_error(r->ctx)->message);
  close_rank(r);
}

#endif
