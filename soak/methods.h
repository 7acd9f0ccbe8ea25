/* methods.h - two methods of functionalization on one program of unknown sizes: both give eager's
 * results at sizes that each takes. It counts where they differ: sizes that are kept out, nodes,
 * guards, refusals. */
#ifndef FNZI_SOAK_METHODS_H
#define FNZI_SOAK_METHODS_H

#include "soak/judge.h"

#include <stdio.h>

enum { FNZI_METHODS = 2 };

/* Mistakes that are made in the form of the second method, to see them found. Columns: enum, name,
 * function of soak/plants.def. */
#define FNZI_METHOD_PLANT_ROWS(ROW)                                                                \
  ROW(GUARD, "a condition on sizes dropped", fnzi_plant_guard_dropped)                             \
  ROW(BOUND, "another bound in a condition on sizes", fnzi_plant_guard_bound)                      \
  ROW(RANGE, "a range widened", fnzi_plant_range_widened)                                          \
  ROW(SIZE, "a size that is right at small sizes only", fnzi_plant_size_bounded)                   \
  ROW(INDEX, "an index of a view", fnzi_plant_index)

typedef enum fnzi_method_plant {
#define FNZI_METHOD_PLANT_ENUM(id, name, plant) FNZI_METHOD_PLANT_##id,
  FNZI_METHOD_PLANT_ROWS(FNZI_METHOD_PLANT_ENUM)
#undef FNZI_METHOD_PLANT_ENUM
      FNZI_METHOD_PLANTS
} fnzi_method_plant;

typedef struct fnzi_method_counts {
  uint64_t programs, both; /* all; programs that neither method refuses */
  uint64_t sizes;          /* choices of sizes and data at which eager runs a program */
  struct {
    uint64_t refused;
    uint64_t nodes, guards; /* of programs that neither refuses; guards beside the source's */
    uint64_t taken, alone;  /* sizes; sizes that the other form keeps out */
  } of[FNZI_METHODS];
  uint64_t made[FNZI_METHOD_PLANTS], found[FNZI_METHOD_PLANTS];
} fnzi_method_counts;
void fnzi_method_counts_add(fnzi_method_counts *to, const fnzi_method_counts *from);
void fnzi_method_print(FILE *to, const char *prefix, const fnzi_method_counts *counts);

/* Functionalizes `p` by both methods, and compares. With `plants` a mistake is made in the second
 * form instead: whether it is found is counted, and the verdict is EQUAL. `turn` draws. */
fnzi_verdict fnzi_judge_methods(fnzi_judge *judge, const fnz_program *p, uint64_t turn, bool plants,
                                fnzi_method_counts *counts);
/* Compares two forms of `p`, or one if the other is NULL, at 24 choices of sizes or more, until
 * each has taken ten. */
fnzi_verdict fnzi_judge_forms(fnzi_judge *judge, const fnz_program *p,
                              const fnz_program *const forms[FNZI_METHODS], uint64_t turn,
                              fnzi_method_counts *counts);

#endif
