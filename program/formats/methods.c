/* methods.c - sets of programs: made of programs or read from a file, looked at, written. */
#include "program/formats/foreign.h"
#include "program/formats/methods.h"
#include "program/formats/cbor_methods.h"
#include "program/formats/formats.h"

#include <stdio.h>

/* --- making and ending ------------------------------------------------------------------------ */
static fnz_status open(fnz_context *ctx, fnz_methods **out) {
  fnz_methods *set = fnzi_resize(ctx, NULL, 0, sizeof *set);
  *out = NULL;
  if (!set)
    return fnzi_no_memory(ctx);
  memset(set, 0, sizeof *set);
  set->ctx = ctx;
  fnzi_arena_init(&set->arena, ctx);
  fnzi_map_init(&set->index, ctx);
  *out = set;
  return FNZ_OK;
}

void fnz_methods_destroy(fnz_methods *set) {
  if (!set)
    return;
  fnz_context *ctx = set->ctx;
  for (size_t k = 0; set->programs && k < set->count; k++)
    fnz_program_destroy(set->programs[k]);
  FNZI_VEC_FREE(ctx, &set->weights);
  fnzi_map_free(&set->index);
  fnzi_arena_free(&set->arena);
  fnzi_free(ctx, set, sizeof *set);
}

/* A set that could not be filled ends. */
static fnz_status done(fnz_methods *set, fnz_status status, fnz_methods **out) {
  *out = status == FNZ_OK ? set : NULL;
  if (status != FNZ_OK)
    fnz_methods_destroy(set);
  return status;
}

static fnz_status methods_fill(fnz_context *ctx, fnz_methods *set, const fnz_method *methods,
                               size_t count) {
  if (!count || count > FNZ_METHODS_MOST)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "%zu methods; there are 1 to %d", count,
                     FNZ_METHODS_MOST);
  FNZI_NEW(&set->arena, count, &set->names);
  FNZI_NEW(&set->arena, count, &set->programs);
  for (size_t k = 0; k < count; k++) {
    const char *name = methods[k].name;
    FNZ_TRY(fnzi_cbor_check_method(ctx, name, strlen(name)));
    for (size_t i = 0; i < set->count; i++)
      if (strcmp(set->names[i], name) == 0)
        return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                         "two methods are called %s; give one of them another name", name);
    FNZ_TRY(fnzi_arena_string(&set->arena, name, strlen(name), &set->names[set->count]));
    FNZ_TRY(fnzi_program_check_files(ctx, methods[k].program));
    FNZ_TRY(fnzi_program_copy(ctx, methods[k].program, &set->programs[k]));
    set->count++;
  }
  return fnzi_methods_join(ctx, set, false);
}

fnz_status fnz_methods_create(fnz_context *ctx, const fnz_method *methods, size_t count,
                              fnz_methods **out) {
  fnz_methods *set;
  *out = NULL;
  FNZ_TRY(open(ctx, &set));
  return done(set, methods_fill(ctx, set, methods, count), out);
}

/* --- looking ---------------------------------------------------------------------------------- */
size_t fnz_methods_count(const fnz_methods *set) {
  return set->count;
}

fnz_method fnz_methods_at(const fnz_methods *set, size_t k) {
  return k < set->count ? (fnz_method){set->names[k], set->programs[k]} : (fnz_method){NULL, NULL};
}

static fnz_program **methods_find(const fnz_methods *set, const char *name) {
  for (size_t k = 0; k < set->count; k++)
    if (strcmp(set->names[k], name) == 0)
      return &set->programs[k];
  return NULL;
}

const fnz_program *fnz_methods_find(const fnz_methods *set, const char *name) {
  fnz_program **found = methods_find(set, name);
  return found ? *found : NULL;
}

fnz_status fnz_methods_take(fnz_context *ctx, fnz_methods *set, const char *name,
                            fnz_program **out) {
  char names[200];
  fnz_program **found = name ? methods_find(set, name) : set->count == 1 ? &set->programs[0] : NULL;
  *out = NULL;
  /* Lists names, as many as `sizeof names` bytes hold. */
  size_t used = 0;
  for (size_t k = 0; k < set->count && used < sizeof names; k++)
    used +=
        (size_t)snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "", set->names[k]);
  if (!found && !name)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "there are %zu methods: %s; name one of them",
                     set->count, names);
  if (!found)
    return fnzi_fail(ctx, FNZ_CLASS_REF, NULL, "there is no method %.200s; there are: %s", name,
                     names);
  if (!*found)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "the method %.200s was taken", name);
  *out = *found;
  *found = NULL;
  return FNZ_OK;
}

size_t fnz_methods_count_weights(const fnz_methods *set) {
  return set->weights.count;
}

fnz_methods_weight fnz_methods_weight_at(const fnz_methods *set, size_t k) {
  return k < set->weights.count ? set->weights.data[k].shown
                                : (fnz_methods_weight){NULL, 0, 0, false};
}

/* --- reading ---------------------------------------------------------------------------------- */
static fnz_status read_set(fnz_context *ctx, const char *bytes, size_t size, fnzi_blob *file,
                           fnz_methods **out) {
  fnz_methods *set;
  FNZ_TRY(open(ctx, &set));
  fnzi_cbor_set read = {.arena = &set->arena, .file = file};
  fnz_status status = fnzi_cbor_read_methods(ctx, bytes, size, &read);
  set->names = read.names;
  set->programs = read.programs;
  set->count = read.programs ? read.count : 0;
  for (size_t k = 0; k < set->count && status == FNZ_OK; k++)
    status = fnzi_program_finish(ctx, set->programs[k]);
  if (status == FNZ_OK)
    status = fnzi_methods_join(ctx, set, true);
  return done(set, status, out);
}

static fnz_status adopt(fnz_context *ctx, fnz_methods *set, fnz_program *p) {
  FNZI_NEW(&set->arena, 1, &set->names);
  FNZI_NEW(&set->arena, 1, &set->programs);
  set->names[0] = "main";
  set->programs[0] = p;
  set->count = 1;
  return fnzi_methods_join(ctx, set, true);
}

/* A program, which it ends if it fails. */
static fnz_status wrap(fnz_context *ctx, fnz_program *p, fnz_methods **out) {
  fnz_methods *set;
  fnz_status status = open(ctx, &set);
  if (status == FNZ_OK)
    status = adopt(ctx, set, p);
  if (status != FNZ_OK && (!set || !set->count))
    fnz_program_destroy(p);
  return set ? done(set, status, out) : status;
}

static bool is_set(const char *bytes, size_t size, fnz_format format) {
  return (format == FNZ_FORMAT_AUTO || format == FNZ_FORMAT_CBOR) &&
         fnzi_cbor_is_methods(bytes, size);
}

fnz_status fnz_methods_read(fnz_context *ctx, const void *bytes, size_t size, fnz_format format,
                            fnz_methods **out) {
  fnz_program *p;
  *out = NULL;
  if (is_set(bytes, size, format))
    return read_set(ctx, bytes, size, NULL, out);
  FNZ_TRY(fnz_program_read(ctx, bytes, size, format, &p));
  return wrap(ctx, p, out);
}

static fnz_status methods_load(fnz_context *ctx, const char *path, fnz_format format,
                               fnz_methods **out) {
  fnzi_blob *file;
  fnz_program *p;
  *out = NULL;
  FNZ_TRY(fnzi_program_open(ctx, path, format, &file));
  const char *bytes = fnzi_blob_data(file);
  const size_t size = fnzi_blob_bytes(file);
  if (is_set(bytes, size, format)) {
    fnz_status status = read_set(ctx, bytes, size, file, out);
    fnzi_blob_release(file);
    return status;
  }
  FNZ_TRY(fnzi_program_read_beside(ctx, path, file, format, &p));
  return wrap(ctx, p, out);
}

fnz_status fnz_methods_load(fnz_context *ctx, const char *path, fnz_format format,
                            fnz_methods **out) {
  return fnzi_file_failed(ctx, path, methods_load(ctx, path, format, out));
}

/* --- writing ---------------------------------------------------------------------------------- */
static fnz_status write_set(fnz_context *ctx, const fnz_methods *set, fnz_buffer *out,
                            fnzi_out_pieces *pieces) {
  fnz_method methods[FNZ_METHODS_MOST];
  for (size_t k = 0; k < set->count; k++) {
    methods[k] = fnz_methods_at(set, k);
    if (!methods[k].program)
      return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                       "the method %s was taken out of the set; write sets that are whole",
                       methods[k].name);
  }
  return fnzi_cbor_write_methods(ctx, methods, set->count, out, pieces);
}

fnz_status fnz_methods_write(fnz_context *ctx, const fnz_methods *set, fnz_buffer *out) {
  return write_set(ctx, set, out, NULL);
}

fnz_status fnz_methods_save(fnz_context *ctx, const fnz_methods *set, const char *path) {
  fnz_buffer out = {0};
  fnzi_out_pieces pieces = {0};
  fnz_status status = write_set(ctx, set, &out, &pieces);
  if (status == FNZ_OK)
    status = fnzi_file_write(ctx, path, &out, &pieces);
  FNZI_VEC_FREE(ctx, &pieces);
  fnz_buffer_free(ctx, &out);
  return status;
}
