/* formats.h - programs from bytes and to bytes, and files that appear whole or not at all. */
#ifndef FNZ_FORMATS_H
#define FNZ_FORMATS_H

#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns: name for --to, file extension, can be read, can be written. Order is ABI. */
#define FNZ_FORMAT_ROWS(ROW)                                                                       \
  ROW(PT2, "pt2", ".pt2", true, true)    /* torch.export.save archives, both layouts */            \
  ROW(JSON, "json", ".json", true, true) /* the model.json of such an archive */                   \
  ROW(CBOR, "cbor", ".cbor", true, true)                                                           \
  ROW(TEXT, "text", ".fnz", true, true)                                                            \
  ROW(DOT, "dot", ".dot", false, true)                                                             \
  ROW(MLIR, "mlir", ".mlir", false, true) /* <fnz/mlir.h> */

typedef enum fnz_format {
  FNZ_FORMAT_AUTO = 0, /* recognised by content */
#define FNZ_FORMAT_ENUM(id, name, extension, reads, writes) FNZ_FORMAT_##id,
  FNZ_FORMAT_ROWS(FNZ_FORMAT_ENUM)
#undef FNZ_FORMAT_ENUM
      FNZ_FORMAT_COUNT
} fnz_format;

/** "pt2", "cbor", ...; "auto" for FNZ_FORMAT_AUTO. Static. */
FNZ_API const char *fnz_format_name(fnz_format format);
/** FNZ_FORMAT_AUTO when there is none of that name. */
FNZ_API fnz_format fnz_format_find(const char *name);

/** Reads a program and verifies it.
 * bytes  borrowed for the call only.
 * out    ends with fnz_program_destroy(), before ctx; NULL on failure. Every class of FNZ_BAD_INPUT
 *        can occur. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_read(fnz_context *ctx, const void *bytes, size_t size,
                                                   fnz_format format, fnz_program **out);

/** The same for bytes that are handed over, so that weights need not be copied: they stay where
 * they are, and the bytes live as long as any program that has them.
 * bytes  from fnz_file_read(), or allocated by the context's allocator; empty afterwards, also
 *        after a failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_read_buffer(fnz_context *ctx, fnz_buffer *bytes,
                                                          fnz_format format, fnz_program **out);

/** How fnz_program_load() and fnz_methods_load() get the bytes of a regular file, and of a file of
 * weights beside it. */
typedef enum fnz_reading {
  /** Copies them, and compares checksums. */
  FNZ_READING_COPY,
  /** Maps the file, and compares checksums. Pages that weights need are shared with all processes
   * that have the file mapped. */
  FNZ_READING_MAP,
  /** Maps the file, and compares no checksums of weights, so that a page is read when something
   * uses it: for callers that need no weights, or know the file. */
  FNZ_READING_MAP_LATE
} fnz_reading;

/** FNZ_READING_COPY at first. A program keeps a mapped file open. If the file is written over while
 * the program exists, each use of its weights fails with IO and names the file; it is looked at
 * before a use, and after each run. If it gets shorter while it is used, the process gets SIGBUS. A
 * file that is replaced by rename(), as fnz does, stays what it was. Files below 1 MiB are read. */
FNZ_API void fnz_context_set_reading(fnz_context *ctx, fnz_reading reading);

/** fnz_file_read() and fnz_program_read_buffer() in one, or a mapping: fnz_context_set_reading().
 * If the first bytes of a file are not a program's, no more is read, however large the file is. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_load(fnz_context *ctx, const char *path,
                                                   fnz_format format, fnz_program **out);

/** Writes a program; the same program gives the same bytes. Weights go along in CBOR and PT2.
 *
 * PT2 is what torch.export.load reads, in its inference dialect: final values of mutated buffers,
 * parameters and inputs are leading outputs. A program that was read from a .pt2 file, or made of
 * one by fnz_functionalize(), is written in the schema version of that file, with the file's other
 * records and its members that fnz does not look into as they were, and with metadata and devices
 * of its nodes; any other one in schema 8.20, on the CPU, if all of its weights have data. JSON is
 * the model of such an archive without it.
 * Fails for PT2 and JSON with UNSUPPORTED where these have no way to say something: mutations that
 * change sizes, inputs that share memory, names of inputs that are no Python identifiers. Guards
 * that are conditions become nodes that assert them.
 * out  must be empty; ends with fnz_buffer_free(), also after a failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_write(fnz_context *ctx, const fnz_program *program,
                                                    fnz_format format, fnz_buffer *out);

/** Called for each thing that a format cannot hold; `error` is the error of fnz_program_write() for
 * it, and is borrowed for the call. graph and node are indices in the program; node is SIZE_MAX if
 * the refused thing belongs to no node. */
typedef void fnz_format_refused_fn(void *user, size_t graph, size_t node, const fnz_error *error);

/** Everything of a program that fnz_program_write() would refuse: the same code, which goes on
 * behind a refusal where it can. OK whether something is refused or not. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_check_format(fnz_context *ctx,
                                                           const fnz_program *program,
                                                           fnz_format format,
                                                           fnz_format_refused_fn *refused,
                                                           void *user);

/** fnz_program_write() and fnz_file_write() in one, without a copy of the weights. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_save(fnz_context *ctx, const fnz_program *program,
                                                   fnz_format format, const char *path);

/** Reads the file of weights that a program's CBOR names: the bytes of the file, `size` of them,
 * from fnz_file_read() or the context's allocator, into `out`, which is empty. The name is a plain
 * one: no folder, no device. Called in the thread that reads. A failure becomes the reader's:
 * return that of the function of fnz that failed, or else FNZ_IO. */
typedef fnz_status fnz_weights_open(fnz_context *ctx, void *user, const char *name, uint64_t size,
                                    fnz_buffer *out);

/** fnz_program_read_buffer() of a program whose weights lie in a file of their own, as
 * fnz_program_save_external() writes it; the others fail with REF. The file must have the size and
 * digest that the program records, and the arrays of the program's weights: REF, TRUNCATED,
 * TYPE. fnz_program_load() finds the file beside the program's.
 * open  is called at most once. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_read_external(fnz_context *ctx, fnz_buffer *bytes,
                                                            fnz_format format,
                                                            fnz_weights_open *open, void *user,
                                                            fnz_program **out);

/** fnz_program_write() as CBOR, with the weights in a safetensors file: `weights_name` is its name,
 * plain, and ends in ".safetensors". If no weight has data, `weights` stays empty and the CBOR is
 * as without.
 * out, weights  must be empty; end with fnz_buffer_free(), also after a failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_write_external(fnz_context *ctx,
                                                             const fnz_program *program,
                                                             const char *weights_name,
                                                             fnz_buffer *out, fnz_buffer *weights);

/** Both as files: X.cbor and, beside it, X.safetensors, without a copy of the weights. Both appear
 * or none; a process that is killed between the two leaves a pair whose digest does not fit, which
 * is refused when it is read. A file X.safetensors that fnz has not written is not replaced: IO.
 * path  ends in ".cbor". */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_program_save_external(fnz_context *ctx,
                                                            const fnz_program *program,
                                                            const char *path);

/** A whole regular file, or standard input for "-". Fails with FNZ_IO.
 * out  must be empty; ends with fnz_buffer_free(), also after a failure. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_file_read(fnz_context *ctx, const char *path,
                                                fnz_buffer *out);
/** Writes a file so that it appears whole or not at all: a file without a name in the same folder
 * is written and put in place, or a temporary file beside it if the system has no such files.
 * fnz_context_set_sync() says whether it is on the disk then. "-" is standard output. Fails with
 * FNZ_IO and leaves what was there, also if that is no regular file, such as a symbolic link. Only
 * if the folder cannot be synced at the end, the new file is there already. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_file_write(fnz_context *ctx, const char *path,
                                                 const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
