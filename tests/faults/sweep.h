/* sweep.h - what the two halves of memory_sweep share: is this allocation to fail? */
#ifndef FNZ_TESTS_FAULTS_SWEEP_H
#define FNZ_TESTS_FAULTS_SWEEP_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts one more; true for the failing one, or one after it. */
bool sweep_fails(void);

#ifdef __cplusplus
}
#endif
#endif
