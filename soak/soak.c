/* soak.c - many random programs, shared among threads. */
#include "soak/soak.h"
#include "soak/worker.h"

#include <pthread.h>
#include <stdlib.h>

/* State that the threads share. */
typedef struct soak {
  const fnzi_soak_options *options;
  pthread_mutex_t lock; /* of what follows, and of the caller's functions */
  uint64_t done;
  size_t wrong;
  bool cancelled;
  bool reported[FNZI_PLANTS]; /* of mistakes: one of that kind */
} soak;

typedef struct part {
  soak *all;
  size_t k, jobs;
  fnz_status status;
  fnzi_soak_report report;
  fnzi_worker worker;
} part;

static unsigned checks_of(const fnzi_soak_options *o, uint64_t index) {
  enum { BOTH = FNZI_CHECK_KEEP | FNZI_CHECK_STRIDED };
  unsigned leaves_out = FNZI_CHECK_THOROUGH;
  if (index % FNZI_SOAK_THOROUGH == 0)
    return o->checks;
  if ((o->checks & BOTH) == BOTH)
    leaves_out |= index % 2 ? FNZI_CHECK_KEEP : FNZI_CHECK_STRIDED;
  if (o->kind == FNZI_SOAK_PLAIN && o->checks != FNZI_CHECK_ENGINE && index % FNZI_SOAK_ENGINE != 0)
    leaves_out |= FNZI_CHECK_ENGINE;
  return o->checks & ~leaves_out;
}

/* --- What is found ---------------------------------------------------------------------------- */

static void soak_report(part *p, uint64_t index, unsigned checks) {
  const fnzi_soak_options *o = p->all->options;
  fnzi_worker *w = &p->worker;
  fnz_buffer text = {0};
  fnzi_random_counts *ignored = fnzi_resize(w->ctx, NULL, 0, sizeof *ignored);
  if (w->planter)
    w->planter->only = (int)w->planter->missed;
  if (!o->keep_size && !w->given)
    fnzi_worker_shrink(w, checks);
  choices_replay(&w->at_hand);
  if (ignored) {
    memset(ignored, 0, sizeof *ignored);
    fnzi_worker_try(w, &w->at_hand, checks, ignored, &text);
  }
  const fnzi_finding finding = {index, w->judge->kind, w->judge->reason, text.data ? text.data : "",
                                w->planter ? w->planter->wrong.data : NULL};
  pthread_mutex_lock(&p->all->lock);
  if (o->found)
    o->found(o->user, &finding);
  pthread_mutex_unlock(&p->all->lock);
  if (w->planter)
    w->planter->only = -1;
  fnz_buffer_free(w->ctx, &text);
  fnzi_free(w->ctx, ignored, sizeof *ignored);
}

static size_t most_wrong(const soak *s) {
  return s->options->most_wrong ? s->options->most_wrong : 1;
}

/* One more is wrong; false when others were enough. */
static bool is_wanted(soak *s, const fnzi_worker *w) {
  pthread_mutex_lock(&s->lock);
  bool *reported = w->planter ? &s->reported[w->planter->missed] : NULL;
  bool wanted = reported ? !*reported : s->wrong < most_wrong(s);
  if (reported)
    *reported = true;
  s->wrong += wanted;
  pthread_mutex_unlock(&s->lock);
  return wanted;
}

/* One more program is done; false when enough are wrong, or the caller ends the run. */
static bool go_on(part *p) {
  soak *s = p->all;
  pthread_mutex_lock(&s->lock);
  s->done++;
  if (!s->cancelled && s->options->progress)
    s->cancelled = !s->options->progress(s->options->user, s->done);
  bool goes_on = !s->cancelled && (s->options->plants || s->wrong < most_wrong(s));
  pthread_mutex_unlock(&s->lock);
  return goes_on;
}

/* --- One thread ------------------------------------------------------------------------------- */

static fnzi_verdict try_program(part *p, uint64_t index, unsigned checks) {
  const fnzi_soak_options *o = p->all->options;
  fnzi_worker *w = &p->worker;
  choices_start(&w->at_hand, o->seed, index);
  w->seed = w->at_hand.state;
  if (o->kind == FNZI_SOAK_GIVEN)
    w->given = o->given[index % o->ngiven];
  if (w->planter)
    memset(&w->planter->counts, 0, sizeof w->planter->counts);
  fnzi_verdict v = fnzi_worker_try(w, &w->at_hand, checks, &p->report.drawn, NULL);
  p->report.verdicts[v]++;
  if (v == FNZI_VERDICT_REFUSED || v == FNZI_VERDICT_BEYOND)
    p->report.refusals[w->judge->refusal]++;
  fnzi_counts_add(p->report.draws, w->draws, FNZI_VERDICTS);
  fnzi_planter *planter = p->worker.planter;
  if (planter) {
    fnzi_plant_counts_add(&p->report.plants, &planter->counts);
    memset(&planter->counts, 0, sizeof planter->counts);
  }
  fnzi_soak_report *r = &p->report;
  r->keep += (checks & FNZI_CHECK_KEEP) != 0;
  r->strided += (checks & FNZI_CHECK_STRIDED) != 0;
  r->thorough += (checks & FNZI_CHECK_THOROUGH) != 0;
  r->engine += (checks & FNZI_CHECK_ENGINE) != 0;
  return v;
}

static uint64_t next_of(const part *p, uint64_t i) {
  return ++i % FNZI_SOAK_THOROUGH ? i : i + (p->jobs - 1) * FNZI_SOAK_THOROUGH;
}

static void run_part(part *p) {
  const fnzi_soak_options *o = p->all->options;
  /* A part has every n-th block of programs, so that all parts get some of the thorough ones. */
  for (uint64_t i = p->k * FNZI_SOAK_THOROUGH; i < o->count; i = next_of(p, i)) {
    unsigned checks = checks_of(o, o->first + i);
    bool is_wrong = try_program(p, o->first + i, checks) == FNZI_VERDICT_WRONG;
    if (p->worker.heap.ran_out) {
      p->status = FNZ_NO_MEMORY;
      return;
    }
    if (is_wrong && is_wanted(p->all, &p->worker))
      soak_report(p, o->first + i, checks);
    if (!go_on(p))
      return;
  }
}

static void *run_thread(void *argument) {
  part *p = argument;
  const fnzi_soak_options *o = p->all->options;
  p->status = fnzi_worker_open(&p->worker, o->plants);
  p->worker.kind = o->kind;
  if (p->status == FNZ_OK)
    run_part(p);
  fnzi_worker_close(&p->worker);
  return NULL;
}

/* --- All of them ------------------------------------------------------------------------------ */

/* The first part is the caller's own. */
static fnz_status run_parts(part *parts, size_t jobs) {
  pthread_t *threads = calloc(jobs, sizeof *threads);
  fnz_status status = threads ? FNZ_OK : FNZ_NO_MEMORY;
  size_t started = 1;
  for (; status == FNZ_OK && started < jobs; started++)
    if (pthread_create(&threads[started], NULL, run_thread, &parts[started]))
      break;
  if (status == FNZ_OK && started < jobs)
    status = FNZ_IO;
  if (status == FNZ_OK)
    run_thread(&parts[0]);
  for (size_t k = 1; threads && k < started; k++)
    pthread_join(threads[k], NULL);
  free(threads);
  return status;
}

fnz_status fnzi_soak_run(const fnzi_soak_options *options, fnzi_soak_report *out) {
  size_t jobs = options->jobs ? options->jobs : 1;
  soak all = {.options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
  memset(out, 0, sizeof *out);
  out->kind = options->kind;
  part *parts = calloc(jobs, sizeof *parts);
  if (!parts)
    return FNZ_NO_MEMORY;
  for (size_t k = 0; k < jobs; k++) {
    parts[k].all = &all;
    parts[k].k = k;
    parts[k].jobs = jobs;
  }
  fnz_status status = run_parts(parts, jobs);
  for (size_t k = 0; k < jobs; k++) {
    const fnzi_soak_report *from = &parts[k].report;
    fnzi_random_counts_add(&out->drawn, &from->drawn);
    fnzi_counts_add(out->verdicts, from->verdicts, FNZI_VERDICTS);
    fnzi_counts_add(out->refusals, from->refusals, FNZ_CLASS_COUNT);
    fnzi_counts_add(out->draws, from->draws, FNZI_VERDICTS);
    fnzi_plant_counts_add(&out->plants, &from->plants);
    out->keep += from->keep;
    out->strided += from->strided;
    out->thorough += from->thorough;
    out->engine += from->engine;
    if (status == FNZ_OK)
      status = parts[k].status;
  }
  free(parts);
  return status == FNZ_OK && all.cancelled ? FNZ_CANCELLED : status;
}
