/* external.c - any bytes as a program in CBOR and the file of its weights: read or refused. The
 * program that is read has the hash of the program that is written and read again; written twice it
 * gives the same bytes, and its weights are a file that every reader of safetensors takes.
 *
 * Bytes that were changed have another digest, and nothing behind it would be tried: so the weights
 * are made as long as the program says, and the program gets their digest. */
#include "base/digest.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/pair.h"

typedef struct shelf {
  fnz_buffer weights;
  uint64_t wanted; /* bytes; 0: nothing was asked for */
} shelf;

enum { MOST_WEIGHTS = 1 << 16 };

static fnz_status hand_out(fnz_context *ctx, void *user, const char *name, uint64_t size,
                           fnz_buffer *out) {
  const shelf *s = user;
  PROMISE(*name && !strpbrk(name, "/\\:"), "the name %s is a path", name);
  (void)size;
  return fnzi_put(ctx, out, s->weights.data, s->weights.size);
}

static fnz_status only_look(fnz_context *ctx, void *user, const char *name, uint64_t size,
                            fnz_buffer *out) {
  (void)out;
  ((shelf *)user)->wanted = size;
  return fnzi_fail(ctx, FNZ_CLASS_IO, name, "only looked at");
}

static fnz_status read_pair(fnz_context *ctx, const fnz_buffer *program, fnz_weights_open *open,
                            shelf *s, fnz_program **out) {
  fnz_buffer bytes = {0};
  fnz_status status = fnzi_put(ctx, &bytes, program->data, program->size);
  if (status != FNZ_OK) {
    fnz_buffer_free(ctx, &bytes);
    return status;
  }
  return fnz_program_read_external(ctx, &bytes, FNZ_FORMAT_CBOR, open, s, out);
}

/* The digest ends the program, so that of any weights can be put there. */
static fnz_status fit(fnz_context *ctx, fnz_buffer *program, shelf *s) {
  fnz_program *none;
  fnzi_digest d;
  const fnz_status status = read_pair(ctx, program, only_look, s, &none);
  PROMISE(status != FNZ_OK || !s->wanted, "a program whose weights cannot be read is taken");
  fnz_program_destroy(status == FNZ_OK ? none : NULL);
  if (!s->wanted || s->wanted > MOST_WEIGHTS || program->size < FNZI_DIGEST_BYTES)
    return FNZ_OK;
  for (char zero = 0; s->weights.size < s->wanted;)
    FNZ_TRY(fnzi_put(ctx, &s->weights, &zero, 1));
  s->weights.size = (size_t)s->wanted;
  fnzi_digest_start(&d);
  fnzi_digest_add(&d, s->weights.data, s->weights.size);
  fnzi_digest_end(&d, (unsigned char *)program->data + program->size - FNZI_DIGEST_BYTES);
  return FNZ_OK;
}

/* --- what holds of a program that was read ---------------------------------------------------- */
typedef struct written {
  fnz_buffer program;
  shelf shelf;
} written;

static fnz_status write_pair(fnz_context *ctx, const fnz_program *p, written *w) {
  fnz_status status =
      fnz_program_write_external(ctx, p, "w.safetensors", &w->program, &w->shelf.weights);
  PROMISE(status != FNZ_INTERNAL, "%s", fnz_last_error(ctx)->message);
  return status;
}

static void end_pair(fnz_context *ctx, written *w) {
  fnz_buffer_free(ctx, &w->program);
  fnz_buffer_free(ctx, &w->shelf.weights);
}

static void check_hashes(fnz_context *ctx, const fnz_program *a, const fnz_program *b) {
  unsigned char one[FNZ_HASH_BYTES], other[FNZ_HASH_BYTES];
  for (int weights = 0; weights < 2; weights++) {
    fnz_status first = fnz_program_hash(ctx, a, weights, one);
    PROMISE(first != FNZ_INTERNAL, "%s", fnz_last_error(ctx)->message);
    if (first != FNZ_OK || fnz_program_hash(ctx, b, weights, other) != FNZ_OK)
      continue;
    PROMISE(memcmp(one, other, sizeof one) == 0, "read again, it has another hash");
  }
}

static void check_weights(fnz_context *ctx, const fnz_buffer *weights) {
  fnz_arrays *arrays;
  if (!weights->size)
    return;
  fnz_status status = fnz_arrays_read_safetensors(ctx, weights->data, weights->size, &arrays);
  PROMISE(status == FNZ_OK || status == FNZ_NO_MEMORY, "its weights are no safetensors file: %s",
          fnz_last_error(ctx)->message);
  fnz_arrays_destroy(status == FNZ_OK ? arrays : NULL);
}

static void check_same_bytes(const fnz_buffer *a, const fnz_buffer *b) {
  PROMISE(a->size == b->size && (!a->size || memcmp(a->data, b->data, a->size) == 0),
          "written again, it has other bytes");
}

static void check_pair(fnz_context *ctx, const fnz_program *p) {
  written first = {0}, second = {0};
  fnz_program *again = NULL;
  if (write_pair(ctx, p, &first) == FNZ_OK) {
    fnz_status status = read_pair(ctx, &first.program, hand_out, &first.shelf, &again);
    PROMISE(status == FNZ_OK || status == FNZ_NO_MEMORY, "what was written is refused: %s",
            fnz_last_error(ctx)->message);
    check_weights(ctx, &first.shelf.weights);
    if (status == FNZ_OK && write_pair(ctx, again, &second) == FNZ_OK) {
      check_same_bytes(&first.program, &second.program);
      check_same_bytes(&first.shelf.weights, &second.shelf.weights);
      check_hashes(ctx, p, again);
    }
    fnz_program_destroy(status == FNZ_OK ? again : NULL);
  }
  end_pair(ctx, &first);
  end_pair(ctx, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  const pair in = pair_of(data, size);
  written w = {0};
  fnz_program *p;
  if (fnzi_put(ctx, &w.program, in.program, in.program_size) == FNZ_OK &&
      fnzi_put(ctx, &w.shelf.weights, in.weights, in.weights_size) == FNZ_OK &&
      fit(ctx, &w.program, &w.shelf) == FNZ_OK) {
    fnz_status status = read_pair(ctx, &w.program, hand_out, &w.shelf, &p);
    if (status != FNZ_OK) {
      fuzz_check_refusal(ctx, status, size + w.shelf.weights.size);
    } else {
      check_pair(ctx, p);
      fnz_program_destroy(p);
    }
  }
  end_pair(ctx, &w);
  fuzz_end(&memory, ctx);
  return 0;
}
