/* verdict.c - a verdict of WRONG with its reason, for all parts of the judge. */
#include "soak/refusals.h"

#include <stdarg.h>
#include <stdio.h>

fnzi_verdict fnzi_judge_wrong(fnzi_judge *t, const char *kind, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(t->reason, sizeof t->reason, format, ap);
  va_end(ap);
  snprintf(t->kind, sizeof t->kind, "%s", kind);
  return FNZI_VERDICT_WRONG;
}

fnzi_verdict fnzi_judge_failed(fnzi_judge *t, const char *kind) {
  const fnz_error *e = fnz_last_error(t->ctx);
  return fnzi_judge_wrong(t, kind, "%s: %s: %s", fnz_class_name(e->kind), e->where, e->message);
}

const fnzi_run_options fnzi_judge_unknowns = {.seed = 1};
