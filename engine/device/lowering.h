/* lowering.h - GPU lowerings: launches of kernels and calls of libraries for a step.
 *
 * A *lowering* makes them from a kernel's call that is filled in: with the arguments and
 * results that the CPU's kernel gets. The column `gpu` of kernels/runs.def names the lowering of
 * each kernel. The CPU computes calls that no lowering takes.
 *
 *   text.c         steps of a binding -> works, and the windows that are copied
 *   other_sizes.c  the same at other sizes, to find common constants
 *   sets.c         steps that run at once
 *   lower.c        finds the lowering of a call
 *   work.c         shared by lowerings
 *   record.c       lowerings of kernels that are recorded (record.h) */
#ifndef FNZI_DEV_LOWERING_H
#define FNZI_DEV_LOWERING_H

#include "engine/device/device.h"

typedef struct fnzi_dev_builder {
  fnz_workspace *ws;
  fnzi_stp_binding *b;
  fnzi_dev_binding *d;
  fnzi_cuda_text text;
  int64_t threads; /* threads of the runs' generator; 0: it is not Philox */
  size_t nanswers; /* answers of libraries (other_sizes.c) */
} fnzi_dev_builder;

/* A lowering makes out's launches, or says why it does not (fnzi_dev_work_refuse). It fails only
 * for lack of memory or by an internal error. */
typedef fnz_status fnzi_dev_lowering(fnzi_dev_builder *m, fnzi_krn_call *call, fnzi_dev_work *out);
fnzi_dev_lowering fnzi_dev_lower_recorded, fnzi_dev_lower_drawn, fnzi_dev_lower_reduction,
    fnzi_dev_lower_along_dim, fnzi_dev_lower_layer_norm, fnzi_dev_lower_addbmm,
    fnzi_dev_lower_addmm, fnzi_dev_lower_attention, fnzi_dev_lower_batch_norm, fnzi_dev_lower_conv,
    fnzi_dev_lower_group_norm, fnzi_dev_lower_linear, fnzi_dev_lower_matmul, fnzi_dev_lower_vdot;

/* --- other_sizes.c ---------------------------------------------------------------------------- */
/* Opens the data of a workspace about other sizes. Call once. */
FNZ_MUST_CHECK fnz_status fnzi_dev_sizes_open(fnz_workspace *ws, fnzi_cuda_tables **out);
/* Returns whether some kernels of `b` are fresh, so that plans at other sizes may find constants
 * for them. */
bool fnzi_dev_sizes_needed(const fnz_workspace *ws, const fnzi_stp_binding *b);
/* Makes plans at other sizes for these kernels; `meet` compares the kernels of one plan. */
typedef fnz_status fnzi_dev_compare(fnz_workspace *ws, fnzi_stp_binding *other,
                                    fnzi_cuda_tables *tables);
FNZ_MUST_CHECK fnz_status fnzi_dev_sizes_compare(fnz_workspace *ws, const fnzi_stp_binding *b,
                                                 fnzi_dev_compare *compare);
/* Notes the answer of a library for a plan that runs; returns the next noted answer to a plan that
 * is only compared with it. */
FNZ_MUST_CHECK fnz_status fnzi_dev_answer_note(fnzi_dev_builder *m, bool answer);
bool fnzi_dev_answer_next(fnzi_dev_builder *m);

/* --- sets.c ----------------------------------------------------------------------------------- */
/* Joins the works of `count` steps that run at once: the first work gets the launches. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_sets(fnzi_dev_builder *m, size_t step, uint32_t count,
                                             fnzi_dev_work *works);

/* --- lower.c ---------------------------------------------------------------------------------- */
/* By the lowering of the call's kernel; of one without a lowering the work stays empty. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_lower(fnzi_dev_builder *m, fnzi_krn_call *call,
                                              fnzi_dev_work *out);
/* --- work.c ----------------------------------------------------------------------------------- */
/* Leaves the step to the CPU. `why`, a static string, is printed by explain. Returns OK, for
 * callers to return. */
fnz_status fnzi_dev_work_refuse(fnzi_dev_work *work, const char *why);

/* An operand of a launch. */
typedef struct fnzi_dev_operand {
  uint32_t buffer; /* or a mark (device.h) */
  int64_t offset;  /* bytes */
} fnzi_dev_operand;

/* Finds the address of the element with all indices 0; false: in no buffer of the plan. */
bool fnzi_dev_operand_of(const fnzi_dev_builder *m, const fnzi_krn_array *array,
                         fnzi_dev_operand *out);

/* Adds a launch of kernel `kernel` of m->text, which was requested last, over `count` (run.h). */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_launch(fnzi_dev_builder *m, fnzi_dev_work *work,
                                               uint32_t kernel, int64_t count,
                                               const fnzi_dev_operand *operands,
                                               uint32_t noperands);
/* Elements of the dtype in two places: strides in bytes, but where it says otherwise. */
typedef struct fnzi_dev_elements {
  fnz_dtype dtype;
  uint32_t rank;
  const int64_t *sizes, *from, *to;
} fnzi_dev_elements;
/* The same of a kernel that copies elements, bit by bit, from one operand to the other. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_copy(fnzi_dev_builder *m, fnzi_dev_work *work,
                                             const fnzi_dev_elements *what,
                                             const fnzi_dev_operand operands[2]);
/* The same of a library: `call` gets `what`, which is in the arena of the binding, and the
 * operands' addresses. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_call(fnzi_dev_builder *m, fnzi_dev_work *work,
                                             fnzi_dev_library_call *call, const void *what,
                                             const fnzi_dev_operand *operands, uint32_t noperands);
/* Makes the launches of a work do nothing if the flag is set. All must be kernels. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_guard(fnzi_dev_builder *m, fnzi_dev_work *work);
/* Guards works of a binding, so that a run in which the flag is set does not change the state
 * (flag.c). */
FNZ_MUST_CHECK fnz_status fnzi_dev_works_guard(fnzi_dev_builder *m);
/* Computes `drawn` of all works: random numbers drawn since the last step of the CPU. */
void fnzi_dev_works_number_draws(fnzi_dev_builder *m);
/* Returns the largest power of two, up to 16, that divides an address, for lanes of a group. */
uint8_t fnzi_dev_aligned(int64_t offset);
/* Reserves `bytes` more of the step's scratch (FNZI_DEV_AT_SCRATCH). *at: their offset, a multiple
 * of 256. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_scratch(fnzi_dev_builder *m, fnzi_dev_work *work,
                                                size_t bytes, int64_t *offset);

/* --- attention.c ------------------------------------------------------------------------------ */
/* Makes the work of an attention call. `kept` has a byte for each score, 1 if dropout keeps it;
 * kept scores are multiplied by the factor. NULL: no dropout. *why: why the CPU must compute it,
 * else NULL. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_attention(fnzi_dev_builder *m, const fnzi_krn_call *call,
                                                  const fnzi_dev_operand *kept, double factor,
                                                  fnzi_dev_work *out, const char **why);

/* --- product.c -------------------------------------------------------------------------------- */
struct fnzi_krn_products;
/* Makes the work of dense products that a kernel records; operands a, b and c. *why: why the CPU
 * must compute them, else NULL. */
FNZ_MUST_CHECK fnz_status fnzi_dev_work_products(fnzi_dev_builder *m, fnzi_dev_work *work,
                                                 const struct fnzi_krn_products *products,
                                                 const fnzi_dev_operand operands[3],
                                                 const char **why);

#endif
