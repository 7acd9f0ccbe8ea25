/* worker.c - draws programs and judges them. */
#include "soak/worker.h"

#include "soak/refusals.h"

fnz_status fnzi_worker_open(fnzi_worker *w, bool plants) {
  memset(w, 0, sizeof *w);
  fnzi_heap_init(&w->heap);
  const fnz_allocator allocator = fnzi_heap_allocator(&w->heap);
  FNZ_TRY(fnz_context_create(&allocator, &w->ctx));
  FNZ_TRY(fnz_meta_backend_create(w->ctx, &w->meta));
  if (plants)
    FNZ_TRY(fnzi_planter_create(w->ctx, &w->planter));
  return fnzi_judge_create(w->ctx, &w->judge);
}

void fnzi_worker_close(fnzi_worker *w) {
  fnzi_planter_destroy(w->planter);
  fnzi_judge_destroy(w->judge);
  fnz_backend_destroy(w->meta);
  fnz_context_destroy(w->ctx);
  fnzi_heap_free(&w->heap);
}

static fnzi_verdict try_symbolic(fnzi_worker *w, choices *c, unsigned checks,
                                 fnzi_random_counts *counts, fnz_program **p) {
  memset(w->draws, 0, sizeof w->draws);
  if (fnzi_symbolic_program(w->ctx, c, counts, p) != FNZ_OK)
    return fnzi_judge_nothing(w->judge);
  return fnzi_judge_symbolic(w->judge, *p, checks, w->draws);
}

static fnz_status worker_draw(fnzi_worker *w, choices *c, fnzi_random_counts *counts,
                              fnz_program **p) {
  return w->kind == FNZI_SOAK_REGIONS ? fnzi_regions_program(w->ctx, c, counts, p)
                                      : fnzi_random_program(w->ctx, w->meta, c, counts, p);
}

static fnzi_verdict try_plain(fnzi_worker *w, choices *c, unsigned checks,
                              fnzi_random_counts *counts, fnz_program **p) {
  fnz_arrays *inputs = NULL;
  bool made = worker_draw(w, c, counts, p) == FNZ_OK &&
              fnzi_random_inputs(w->ctx, *p, 5, &inputs) == FNZ_OK;
  fnzi_verdict v =
      made ? fnzi_judge_program(w->judge, *p, inputs, checks) : fnzi_judge_nothing(w->judge);
  fnz_arrays_destroy(inputs);
  return v;
}

static fnz_status draw_any(fnzi_worker *w, choices *c, fnzi_random_counts *counts,
                           fnz_program **p) {
  return w->kind == FNZI_SOAK_SYMBOLIC ? fnzi_symbolic_program(w->ctx, c, counts, p)
                                       : worker_draw(w, c, counts, p);
}

/* WRONG when verification misses a mistake. */
static fnzi_verdict try_plants(fnzi_worker *w, choices *c, fnzi_random_counts *counts,
                               fnz_program **p) {
  const fnz_program *program = w->given;
  bool missed;
  if (!program && draw_any(w, c, counts, p) != FNZ_OK)
    return fnzi_judge_nothing(w->judge);
  if (fnzi_planter_try(w->planter, program ? program : *p, w->seed, &missed) != FNZ_OK)
    return fnzi_judge_nothing(w->judge);
  return missed ? fnzi_judge_wrong(w->judge, fnzi_plant_name(w->planter->missed), "%s",
                                   w->planter->what)
                : FNZI_VERDICT_EQUAL;
}

fnzi_verdict fnzi_worker_try(fnzi_worker *w, choices *c, unsigned checks,
                             fnzi_random_counts *counts, fnz_buffer *text) {
  fnz_program *p = NULL;
  fnzi_verdict v = w->planter                      ? try_plants(w, c, counts, &p)
                   : w->kind == FNZI_SOAK_SYMBOLIC ? try_symbolic(w, c, checks, counts, &p)
                                                   : try_plain(w, c, checks, counts, &p);
  const fnz_program *shown = p ? p : w->given;
  if (text && shown && fnz_program_write(w->ctx, shown, FNZ_FORMAT_TEXT, text) != FNZ_OK)
    v = fnzi_judge_nothing(w->judge);
  fnz_program_destroy(p);
  return v;
}
