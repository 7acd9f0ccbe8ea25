/* counted.h - the driver under the tests, and counts of its calls.
 *
 * That is the stand-in (standin.h), or with FNZ_DRIVER=real in the environment whatever
 * libcuda.so.1 there is, that of a GPU above all. It counts nothing. The engine then gets functions
 * that count calls and pass them on, since the linker has calls of fnzi_cuda_driver_open() come
 * here (--wrap). */
#ifndef FNZ_TESTS_CUDA_COUNTED_H
#define FNZ_TESTS_CUDA_COUNTED_H

#include "tests/cuda/standin.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>

bool is_standin(void);
/* For another driver than the stand-in: launches of a graph when it is launched; `wrong`: the first
 * error after which nothing works any more. */
standin_counts counts_now(void);
/* "FUNCTION:N:ERROR", as in STANDIN_FAIL; with another driver errors below 700 of streams, copies,
 * launches, memory, modules and graphs; with "kernel:N:700" launch N gets an unmapped address.
 * NULL: none from here on. */
void ask_for_failure(const char *how);
/* Before the driver is opened: the process does not hold the context of another driver than the
 * stand-in to its end, as it does to save time. */
void let_context_go(void);

/* Adds a test, `count` times, for the stand-in, if only the stand-in shows the fault or it is
 * quicker; for another driver prints that it is left out. */
#define ADD_OF_STANDIN(c, test, count)                                                             \
  do {                                                                                             \
    if (is_standin())                                                                              \
      tcase_add_loop_test(c, test, 0, count);                                                      \
    else                                                                                           \
      printf("left to the stand-in: %s\n", #test);                                                 \
  } while (0)

#endif
