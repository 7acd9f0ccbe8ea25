/* read.c - reads any bytes as a program in the format FUZZ_FORMAT, with some custom operators, or
 * refuses them. A program that is read is written and read again as the same program; the pass and
 * both interpreters take it or refuse it, and if both run, they agree. A CBOR file may hold several
 * programs. */
#include "tests/fuzz/checks.h"

/* The operators of fixtures/custom: without them nothing behind a wrapper is read. */
static const char operators[] =
    "fixture::scale_rows(Tensor(a0!) dst, Tensor factor, SymInt[] rows) -> ()\n"
    "fixture::swap(Tensor(a0!) a, Tensor(a1!) b) -> Tensor\n"
    "fixture::add_to(Tensor(a0!)[] outs, Tensor x, Tensor(a2!)? log) -> ()\n"
    "fixture::twice(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n";

/* Declaring them takes as long as reading what is refused: only where they are named. */
static void declare(fnz_context *ctx, const uint8_t *data, size_t size) {
  static const char space[] = "fixture";
  const uint8_t *end = data + size, *at = data;
  while (at < end && (at = memchr(at, space[0], (size_t)(end - at))) != NULL &&
         ((size_t)(end - at) < sizeof space - 1 || memcmp(at, space, sizeof space - 1) != 0))
    at++;
  if (at == NULL || at == end)
    return;
  fnz_status status = fnz_ops_declare(ctx, "fuzz", operators, sizeof operators - 1);
  PROMISE(status == FNZ_OK, "%s", fnz_last_error(ctx)->message);
}

/* A file of several programs: a set that was read is written as the same bytes, and each program
 * may be taken out. False: it is none. */
static bool check_methods(fnz_context *ctx, const uint8_t *data, size_t size) {
  static const char head[] = "\x83\x6b"
                             "fnz-methods";
  fnz_methods *set;
  fnz_buffer again = {0};
  if (FUZZ_FORMAT != FNZ_FORMAT_CBOR || size < sizeof head - 1 ||
      memcmp(data, head, sizeof head - 1) != 0)
    return false;
  fnz_status status = fnz_methods_read(ctx, data, size, FUZZ_FORMAT, &set);
  if (status != FNZ_OK) {
    fuzz_check_refusal(ctx, status, size);
    return true;
  }
  status = fnz_methods_write(ctx, set, &again);
  PROMISE(status == FNZ_OK, "%s", fnz_last_error(ctx)->message);
  PROMISE(again.size == size && memcmp(again.data, data, size) == 0, "other bytes");
  for (size_t k = 0; k < fnz_methods_count(set); k++) {
    fnz_program *p;
    status = fnz_methods_take(ctx, set, fnz_methods_at(set, k).name, &p);
    PROMISE(status == FNZ_OK, "%s", fnz_last_error(ctx)->message);
    check_round_trips(ctx, p, fuzz_hash(data, size));
    fnz_program_destroy(p);
  }
  fnz_buffer_free(ctx, &again);
  fnz_methods_destroy(set);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_program *p;
  declare(ctx, data, size);
  if (check_methods(ctx, data, size)) {
    fuzz_end(&memory, ctx);
    return 0;
  }
  fnz_status status = fnz_program_read(ctx, data, size, FUZZ_FORMAT, &p);
  if (status != FNZ_OK) {
    fuzz_check_refusal(ctx, status, size);
  } else {
    const uint32_t hash = fuzz_hash(data, size);
    check_round_trips(ctx, p, hash);
    if (fuzz_tries(hash / 8, 0, 2)) /* takes longer than all the rest */
      check_dialects(ctx, p, hash);
  }
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
