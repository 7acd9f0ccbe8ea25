/* stack.h - work on a stack of a known size. */
#ifndef FNZ_TESTS_HELP_STACK_H
#define FNZ_TESTS_HELP_STACK_H

#include "tests/help/test.h"

#include <pthread.h>

static inline void *do_nothing(void *user) {
  return user;
}

static inline int call_on_stack(size_t bytes, void *(*body)(void *), void *user) {
  pthread_attr_t attr;
  pthread_t thread;
  ck_assert_int_eq(pthread_attr_init(&attr), 0);
  ck_assert_int_eq(pthread_attr_setstacksize(&attr, bytes), 0);
  int status = pthread_create(&thread, &attr, body, user);
  if (status == 0)
    status = pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
  return status;
}

/* A thread's stack also holds the thread-local variables of all libraries: `bytes` come on top. */
static inline void on_stack(size_t bytes, void *(*body)(void *), void *user) {
  size_t smallest = 16 * 1024;
  while (call_on_stack(smallest, do_nothing, NULL) != 0)
    smallest += 4096;
  ck_assert_int_eq(call_on_stack(smallest + bytes, body, user), 0);
}

#endif
