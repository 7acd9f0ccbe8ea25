/* refusals.c - whether the pass and the aliasing run refuse the same program for the same reason.
 */
#include "soak/refusals.h"

#include <stdio.h>

typedef fnzi_judge judge;
typedef fnzi_verdict verdict;

/* Why the aliasing run refuses over hashes, where there are no kernels. */
static fnz_error refusal_over_hashes(judge *t) {
  const fnz_error none = {.kind = FNZ_CLASS_NONE};
  fnzi_ver_results_start(&t->hashes, t->original, false);
  return fnzi_ver_results_keep(&t->hashes, t->hash[1], &fnzi_judge_unknowns)
             ? *fnz_last_error(t->ctx)
             : none;
}

/* The refusal by a run of the functional program, which the pass did make. */
static fnz_class refusal_of_kernels(judge *t) {
  const fnzi_run_options options = {.inputs = t->inputs, .emit = fnzi_run_emit_nothing};
  fnz_status status = fnzi_run_functional(t->ctx, t->functional, t->cpu, &options);
  return status ? fnz_last_error(t->ctx)->kind : FNZ_CLASS_NONE;
}

/* Refused by both, and as the same class: by the pass, or by a kernel. */
verdict fnzi_compare_refusals(judge *t, const fnzi_refusal *refused, fnz_status eager) {
  const fnz_class pass = refused->error.kind;
  /* Eager refuses over numbers, or over hashes if the CPU has no kernel for an earlier step. */
  const fnz_error none = {.kind = FNZ_CLASS_NONE};
  const fnz_error e = eager == FNZ_UNSUPPORTED ? refusal_over_hashes(t)
                      : eager                  ? *fnz_last_error(t->ctx)
                                               : none;
  t->refusal = e.kind ? e.kind : pass;
  if (pass == e.kind || (!pass && refusal_of_kernels(t) == e.kind))
    return FNZI_VERDICT_REFUSED;
  if (refused->reason == FNZI_REASON_NO_ROUTE) /* eager goes on, to something else */
    return e.kind ? FNZI_VERDICT_REFUSED : FNZI_VERDICT_BEYOND;
  /* Eager's kernel refuses a step that the result leaves out, as nothing depends on it: over
   * hashes, where there are no kernels, both are the same. */
  if (!pass && refusal_of_kernels(t) == FNZ_CLASS_NONE &&
      refusal_over_hashes(t).kind == FNZ_CLASS_NONE &&
      fnzi_ver_results_meet(&t->hashes, t->functional, t->hash[1], &fnzi_judge_unknowns) == FNZ_OK)
    return FNZI_VERDICT_UNREAD;
  /* A call that is wrong in two ways: a kernel has found the other one first. */
  if (pass && e.kind && refusal_over_hashes(t).kind == pass)
    return FNZI_VERDICT_REFUSED;
  /* The call that ends a program records its target's type, whatever it gives: wrong types are
   * refused before any of these two begins. */
  if (fnz_program_check_types(t->ctx, t->original, NULL, NULL) &&
      fnz_last_error(t->ctx)->kind == FNZ_CLASS_TYPE)
    return FNZI_VERDICT_REFUSED;
  char kind[48];
  snprintf(kind, sizeof kind, "refusal %s %s", fnz_class_name(pass), fnz_class_name(e.kind));
  return fnzi_judge_wrong(t, kind, "the pass says %s (%s), the aliasing run says %s (%s)",
                          fnz_class_name(pass), refused->error.message, fnz_class_name(e.kind),
                          e.message);
}
