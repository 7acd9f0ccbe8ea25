/* scalars.h - data-dependent scalars as operands of steps.
 *
 * Entries are made while the binding is, and live as long. In a run each is filled in once, by the
 * thread that has the workspace. A scalar of another kind or dtype than planned fails with
 * INTERNAL, a value that the operator refuses with the error of its shape rule. */
#ifndef FNZI_STP_SCALARS_H
#define FNZI_STP_SCALARS_H

#include "engine/steps/steps.h"

/* A call with data-dependent scalars. They are filled in when the last of them is known, before the
 * step of the call runs. */
struct fnzi_stp_scalar_call {
  struct fnzi_stp_scalar_call *next;       /* whose last scalar is known at the same time; NULL */
  const struct fnzi_stp_scalar_call *same; /* an earlier entry of the list, of a node of the same
                                         kind, so that a group reads the same scalars; NULL: none */
  uint32_t node;
  bool in_cells; /* or of a call that a GPU may compute: its shape rule is checked when the scalars
                    are known; else before the kernel runs */
  fnzi_krn_call *call;
  fnz_arg *args;                           /* of the call */
  const uint64_t *values;                  /* per argument that is such a scalar */
  const struct fnzi_meta_point_code *code; /* of a group: its row of point.def; NULL: no such row,
                                              or no group */
  struct {
    bool is_used;    /* of a group: operand k of the row or choice is such a scalar */
    uint8_t arg;     /* without code: index of its argument */
    fnz_dtype dtype; /* converted to */
    size_t offset;   /* bytes from the start of b->scalar_cells */
  } cells[4];
};

/* Call before steps are made. */
FNZ_MUST_CHECK fnz_status fnzi_stp_scalars_open(fnz_workspace *ws, fnzi_stp_binding *b);
/* Adds a call of a node with such scalars. The call must live as long as the binding. */
FNZ_MUST_CHECK fnz_status fnzi_stp_scalar_call_add(fnz_workspace *ws, fnzi_stp_binding *b,
                                                   uint32_t node, fnzi_krn_call *call,
                                                   fnzi_stp_scalar_call **out);
/* Adds a copy of a call that becomes a part of a group. */
FNZ_MUST_CHECK fnz_status fnzi_stp_scalar_call_copy(fnz_workspace *ws, fnzi_stp_binding *b,
                                                    uint32_t node, const fnzi_krn_call *call,
                                                    fnzi_stp_scalar_call **out);
/* Makes an array of one element for operand k. */
FNZ_MUST_CHECK fnz_status fnzi_stp_scalar_cell(fnz_workspace *ws, fnzi_stp_binding *b,
                                               fnzi_stp_scalar_call *scalars, uint32_t k,
                                               fnz_dtype dtype, fnzi_krn_array **out);
/* Gives cells to the scalars that become elements of the result, for a call that a GPU computes and
 * that reads no other scalars. */
FNZ_MUST_CHECK fnz_status fnzi_stp_scalar_cells_add(fnz_workspace *ws, fnzi_stp_binding *b,
                                                    fnzi_stp_scalar_call *scalars);
/* Finds the offset of argument k of a call in b->scalar_cells; false: it has no cell. */
FNZI_SHARED bool fnzi_stp_scalar_find(const fnzi_stp_binding *b, const fnzi_krn_call *call,
                                      uint32_t k, fnz_dtype dtype, size_t *at);
/* Allocates memory. Call when all steps are made. */
FNZ_MUST_CHECK fnz_status fnzi_stp_scalars_close(fnzi_stp_binding *b);
/* Checks the shape rule of a call with the scalars of the run. */
FNZ_MUST_CHECK fnz_status fnzi_stp_scalar_call_check(fnz_workspace *ws, const fnzi_krn_call *call);
/* Fills in the scalars that `node` has just computed. Call after each run of the node. */
FNZ_MUST_CHECK fnz_status fnzi_stp_scalars_fill(fnz_workspace *ws, fnzi_stp_binding *b,
                                                uint32_t node);

#endif
