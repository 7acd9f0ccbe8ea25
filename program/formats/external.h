/* external.h - the weights of a program in a safetensors file beside its CBOR.
 *
 * The CBOR has the file's name, size and digest, and in place of each blob its size. Which array of
 * the file is which blob follows from the weights: see fnzi_external_add(). */
#ifndef FNZI_EXTERNAL_H
#define FNZI_EXTERNAL_H

#include "base/digest.h"
#include "program/formats/foreign.h"
#include "program/formats/out.h"
#include "program/program.h"

#include <fnz/formats.h>

enum { FNZI_EXTERNAL_NAME = 255, FNZI_EXTERNAL_ALIGN = 64 };

/* A blob, as the file has it: under the name of a weight. */
typedef struct fnzi_external_blob {
  uint64_t bytes;
  const fnzi_weight *weight; /* the first over all of it in a row, else the first; NULL: none yet */
  bool whole;                /* the array has the weight's dtype and sizes; else it is u8[bytes] */
  fnzi_blob *blob;
} fnzi_external_blob;

typedef struct fnzi_external {
  const char *file; /* a plain name */
  uint64_t bytes;   /* of the file */
  unsigned char digest[FNZI_DIGEST_BYTES];
  fnzi_external_blob *blobs;
  size_t count;
} fnzi_external;

/* The source of such a file for a program that is being read. */
typedef struct fnzi_weights_source fnzi_weights_source;
struct fnzi_weights_source {
  /* Returns the bytes of the file `name`, `size` of them, which the caller releases. */
  fnz_status (*open)(fnz_context *ctx, const fnzi_weights_source *source, const char *name,
                     uint64_t size, fnzi_blob **out);
  fnz_weights_open *given; /* the function of fnz_program_read_external(), or NULL */
  void *user;
};

/* Fails with REF if the file of weights must not have this name. */
FNZ_MUST_CHECK fnz_status fnzi_external_check_name(fnz_context *ctx, const char *name);

/* The first member of its header says what a file of weights lies beside. The caller does not name
 * that file, so an existing file without this mark must not be replaced: `look` checks the first
 * bytes, and the file is refused by IO. */
#define FNZI_EXTERNAL_MARK(kind) "\"__metadata__\":{\"fnz\":\"" kind "\"}"
#define FNZI_EXTERNAL_KIND       "weights" /* weights beside CBOR */
bool fnzi_external_has_mark(const fnzi_foreign_seen *seen, const char *mark);
FNZ_MUST_CHECK fnz_status fnzi_external_check_place(fnz_context *ctx, const char *path,
                                                    fnzi_look *look);

/* Weights come in the order of the program. */
void fnzi_external_add(fnzi_external_blob *blob, const fnzi_weight *weight);

/* The safetensors file of a program: fills `out` and `pieces`, and all of `e` but the file's name.
 * Memory is allocated in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_external_write(fnzi_arena *arena, const fnz_program *p,
                                              fnzi_external *e, fnz_buffer *out,
                                              fnzi_out_pieces *pieces);

/* Opens the file, refuses another one, and makes the blobs, windows of it, which the caller
 * releases, also after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_external_read(fnzi_arena *arena, const fnzi_weights_source *source,
                                             fnzi_external *e);

#endif
