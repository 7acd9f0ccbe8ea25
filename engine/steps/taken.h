/* taken.h - numbers that data decide, as operands of steps. */
#ifndef FNZI_STP_TAKEN_H
#define FNZI_STP_TAKEN_H

#include "engine/steps/steps.h"

/* A call that takes numbers which data decide. They are filled in when the last one of them is
 * known, so that its step finds them. */
struct fnzi_stp_taking {
  struct fnzi_stp_taking *next;       /* of those that are known at the same time */
  const struct fnzi_stp_taking *like; /* one before it in that list, of a node of the same kind: a
                                         group reads the same; NULL: none */
  uint32_t node;
  bool of_group; /* or of a call that a GPU may compute: what its shape rule refuses is refused when
                    numbers are known; else before the kernel runs */
  fnzi_krn_call *call;
  fnz_arg *args;                           /* of it */
  const uint64_t *values;                  /* per argument that is such a number */
  const struct fnzi_meta_point_code *code; /* of a group: what is computed; NULL: no row of
                                              point.def, or no group */
  struct {
    bool is;         /* of a group: operand k of the row or choice is a number, */
    uint8_t arg;     /* without code: this argument */
    fnz_dtype dtype; /* in this type, */
    size_t at;       /* there in b->taken */
  } cells[4];
};

/* Before steps are made. */
FNZ_MUST_CHECK fnz_status fnzi_stp_takings_open(fnz_workspace *ws, fnzi_stp_binding *b);
/* A call of a node that takes numbers, which stays where it is as long as the binding does. */
FNZ_MUST_CHECK fnz_status fnzi_stp_taking_add(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node,
                                              fnzi_krn_call *call, fnzi_stp_taking **out);
/* The same of one that a group is made of: it is copied. */
FNZ_MUST_CHECK fnz_status fnzi_stp_taking_copy(fnz_workspace *ws, fnzi_stp_binding *b,
                                               uint32_t node, const fnzi_krn_call *call,
                                               fnzi_stp_taking **out);
/* An array of one element for operand k. */
FNZ_MUST_CHECK fnz_status fnzi_stp_taking_cell(fnz_workspace *ws, fnzi_stp_binding *b,
                                               fnzi_stp_taking *taking, uint32_t k, fnz_dtype dtype,
                                               fnzi_krn_array **out);
/* The numbers that are elements of the result when a GPU computes the call, which reads no others:
 * they have cells. */
FNZ_MUST_CHECK fnz_status fnzi_stp_taking_elements(fnz_workspace *ws, fnzi_stp_binding *b,
                                                   fnzi_stp_taking *taking);
/* Where argument k of a call is in b->taken; false: it has no cell. */
bool fnzi_stp_taking_find(const fnzi_stp_binding *b, const fnzi_krn_call *call, uint32_t k,
                          fnz_dtype dtype, size_t *at);
/* When all steps are made: there is memory. */
FNZ_MUST_CHECK fnz_status fnzi_stp_takings_close(fnzi_stp_binding *b);
/* The call of a step that takes numbers, with those of the run: what its shape rule refuses. */
FNZ_MUST_CHECK fnz_status fnzi_stp_taken_check(fnz_workspace *ws, const fnzi_krn_call *call);
/* The node has run. */
FNZ_MUST_CHECK fnz_status fnzi_stp_takings_fill(fnz_workspace *ws, fnzi_stp_binding *b,
                                                uint32_t node);

#endif
