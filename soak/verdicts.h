/* verdicts.h - possible verdicts on a program, and its possible checks. */
#ifndef FNZI_SOAK_VERDICTS_H
#define FNZI_SOAK_VERDICTS_H

/* The verdict on one program. Columns: enum, its name. */
#define FNZI_VERDICT_ROWS(ROW)                                                                     \
  ROW(EQUAL, "equal")                                                                              \
  ROW(REFUSED, "refused by both, as the same class")                                               \
  ROW(BEYOND, "refused, although eager does it") /* the pass lacks operators, and refuses */       \
  ROW(NO_KERNEL, "equal over hashes; no numbers for want of a kernel")                             \
  ROW(UNREAD, "refused by a kernel only, for what nothing reads") /* the result leaves it out */   \
  ROW(LARGE, "equal; more than four nodes for one")               /* written slice after slice */  \
  ROW(WRONG, "wrong")

typedef enum fnzi_verdict {
#define FNZI_VERDICT_ENUM(id, name) FNZI_VERDICT_##id,
  FNZI_VERDICT_ROWS(FNZI_VERDICT_ENUM)
#undef FNZI_VERDICT_ENUM
      FNZI_VERDICTS
} fnzi_verdict;
const char *fnzi_verdict_name(fnzi_verdict v);

/* The dialects, and what only thorough ones are checked for: bits of fnzi_judge.checks. */
enum {
  FNZI_CHECK_KEEP = 1,
  FNZI_CHECK_STRIDED = 2,
  FNZI_CHECK_THOROUGH = 4,
  FNZI_CHECK_ENGINE = 8, /* the engine against the interpreter, bit by bit */
  FNZI_CHECK_ALL = 15
};

#endif
