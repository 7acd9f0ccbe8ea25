/* hash.c - a program's content as 32 bytes: docs/hash.md.
 *
 * needs   a verified program
 * gives   the digest of its class. Expressions are numbered as for a comparison, and the parts of
 *         the signature become classes too; the digest of a class covers its header and the digests
 *         of its operands. Programs that compare.c calls different therefore have different hashes.
 */
#include "program/compare/compare.h"
#include "program/signature.h"

#include <stdlib.h>

typedef struct hashing {
  fnz_context *ctx;
  fnzi_cmp_numbering n;
  fnzi_cmp_side side;
  fnzi_signature signature;
  bool weights;
  struct {
    uint32_t *data;
    size_t count, capacity;
  } parts; /* classes that the program's is made of, in order */
} hashing;

static const char name[] = "fnz program 1"; /* of this definition */

/* --- parts ------------------------------------------------------------------------------------ */
static const fnz_program *program_of(const hashing *h) {
  return h->side.p;
}

static fnz_status add(hashing *h, uint32_t class) {
  FNZI_PUSH(h->ctx, &h->parts, class);
  return FNZ_OK;
}

/* A part with the key that was made. */
static fnz_status end_part(hashing *h) {
  uint32_t class;
  FNZ_TRY(fnzi_cmp_key_end(&h->n, FNZI_CLASS_PART, 0, (fnzi_cmp_place){0, 0, true, true}, &class));
  return add(h, class);
}

/* Adds the count of the parts of a kind, before the parts. */
static fnz_status add_count(hashing *h, const char *what, size_t count) {
  FNZ_TRY(fnzi_cmp_key_start(&h->n, FNZI_CLASS_PART));
  FNZ_TRY(fnzi_cmp_key_text(&h->n, what, strlen(what)));
  FNZ_TRY(fnzi_cmp_key_number(&h->n, (int64_t)count));
  return end_part(h);
}

/* --- inputs ----------------------------------------------------------------------------------- */
static fnz_status add_user_inputs(hashing *h) {
  const fnz_program *p = program_of(h);
  uint32_t class;
  size_t before = h->parts.count;
  for (uint32_t k = fnzi_next_user(p, 0); k < p->graphs.data[0].ninputs;
       k = fnzi_next_user(p, k + 1)) {
    FNZ_TRY(fnzi_cmp_number_input(&h->n, &h->side, k, &class));
    FNZ_TRY(add(h, class));
    FNZ_TRY(add(h, fnzi_cmp_state_of(&h->side, k)));
  }
  return add_count(h, "inputs", h->parts.count - before);
}

/* An input that is a parameter or buffer, to be sorted. */
typedef struct named {
  const char *name;
  uint32_t input;
} named;

static int by_name(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static fnz_status add_weights(hashing *h) {
  named *weights;
  size_t count;
  const fnz_program *p = program_of(h);
  count = 0;
  FNZI_NEW(&h->n.arena, p->graphs.data[0].ninputs, &weights);
  for (uint32_t k = 0; k < p->graphs.data[0].ninputs; k++)
    if (fnzi_is_weight(p, k))
      weights[count++] = (named){p->inputs[k].target, k};
  if (count)
    qsort(weights, count, sizeof *weights, by_name);
  FNZ_TRY(add_count(h, h->weights ? "weights" : "weights without data", count));
  for (size_t i = 0; i < count; i++) {
    const named *w = &weights[i];
    uint32_t class;
    FNZ_TRY(fnzi_cmp_number_input(&h->n, &h->side, w->input, &class));
    FNZ_TRY(fnzi_cmp_key_start(&h->n, FNZI_CLASS_PART));
    FNZ_TRY(fnzi_cmp_key_text(&h->n, w->name, strlen(w->name)));
    FNZ_TRY(fnzi_cmp_key_number(&h->n, program_of(h)->inputs[w->input].persistent));
    if (h->weights) {
      const fnzi_weight *weight = fnzi_weight_find(p, w->name);
      unsigned char digest[FNZI_DIGEST_BYTES];
      if (!weight || !weight->blob)
        return fnzi_fail(
            h->ctx, FNZ_CLASS_REF, w->name,
            "the file has no data for it; leave weights out of the hash (--structure)");
      FNZ_TRY(fnzi_cmp_digest_weight(h->ctx, weight, digest));
      FNZ_TRY(fnzi_cmp_key_text(&h->n, (const char *)digest, sizeof digest));
    }
    FNZ_TRY(fnzi_cmp_key_operand(&h->n, class));
    FNZ_TRY(fnzi_cmp_key_operand(&h->n, fnzi_cmp_state_of(&h->side, w->input)));
    FNZ_TRY(end_part(h));
  }
  return FNZ_OK;
}

static fnz_status add_texts(hashing *h, const char *what, const char *const *texts, size_t count) {
  FNZ_TRY(add_count(h, what, count));
  for (size_t i = 0; i < count; i++) {
    FNZ_TRY(fnzi_cmp_key_start(&h->n, FNZI_CLASS_PART));
    FNZ_TRY(fnzi_cmp_key_text(&h->n, texts[i], strlen(texts[i])));
    FNZ_TRY(end_part(h));
  }
  return FNZ_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */

static fnz_status add_output(hashing *h, uint32_t k, uint32_t shares) {
  const fnz_arg *output = &program_of(h)->graphs.data[0].outputs[k];
  FNZ_TRY(fnzi_cmp_key_start(&h->n, FNZI_CLASS_PART));
  const fnz_output_spec *spec = &program_of(h)->outputs[k];
  const char *target;
  FNZ_TRY(fnzi_target_name(&h->signature, spec->target, &target));
  FNZ_TRY(fnzi_cmp_key_number(&h->n, spec->kind));
  FNZ_TRY(fnzi_cmp_key_text(&h->n, target, strlen(target)));
  FNZ_TRY(fnzi_cmp_key_number(&h->n, (spec->metadata ? 1 : 0) + (spec->set ? 2 : 0)));
  FNZ_TRY(fnzi_cmp_key_number(&h->n, spec->sharing));
  FNZ_TRY(fnzi_cmp_key_number(&h->n, spec->of));
  FNZ_TRY(fnzi_cmp_key_geometry(&h->n, program_of(h), spec->window));
  FNZ_TRY(fnzi_cmp_key_number(&h->n, shares));
  FNZ_TRY(fnzi_cmp_key_tree(&h->n, output));
  FNZ_TRY(end_part(h));
  FNZI_EACH_ARG(each, output, 1) {
    uint32_t class;
    if (!fnzi_is_reference(each.arg))
      continue;
    FNZ_TRY(fnzi_cmp_number_read(&h->n, &h->side, each.arg->u.value,
                                 (fnzi_cmp_place){0, 0, true, false}, &class));
    FNZ_TRY(add(h, class));
  }
  return FNZ_OK;
}

/* --- digests ---------------------------------------------------------------------------------- */
static fnz_status number_all(hashing *h, uint32_t *out) {
  FNZ_TRY(fnzi_signature_of(h->ctx, program_of(h), &h->signature));
  /* Constants are hashed by their elements if an expression needs them; other constants may lack
   * data. */
  const fnz_program *p = program_of(h);
  for (uint32_t k = 0; h->weights && k < p->graphs.data[0].ninputs; k++) {
    const fnzi_weight *w =
        p->inputs[k].kind == FNZ_INPUT_CONSTANT ? fnzi_weight_find(p, p->inputs[k].target) : NULL;
    if (w && !w->blob)
      return fnzi_fail(h->ctx, FNZ_CLASS_REF, p->inputs[k].target,
                       "the file has no data for it; leave weights out of the hash (--structure)");
  }
  FNZ_TRY(fnzi_cmp_number_program(&h->n, &h->side));
  FNZ_TRY(add_user_inputs(h));
  FNZ_TRY(add_weights(h));
  const char **texts;
  size_t count;
  FNZ_TRY(fnzi_range_texts(&h->signature, &texts, &count));
  FNZ_TRY(add_texts(h, "ranges", texts, count));
  FNZ_TRY(fnzi_guard_texts(&h->signature, &texts, &count));
  FNZ_TRY(add_texts(h, "guards", texts, count));
  uint32_t noutputs = program_of(h)->graphs.data[0].noutputs, *shares = NULL;
  if (h->side.memory.is_tracked)
    FNZ_TRY(fnzi_cmp_sharing(&h->n.arena, &h->side, &shares));
  FNZ_TRY(add_count(h, "outputs", noutputs));
  for (uint32_t k = 0; k < noutputs; k++)
    FNZ_TRY(add_output(h, k, shares ? shares[k] : k));
  FNZ_TRY(add(h, h->side.random_now));
  FNZ_TRY(add(h, h->side.effects_now));
  FNZ_TRY(fnzi_cmp_key_start(&h->n, FNZI_CLASS_PROGRAM));
  FNZ_TRY(fnzi_cmp_key_text(&h->n, name, sizeof name - 1));
  for (size_t i = 0; i < h->parts.count; i++)
    FNZ_TRY(fnzi_cmp_key_operand(&h->n, h->parts.data[i]));
  return fnzi_cmp_key_end(&h->n, FNZI_CLASS_PROGRAM, 0, (fnzi_cmp_place){0, 0, true, true}, out);
}

typedef unsigned char digest[FNZI_DIGEST_BYTES];

/* Operands are older than their users. */
static fnz_status hash(hashing *h, unsigned char *out) {
  uint32_t program;
  digest *all;
  FNZ_TRY(number_all(h, &program));
  FNZI_NEW(&h->n.arena, h->n.classes.count, &all);
  /* Class 0, which is nothing, has zeros. */
  for (uint32_t class = 1; class <= program; class ++) {
    const fnzi_cmp_class *e = &h->n.classes.data[class];
    fnzi_digest d;
    unsigned char count[4];
    for (int i = 0; i < 4; i++)
      count[i] = (unsigned char)(e->noperands >> 8 * i);
    fnzi_digest_start(&d);
    fnzi_digest_add(&d, e->header, e->header_bytes);
    fnzi_digest_add(&d, count, sizeof count);
    for (uint32_t k = 0; k < e->noperands; k++)
      fnzi_digest_add(&d, all[fnzi_cmp_operand(e, k)], sizeof *all);
    fnzi_digest_end(&d, all[class]);
  }
  memcpy(out, all[program], sizeof *all);
  return FNZ_OK;
}

fnz_status fnz_program_hash(fnz_context *ctx, const fnz_program *program, bool weights,
                            unsigned char out[FNZ_HASH_BYTES]) {
  hashing h = {.ctx = ctx, .side = {.p = program, .which = 0}, .weights = weights};
  if (weights)
    FNZ_TRY(fnzi_program_check_files(ctx, program));
  fnz_status status = fnzi_cmp_numbering_init(ctx, &h.n);
  h.n.programs[0] = h.n.programs[1] = program;
  h.n.by_name = !weights;
  fnzi_task_begin(ctx, "hash", "bytes", weights ? fnz_program_stats(program).weight_bytes : 0);
  if (status == FNZ_OK)
    status = hash(&h, out);
  status = fnzi_task_end(ctx, status);
  FNZI_VEC_FREE(ctx, &h.parts);
  fnzi_signature_end(&h.signature);
  fnzi_cmp_numbering_free(&h.n);
  return status;
}
