/* plant_runs.h - can runs over numbers tell two programs apart? */
#ifndef FNZI_SOAK_PLANT_RUNS_H
#define FNZI_SOAK_PLANT_RUNS_H

#include <fnz/fnz.h>

/* Each outweighs all earlier ones. */
typedef enum fnzi_plant_verdict {
  FNZI_PLANT_NOTHING, /* none of the runs came to an end */
  FNZI_PLANT_ALIKE,
  FNZI_PLANT_BROKEN, /* the second program fails where the first one works */
  FNZI_PLANT_APART
} fnzi_plant_verdict;

/* The second program is functional. */
typedef struct fnzi_plant_pair {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_generator *draws;
  const fnz_program *first, *second;
  bool is_original; /* the first one runs on aliasing memory */
  bool by_sizes;    /* who refuses sizes that the other takes is another program */
  bool by_failures; /* the second one may not run where the first one fails */
} fnzi_plant_pair;

FNZ_MUST_CHECK fnz_status fnzi_plant_judge(const fnzi_plant_pair *pair, size_t runs,
                                           fnzi_plant_verdict *out);

#endif
