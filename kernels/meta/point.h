/* point.h - which row of point.def computes a pointwise operator, and what eager refuses of its
 * operands. */
#ifndef FNZI_META_POINT_H
#define FNZI_META_POINT_H

#include "kernels/meta/meta.h"

enum { FNZI_POINT_OPERANDS = 4, FNZI_POINT_CHUNK = 512 };

/* A dense loop over any number of elements; out may be one of the inputs. */
typedef void fnzi_meta_point_fn(void *out, const void *const *in, int64_t count);

/* The same, where each operand whose bit is in `same` is one element, which all elements of the
 * result have. */
typedef void fnzi_meta_same_fn(void *out, const void *const *in, uint32_t same, int64_t count);

/* A row in a chain: rows one after another over a block of elements, with the first operand of each
 * in vector registers. Its function is called by the one before it. */
typedef void fnzi_meta_link_fn(void);
typedef struct fnzi_meta_link {
  fnzi_meta_link_fn *run;
  uint16_t in[FNZI_POINT_OPERANDS - 1]; /* slots of the other operands in their order */
} fnzi_meta_link;

/* The links of chains of a class besides rows: links that load from a slot, store to one, and end.
 * `load_truths` and `store_truths` do so with bytes of bool, which registers hold as masks;
 * `count_truths` makes numbers of the class of masks. `choose` takes its first operand if the mask
 * is set and else the second, by which of mask, first and second the link before left.
 * `widen` and `narrow` load and store f16 [0] and bf16 [1], as fnzi_krn_convert() [0] and as
 * fnzi_krn_convert_kept() [1]; NULL: there is none. `ahead` reads nothing, but brings memory behind
 * its operand to the cache. `run` runs a chain over `count` elements of the slots, a multiple of
 * `elements`. */
typedef struct fnzi_meta_chains {
  int64_t elements;
  fnz_dtype dtype; /* the class */
  fnzi_meta_link_fn *load, *store, *ahead, *end;
  fnzi_meta_link_fn *load_truths, *store_truths, *count_truths, *choose[3];
  fnzi_meta_link_fn *widen[2][2], *narrow[2][2];
  void (*run)(const fnzi_meta_link *first, unsigned char *const *slots, int64_t count);
} fnzi_meta_chains;

/* A row as a link, by the operand that the link before left; NULL behind its operands. */
typedef struct fnzi_meta_links {
  const fnzi_meta_chains *chains; /* of its class */
  fnzi_meta_link_fn *at[FNZI_POINT_OPERANDS];
} fnzi_meta_links;

/* Operands of integers that eager refuses. */
typedef enum fnzi_meta_point_check {
  FNZI_POINT_PLAIN,    /* nothing */
  FNZI_POINT_NOT_BOOL, /* bool */
  FNZI_POINT_DIVIDES,  /* zero as the second operand */
  FNZI_POINT_POWER     /* a negative number as the second operand */
} fnzi_meta_point_check;

/* Which row computes an operator, and of what. */
typedef struct fnzi_meta_point_choice {
  const char *name; /* of the row */
  const fnz_arg *operands[FNZI_POINT_OPERANDS];
  uint32_t noperands;
  bool by_data;                       /* a number that data decide chooses the row */
  fnz_dtype compute;                  /* the dtype that is computed */
  fnz_arg extra[FNZI_POINT_OPERANDS]; /* operands that are not among the arguments */
} fnzi_meta_point_choice;

/* A pointwise call taken apart, for who walks over the elements himself. */
typedef struct fnzi_meta_point_code {
  fnzi_meta_point_fn *run;
  fnzi_meta_same_fn *run_same;  /* NULL: there is none */
  const char *row;              /* its name */
  fnz_dtype compute;            /* the computing type of eager */
  fnz_dtype class_dtype;        /* the type that run reads */
  fnz_dtype out;                /* the type that run writes, which becomes the type of the result */
  bool keeps;                   /* conversions keep the bits of NaN: fnzi_krn_convert_kept() */
  const fnzi_meta_links *links; /* NULL: it is none */
  uint32_t arity;
  struct {
    int8_t arg;                           /* argument of the call; -1: a number */
    bool rounds;                          /* becomes `compute` before it becomes `class_dtype` */
    _Alignas(8) unsigned char number[16]; /* of class_dtype */
  } in[FNZI_POINT_OPERANDS];
} fnzi_meta_point_code;

/* For the operator of a call, whose results exist; `out` is empty. Operands point into `out`. */
void fnzi_meta_point_choose(const fnzi_krn_call *call, fnzi_meta_point_choice *out);

/* The class that computes a dtype; FNZ_DTYPE_COUNT when none does. */
FNZI_SHARED fnz_dtype fnzi_meta_point_class(fnz_dtype d);

/* The row takes this many operands, and operands of these types. */
FNZ_MUST_CHECK fnz_status fnzi_meta_point_check_arity(const fnzi_krn_call *call,
                                                      const fnzi_meta_point_choice *what,
                                                      uint8_t arity);
FNZ_MUST_CHECK fnz_status fnzi_meta_point_check_types(const fnzi_krn_call *call,
                                                      const fnzi_meta_point_choice *what,
                                                      fnzi_meta_point_check check);
/* Refuses operand types that the CPU refuses, for the meta backend; if no kernel is here for them,
 * another backend may have one. The result's shape is known. */
FNZ_MUST_CHECK fnz_status fnzi_meta_point_accepts(const fnzi_krn_call *call);

/* The CPU has a row for it and refuses nothing, whatever the elements are. */
bool fnzi_meta_point_is_plain(const fnzi_krn_call *call);

#endif
