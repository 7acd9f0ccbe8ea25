/* status.h - what every fallible call returns, and the one error object of a context. */
#ifndef FNZ_STATUS_H
#define FNZ_STATUS_H

#include <fnz/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The kind of a failure; enough to decide how to continue. Values are ABI. */
typedef enum fnz_status {
  FNZ_OK = 0,
  FNZ_NO_MEMORY = 1,
  FNZ_BAD_ARGUMENT = 2, /* the caller broke the contract of a function */
  FNZ_BAD_INPUT = 3,    /* a file or a program is wrong */
  FNZ_UNSUPPORTED = 4,  /* right, but not something fnz does; the message names it */
  FNZ_IO = 5,
  FNZ_DEVICE = 6,
  FNZ_INTERNAL = 7,  /* a check inside fnz failed: a bug, please report it */
  FNZ_DIFFERENT = 8, /* a comparison came out negative; not an error of either side */
  FNZ_CANCELLED = 9  /* the caller has cancelled the call: fnz_context_set_progress() */
} fnz_status;

/* The stable error classes, with the status each belongs to. One row per class:
 * the enum, the names that the command prints and the statuses all come from here. */
#define FNZ_CLASS_ROWS(ROW)                                                                        \
  ROW(NONE, FNZ_OK)             /* no error */                                                     \
  ROW(TRUNCATED, FNZ_BAD_INPUT) /* ends early */                                                   \
  ROW(SYNTAX, FNZ_BAD_INPUT)    /* not well-formed */                                              \
  ROW(ENCODING, FNZ_BAD_INPUT)  /* well-formed, but not canonical or not UTF-8 */                  \
  ROW(ARCHIVE, FNZ_BAD_INPUT)   /* structure of a zip archive */                                   \
  ROW(DUPLICATE, FNZ_BAD_INPUT) /* a name or key that must be unique is not */                     \
  ROW(VERSION, FNZ_BAD_INPUT)   /* a format or schema version this release does not read */        \
  ROW(UNSUPPORTED, FNZ_UNSUPPORTED)                                                                \
  ROW(LIMIT, FNZ_BAD_INPUT)    /* larger or deeper than a limit allows */                          \
  ROW(OVERFLOW, FNZ_BAD_INPUT) /* arithmetic on sizes leaves 64 bits */                            \
  ROW(BOUNDS, FNZ_BAD_INPUT)   /* a shape, index, dimension or storage range is exceeded */        \
  ROW(REF, FNZ_BAD_INPUT)      /* a name that is unknown or defined later */                       \
  ROW(TYPE, FNZ_BAD_INPUT)     /* arity, kind or dtype does not match */                           \
  ROW(OVERLAP, FNZ_BAD_INPUT)  /* a write to memory that overlaps itself or another operand */     \
  ROW(IO, FNZ_IO)                                                                                  \
  ROW(NOMEM, FNZ_NO_MEMORY)                                                                        \
  ROW(ARGUMENT, FNZ_BAD_ARGUMENT)                                                                  \
  ROW(DEVICE, FNZ_DEVICE)                                                                          \
  ROW(INTERNAL, FNZ_INTERNAL)                                                                      \
  ROW(DIFFERENT, FNZ_DIFFERENT)                                                                    \
  ROW(CANCELLED, FNZ_CANCELLED)

typedef enum fnz_class {
#define FNZ_CLASS_ENUM(name, status) FNZ_CLASS_##name,
  FNZ_CLASS_ROWS(FNZ_CLASS_ENUM)
#undef FNZ_CLASS_ENUM
      FNZ_CLASS_COUNT
} fnz_class;

/** The name as the command prints it, such as "OVERLAP". Static. */
FNZ_API const char *fnz_class_name(fnz_class c);

/** The last failure on a context. `message` is one line, printable, without a period at the end. */
typedef struct fnz_error {
  fnz_status status;
  fnz_class kind;
  char where[192];   /* node, line, record or file the failure belongs to; "" when none */
  char message[512]; /* the failure and its remedy; of fixed size, so that reporting never allocates
                      */
} fnz_error;

#ifdef __cplusplus
}
#endif
#endif
