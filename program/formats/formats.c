/* formats.c - recognises formats, and reads bytes to a verified program. It is above the readers
 * and writers, MLIR's too: none of them knows the table. */
#include "program/formats/cbor_methods.h"
#include "program/formats/cbor_write.h"
#include "program/formats/foreign.h"
#include "program/formats/formats.h"
#include "program/formats/out.h"
#include "program/program.h"

#include <fnz/formats.h>
#include <fnz/mlir.h>

static fnz_status write_mlir(fnz_context *ctx, const fnz_program *p, fnz_buffer *out,
                             struct fnzi_out_pieces *pieces) {
  (void)pieces; /* weights are not in the text */
  return fnz_mlir_write(ctx, p, NULL, out, NULL);
}

static const struct {
  const char *name;
  fnzi_reader *read;
  fnzi_writer *write;
} formats[FNZ_FORMAT_COUNT] = {
    [FNZ_FORMAT_AUTO] = {"auto", NULL, NULL},
    [FNZ_FORMAT_PT2] = {"pt2", fnzi_read_pt2, fnzi_write_pt2},
    [FNZ_FORMAT_JSON] = {"json", fnzi_read_json, fnzi_write_json},
    [FNZ_FORMAT_CBOR] = {"cbor", fnzi_read_cbor, fnzi_write_cbor},
    [FNZ_FORMAT_TEXT] = {"text", fnzi_read_text, fnzi_write_text},
    [FNZ_FORMAT_DOT] = {"dot", NULL, fnzi_write_dot},
    [FNZ_FORMAT_MLIR] = {"mlir", NULL, write_mlir},
};

const char *fnz_format_name(fnz_format format) {
  return (unsigned)format < FNZ_FORMAT_COUNT ? formats[format].name : "?";
}

fnz_format fnz_format_find(const char *name) {
  for (int i = 0; i < FNZ_FORMAT_COUNT; i++)
    if (strcmp(formats[i].name, name) == 0)
      return (fnz_format)i;
  return FNZ_FORMAT_AUTO;
}

/* --- recognising ----------------------------------------------------------------------------- */
/* Behind blanks and comments, as the text form may have them. */
static size_t skip_comments(const char *bytes, size_t size) {
  size_t i = 0;
  for (; i < size; i++) {
    if (bytes[i] == '#')
      while (i < size && bytes[i] != '\n')
        i++;
    else if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r' && bytes[i] != '\n')
      break;
  }
  return i < size ? i : size;
}

static bool starts_with(const char *bytes, size_t size, const char *prefix, size_t prefix_size) {
  return size >= prefix_size && memcmp(bytes, prefix, prefix_size) == 0;
}

/* Recognises the format of one byte or more. */
static fnz_format recognise(const char *bytes, size_t size) {
  size_t from = skip_comments(bytes, size);
  if (starts_with(bytes, size, "PK", 2))
    return FNZ_FORMAT_PT2;
  if ((unsigned char)bytes[0] >= 0x80)
    return FNZ_FORMAT_CBOR;
  if (from < size && bytes[from] == '{')
    return FNZ_FORMAT_JSON;
  return starts_with(bytes + from, size - from, "fnz", 3) ? FNZ_FORMAT_TEXT : FNZ_FORMAT_AUTO;
}

/* --- reading and writing --------------------------------------------------------------------- */
fnz_status fnzi_program_finish(fnz_context *ctx, fnz_program *p) {
  size_t nodes = 0;
  for (size_t i = 0; i < p->graphs.count; i++)
    nodes += p->graphs.data[i].nodes.count;
  if (nodes > ctx->limits.nodes)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, NULL, "%zu nodes; at most %zu are read", nodes,
                     ctx->limits.nodes);
  FNZI_NEW(&p->arena, 1, &p->unchecked);
  *p->unchecked = true;
  return fnz_program_verify(ctx, p);
}

static fnz_status find_format(fnz_context *ctx, const char *bytes, size_t size, fnz_format *out) {
  *out = recognise(bytes, size);
  if (*out != FNZ_FORMAT_PT2) /* whose reader knows more of archives */
    FNZ_TRY(fnzi_refuse_foreign(ctx, bytes, size));
  if (*out != FNZ_FORMAT_AUTO)
    return FNZ_OK;
  /* Words that a text begins with after its first line. */
  static const char *const words[] = {"program(", "program (", "weight \"", "symbol ",
                                      "source ",  "guard ",    "graph "};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (starts_with(bytes, size, words[i], strlen(words[i])))
      return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, NULL,
                       "this is fnz text without its first line; put `fnz 1` before all else");
  return fnzi_fail(
      ctx, FNZ_CLASS_SYNTAX, NULL,
      "neither a .pt2 archive, nor its model.json, nor fnz CBOR or text; " FNZI_EXPORT);
}

/* The bytes of a program. */
typedef struct input {
  const char *bytes;
  size_t size;
  fnzi_blob *file;                   /* which the bytes are of; NULL: they are only borrowed */
  const fnzi_weights_source *source; /* of weights in another file; NULL: there is none */
} input;

static fnz_status formats_read_program(fnz_context *ctx, const input *in, fnz_format format,
                                       fnz_program **out) {
  fnz_format of = format;
  if (!in->size)
    return fnzi_fail(ctx, FNZ_CLASS_TRUNCATED, NULL, "the file is empty; write it again");
  if (format == FNZ_FORMAT_AUTO)
    FNZ_TRY(find_format(ctx, in->bytes, in->size, &of));
  fnzi_reader *reader = (unsigned)of < FNZ_FORMAT_COUNT ? formats[of].read : NULL;
  if (reader == fnzi_read_cbor && fnzi_cbor_is_methods(in->bytes, in->size))
    return fnzi_cbor_refuse_methods(ctx, in->bytes, in->size);
  if (!reader)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "programs cannot be read from %s; pt2, json, cbor and text can",
                     fnz_format_name(of));
  FNZ_TRY(fnzi_program_create(ctx, out));
  (*out)->file = in->file;
  (*out)->source = in->source;
  fnz_status status = reader(ctx, in->bytes, in->size, *out);
  (*out)->file = NULL;
  (*out)->source = NULL;
  if (status == FNZ_OK)
    status = fnzi_program_finish(ctx, *out);
  if (status == FNZ_OK)
    return FNZ_OK;
  fnz_program_destroy(*out);
  *out = NULL;
  /* Bytes that are not of the format that the caller named may be of another one. */
  fnz_format seen = format == FNZ_FORMAT_AUTO ? format : recognise(in->bytes, in->size);
  if (status != FNZ_BAD_INPUT || seen == FNZ_FORMAT_AUTO || seen == format)
    return status;
  const fnz_error said = ctx->error;
  return fnzi_fail(ctx, said.kind, said.where,
                   "%.300s; it was read as %s and begins like %s: name that format, or auto",
                   said.message, fnz_format_name(format), fnz_format_name(seen));
}

fnz_status fnz_program_read(fnz_context *ctx, const void *bytes, size_t size, fnz_format format,
                            fnz_program **out) {
  *out = NULL;
  return formats_read_program(ctx, &(input){.bytes = bytes, .size = size}, format, out);
}

/* Releases `file`, which the program retains as far as it needs it. */
static fnz_status read_blob(fnz_context *ctx, fnzi_blob *file, fnz_format format,
                            const fnzi_weights_source *source, fnz_program **out) {
  const input in = {fnzi_blob_data(file), fnzi_blob_bytes(file), file, source};
  fnz_status status = formats_read_program(ctx, &in, format, out);
  fnzi_blob_release(file);
  return status;
}

static fnz_status read_taken(fnz_context *ctx, fnz_buffer *bytes, fnz_format format,
                             const fnzi_weights_source *source, fnz_program **out) {
  fnzi_blob *file;
  *out = NULL;
  FNZ_TRY(fnzi_blob_take(ctx, bytes, &file));
  return read_blob(ctx, file, format, source, out);
}

fnz_status fnz_program_read_buffer(fnz_context *ctx, fnz_buffer *bytes, fnz_format format,
                                   fnz_program **out) {
  return read_taken(ctx, bytes, format, NULL, out);
}

static fnz_status open_given(fnz_context *ctx, const fnzi_weights_source *source, const char *name,
                             uint64_t size, fnzi_blob **out) {
  fnz_buffer bytes = {NULL, 0, 0};
  fnz_status status = source->given(ctx, source->user, name, size, &bytes);
  if (status == FNZ_OK)
    return fnzi_blob_take(ctx, &bytes, out);
  fnz_buffer_free(ctx, &bytes);
  return status;
}

fnz_status fnz_program_read_external(fnz_context *ctx, fnz_buffer *bytes, fnz_format format,
                                     fnz_weights_open *open, void *user, fnz_program **out) {
  return read_taken(ctx, bytes, format, &(fnzi_weights_source){open_given, open, user}, out);
}

/* The beginning of a file, and the directory of an archive, are enough to refuse files that are not
 * programs, and files that are too large for their kind. Comments may be longer than it. */
static fnz_status look_for_program(fnz_context *ctx, const fnzi_foreign_seen *seen) {
  const char *head = seen->head;
  size_t size = seen->size;
  uint64_t total = seen->total;
  fnz_format format;
  if (!size || skip_comments(head, size) == size)
    return FNZ_OK;
  FNZ_TRY(fnzi_refuse_foreign(ctx, head, size));
  FNZ_TRY(find_format(ctx, head, size, &format));
  if (format == FNZ_FORMAT_PT2)
    return fnzi_refuse_foreign_archive(ctx, seen);
  if ((format == FNZ_FORMAT_TEXT || format == FNZ_FORMAT_JSON) && total > ctx->limits.program_bytes)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, NULL, "%llu bytes of %s; at most %zu are read",
                     (unsigned long long)total, fnz_format_name(format), ctx->limits.program_bytes);
  return FNZ_OK;
}

/* The file beside the program's, by the plain name that the program has for it. */
static fnz_status open_beside(fnz_context *ctx, const fnzi_weights_source *source, const char *name,
                              uint64_t size, fnzi_blob **out) {
  const char *path = source->user, *slash = strrchr(path, '/');
  fnz_buffer beside = {NULL, 0, 0};
  fnz_status status = slash ? fnzi_put(ctx, &beside, path, (size_t)(slash - path) + 1) : FNZ_OK;
  if (status == FNZ_OK)
    status = fnzi_put_text(ctx, &beside, name);
  if (status == FNZ_OK)
    status = fnzi_file_blob(ctx, beside.data, NULL, size, out);
  fnz_buffer_free(ctx, &beside);
  return status;
}

fnz_status fnzi_program_open(fnz_context *ctx, const char *path, fnz_format format,
                             fnzi_blob **out) {
  return fnzi_file_blob(ctx, path, format == FNZ_FORMAT_AUTO ? look_for_program : NULL,
                        FNZI_ANY_SIZE, out);
}

fnz_status fnzi_program_read_beside(fnz_context *ctx, const char *path, fnzi_blob *file,
                                    fnz_format format, fnz_program **out) {
  fnzi_weights_source beside = {open_beside, NULL, (void *)(uintptr_t)path};
  return read_blob(ctx, file, format, strcmp(path, "-") == 0 ? NULL : &beside, out);
}

fnz_status fnz_program_load(fnz_context *ctx, const char *path, fnz_format format,
                            fnz_program **out) {
  fnzi_blob *file;
  *out = NULL;
  fnzi_task_begin(ctx, "read", NULL, 0);
  fnz_status status = fnzi_program_open(ctx, path, format, &file);
  if (status == FNZ_OK)
    status = fnzi_program_read_beside(ctx, path, file, format, out);
  return fnzi_file_failed(ctx, path, fnzi_task_end(ctx, status));
}

void fnz_context_set_reading(fnz_context *ctx, fnz_reading reading) {
  ctx->reading = reading;
}

static fnzi_writer *find_writer(fnz_format format) {
  return (unsigned)format < FNZ_FORMAT_COUNT ? formats[format].write : NULL;
}

static fnz_status no_writer(fnz_context *ctx, fnz_format format) {
  return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL, "programs cannot be written as %s",
                   fnz_format_name(format));
}

fnz_status fnz_program_write(fnz_context *ctx, const fnz_program *program, fnz_format format,
                             fnz_buffer *out) {
  fnzi_writer *write = find_writer(format);
  if (!write)
    return no_writer(ctx, format);
  return write(ctx, program, out, NULL);
}

fnz_status fnz_program_check_format(fnz_context *ctx, const fnz_program *program, fnz_format format,
                                    fnz_format_refused_fn *refused, void *user) {
  fnzi_writer *write = find_writer(format);
  if (!write)
    return no_writer(ctx, format);
  if (format == FNZ_FORMAT_PT2 || format == FNZ_FORMAT_JSON)
    return fnzi_pt2_check(ctx, program, format == FNZ_FORMAT_PT2, refused, user);
  /* Writers that end at the first refusal. */
  fnz_buffer out = {0};
  fnzi_out_pieces pieces = {0};
  fnz_status status = write(ctx, program, &out, &pieces);
  FNZI_VEC_FREE(ctx, &pieces);
  fnz_buffer_free(ctx, &out);
  if (status != FNZ_BAD_INPUT && status != FNZ_UNSUPPORTED)
    return status;
  refused(user, 0, SIZE_MAX, fnz_last_error(ctx));
  return FNZ_OK;
}

fnz_status fnz_program_save(fnz_context *ctx, const fnz_program *program, fnz_format format,
                            const char *path) {
  fnzi_writer *write = find_writer(format);
  fnz_buffer out = {0};
  fnzi_out_pieces pieces = {0};
  if (!write)
    return no_writer(ctx, format);
  fnzi_task_begin(ctx, "write", NULL, 0);
  fnz_status status = write(ctx, program, &out, &pieces);
  if (status == FNZ_OK)
    status = fnzi_file_write(ctx, path, &out, &pieces);
  status = fnzi_task_end(ctx, status);
  FNZI_VEC_FREE(ctx, &pieces);
  fnz_buffer_free(ctx, &out);
  return status;
}

/* --- weights in a file of their own ----------------------------------------------------------- */
/* CBOR into `out`, the other file into `weights` and `pieces`. */
static fnz_status write_both(fnzi_arena *arena, const fnz_program *p, const char *name,
                             fnz_buffer *out, fnz_buffer *weights, fnzi_out_pieces *pieces) {
  fnzi_external e = {.file = name};
  FNZ_TRY(fnzi_external_check_name(arena->ctx, name));
  FNZ_TRY(fnzi_external_write(arena, p, &e, weights, pieces));
  if (e.count)
    return fnzi_write_cbor_beside(arena->ctx, p, &e, out);
  weights->size = 0;
  return fnzi_write_cbor(arena->ctx, p, out, NULL);
}

fnz_status fnz_program_write_external(fnz_context *ctx, const fnz_program *program,
                                      const char *weights_name, fnz_buffer *out,
                                      fnz_buffer *weights) {
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = write_both(&arena, program, weights_name, out, weights, NULL);
  fnzi_arena_free(&arena);
  return status;
}

static fnz_status look_whose(fnz_context *ctx, const fnzi_foreign_seen *seen) {
  (void)ctx;
  return fnzi_external_has_mark(seen, FNZI_EXTERNAL_MARK(FNZI_EXTERNAL_KIND)) ? FNZ_OK : FNZ_IO;
}

static fnz_status save_both(fnzi_arena *arena, const fnz_program *p, const char *path,
                            fnz_buffer *out, fnz_buffer *weights, fnzi_out_pieces *pieces) {
  const char *beside, *slash;
  /* "X.safetensors" for "X.cbor". */
  static const char end[] = ".cbor";
  size_t size = strlen(path), tail = sizeof end - 1;
  if (size <= tail || strcmp(path + size - tail, end) != 0)
    return fnzi_fail(arena->ctx, FNZ_CLASS_ARGUMENT, path,
                     "weights beside a file need its name to end in .cbor");
  FNZ_TRY(fnzi_arena_format(arena, &beside, "%.*s.safetensors", (int)(size - tail), path));
  slash = strrchr(beside, '/');
  FNZ_TRY(write_both(arena, p, slash ? slash + 1 : beside, out, weights, pieces));
  fnzi_out_file program = {path, out, NULL}, file = {beside, weights, pieces};
  if (!weights->size)
    return fnz_file_write(arena->ctx, path, out->data, out->size);
  FNZ_TRY(fnzi_external_check_place(arena->ctx, beside, look_whose));
  return fnzi_file_write_pair(arena->ctx, &file, &program);
}

fnz_status fnz_program_save_external(fnz_context *ctx, const fnz_program *program,
                                     const char *path) {
  fnzi_arena arena;
  fnz_buffer out = {NULL, 0, 0}, weights = {NULL, 0, 0};
  fnzi_out_pieces pieces = {0};
  fnzi_arena_init(&arena, ctx);
  fnzi_task_begin(ctx, "write", NULL, 0);
  fnz_status status = save_both(&arena, program, path, &out, &weights, &pieces);
  status = fnzi_task_end(ctx, status);
  FNZI_VEC_FREE(ctx, &pieces);
  fnz_buffer_free(ctx, &weights);
  fnz_buffer_free(ctx, &out);
  fnzi_arena_free(&arena);
  return status;
}
