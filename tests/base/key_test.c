/* checks: 2
 * key_test.c - the key that names hash by: of the system where it gives one, else guessed, and
 * another one for each context. The system is played by this file. */
#include "base/base.h"
#include "tests/help/test.h"

#include <sys/random.h>

static bool gives;

/* Visible to the library, which is a shared one. */
FNZ_API ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
  if (!gives)
    return -1;
  ck_assert_uint_eq(flags, GRND_NONBLOCK);
  memset(buffer, 0x5a, size);
  return (ssize_t)size;
}

static void draw(uint64_t key[2]) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  memcpy(key, ctx->hash_key, sizeof ctx->hash_key);
  fnz_context_destroy(ctx);
}

START_TEST(the_system_draws_it) {
  uint64_t key[2];
  gives = true;
  draw(key);
  ck_assert_uint_eq(key[0], 0x5a5a5a5a5a5a5a5au);
  ck_assert_uint_eq(key[1], 0x5a5a5a5a5a5a5a5au);
}
END_TEST

START_TEST(without_the_system_it_is_guessed) {
  uint64_t key[2];
  fnz_context *other; /* stays, so that the next one lies elsewhere */
  gives = false;
  ck_assert_int_eq(fnz_context_create(NULL, &other), FNZ_OK);
  draw(key);
  ck_assert_uint_ne(key[0], key[1]);
  ck_assert_mem_ne(key, other->hash_key, sizeof key);
  fnz_context_destroy(other);
}
END_TEST

RUN_SUITE("key", the_system_draws_it, without_the_system_it_is_guessed)
