/* plant.c - makes mistakes in the functional form of one program, and asks verification for each.
 *
 * needs   a program that is equal to its functional form
 * gives   what became of each mistake; of the first one that was missed its text
 *
 * The functional form goes through text for each mistake, so that what is compared was read, and so
 * checked, as a file is. Text has no bytes of weights: these are handed over. */
#include "soak/plant.h"

#include "soak/choices.h"
#include "soak/plant_edit.h"
#include "soak/plant_runs.h"

typedef fnzi_planter planter;

typedef enum excuse { NEVER, NONE, RUN, SIZES } excuse;

typedef struct row {
  const char *name;
  fnzi_plant_fn *plant;
  excuse excuse;
} row;

static const row rows[FNZI_PLANTS] = {
#define PLANT(id, name, plant, excuse) {name, plant, excuse},
#include "soak/plants.def"
#undef PLANT
};

const char *fnzi_plant_name(size_t kind) {
  return rows[kind].name;
}

/* --- copies ---------------------------------------------------------------------------------- */
/* A program as it is read from the text, with the weights of `from`. */
static fnz_status read_copy(planter *pl, const fnz_buffer *text, const fnz_program *from,
                            fnz_program **out) {
  FNZ_TRY(fnz_program_read(pl->ctx, text->data, text->size, FNZ_FORMAT_TEXT, out));
  for (size_t i = 0; i < (*out)->weights.count; i++) {
    fnzi_weight *w = &(*out)->weights.data[i];
    const fnzi_weight *own = fnzi_weight_find(from, w->name);
    if (own && own->blob && !w->blob)
      w->blob = fnzi_blob_retain(own->blob);
  }
  return FNZ_OK;
}

static fnz_status write_text(planter *pl, const fnz_program *p, fnz_buffer *out) {
  fnz_buffer_free(pl->ctx, out);
  *out = (fnz_buffer){0};
  return fnz_program_write(pl->ctx, p, FNZ_FORMAT_TEXT, out);
}

/* --- one mistake ----------------------------------------------------------------------------- */
typedef struct mistake {
  const row *kind;
  fnzi_planting planting;
  fnz_buffer text;
  fnz_program *wrong; /* NULL: it would not be a program */
} mistake;

static bool is_limit(fnz_status status) {
  return status == FNZ_NO_MEMORY;
}

/* A program that a reader or the check of types refuses is no mistake in meaning. */
static fnz_status make_mistake(planter *pl, mistake *m, uint64_t place, uint64_t seed) {
  m->planting = (fnzi_planting){.wanted = place, .state = seed};
  m->wrong = NULL;
  FNZ_TRY(read_copy(pl, &pl->text, pl->functional, &m->planting.p));
  fnz_status status = m->kind->plant(&m->planting);
  if (status == FNZ_OK && m->planting.what[0]) {
    status = write_text(pl, m->planting.p, &m->text);
    if (status == FNZ_OK)
      status = read_copy(pl, &m->text, m->planting.p, &m->wrong);
    if (status == FNZ_OK)
      status = fnz_program_check_types(pl->ctx, m->wrong, NULL, NULL);
  }
  fnz_program_destroy(m->planting.p);
  m->planting.p = NULL;
  if (status == FNZ_OK)
    return FNZ_OK;
  fnz_program_destroy(m->wrong);
  m->wrong = NULL;
  return is_limit(status) ? status : FNZ_OK;
}

/* --- excuses --------------------------------------------------------------------------------- */
static fnz_status judge_pair(planter *pl, const mistake *m, fnzi_plant_verdict *out) {
  const bool by_sizes = m->kind->excuse == SIZES;
  const fnzi_plant_pair pair = {
      .ctx = pl->ctx,
      .cpu = pl->cpu,
      .draws = pl->draws,
      .first = by_sizes ? pl->against : pl->functional,
      .second = m->wrong,
      .is_original = by_sizes && pl->against == pl->original,
      .by_sizes = by_sizes,
      .by_failures = m->kind->plant == fnzi_plant_assert_scalar ||
                     m->kind->plant == fnzi_plant_assert_operator ||
                     m->kind->plant == fnzi_plant_assert_constant,
  };
  return fnzi_plant_judge(&pair, by_sizes ? 4 * FNZI_PLANT_RUNS : FNZI_PLANT_RUNS, out);
}

static fnz_status excuse_of(planter *pl, const mistake *m, fnzi_fate *out) {
  fnzi_plant_verdict verdict;
  bool is = m->kind->excuse != NEVER &&
            fnz_program_compare(pl->ctx, pl->functional, m->wrong, NULL) == FNZ_OK;
  *out = is ? FNZI_FATE_SAME : FNZI_FATE_MISSED;
  if (is || m->kind->excuse == NONE || m->kind->excuse == NEVER)
    return FNZ_OK;
  FNZ_TRY(judge_pair(pl, m, &verdict));
  if (verdict == FNZI_PLANT_APART)
    return FNZ_OK;
  *out = verdict == FNZI_PLANT_ALIKE    ? FNZI_FATE_ALIKE
         : verdict == FNZI_PLANT_BROKEN ? FNZI_FATE_REFUSED
                                        : FNZI_FATE_UNRUN;
  if (verdict == FNZI_PLANT_BROKEN)
    return FNZ_OK;
  if (m->kind->excuse == RUN) {
    /* The same expressions, once both are functionalized again. */
    fnz_program *again = NULL;
    fnz_status status = FNZ_OK;
    is = false;
    if (!pl->simple)
      status = fnz_functionalize(pl->ctx, pl->functional, NULL, &pl->simple);
    if (status == FNZ_OK)
      status = fnz_functionalize(pl->ctx, m->wrong, NULL, &again);
    if (status == FNZ_OK)
      is = fnz_program_compare(pl->ctx, pl->simple, again, NULL) == FNZ_OK;
    fnz_program_destroy(again);
    if (is_limit(status))
      FNZ_TRY(status);
  }
  *out = is ? FNZI_FATE_SAME : *out;
  return FNZ_OK;
}

/* Mistakes of the library are no answers. */
static fnz_status judge(planter *pl, const mistake *m, fnzi_fate *out) {
  fnz_verify_report report = FNZ_VERIFY_REPORT_INIT;
  fnz_status status = fnz_verify(pl->ctx, pl->against, m->wrong, NULL, NULL, &report);
  if (is_limit(status))
    return status;
  if (status == FNZ_OK)
    FNZ_TRY(excuse_of(pl, m, out));
  static fnzi_plant_fn *const all[] = {fnzi_plant_strides,       fnzi_plant_memory_format,
                                       fnzi_plant_alias_window,  fnzi_plant_alias_added,
                                       fnzi_plant_alias_dropped, fnzi_plant_alias_other};
  bool is_of_memory = false;
  for (size_t i = 0; !is_of_memory && i < sizeof all / sizeof *all; i++)
    is_of_memory = m->kind->plant == all[i];
  /* The report may say that it has not compared where values are stored. */
  if (status == FNZ_OK && *out == FNZI_FATE_MISSED && is_of_memory && report.not_compared[0])
    *out = FNZI_FATE_OPEN;
  if (status == FNZ_OK)
    return FNZ_OK;
  *out = status == FNZ_DIFFERENT  ? FNZI_FATE_DIFFERENT
         : status == FNZ_INTERNAL ? FNZI_FATE_MISSED
                                  : FNZI_FATE_REFUSED;
  return FNZ_OK;
}

/* --- one kind -------------------------------------------------------------------------------- */
/* FNZI_FATES: it gives no program. */
static fnz_status try_place(planter *pl, size_t kind, uint64_t place, uint64_t seed,
                            fnzi_fate *out) {
  mistake m = {.kind = &rows[kind]};
  *out = FNZI_FATES;
  fnz_status status = make_mistake(pl, &m, place, seed);
  if (status == FNZ_OK && m.wrong)
    status = judge(pl, &m, out);
  if (status == FNZ_OK && *out == FNZI_FATE_MISSED) {
    pl->missed = (fnzi_plant_kind)kind;
    memcpy(pl->what, m.planting.what, sizeof pl->what);
    fnz_buffer_free(pl->ctx, &pl->wrong);
    pl->wrong = m.text;
    m.text = (fnz_buffer){0};
  }
  fnz_program_destroy(m.wrong);
  m.wrong = NULL;
  fnz_buffer_free(pl->ctx, &m.text);
  return status;
}

/* At one place, or at others where that gives no program that works; with pl->only at all of them
 * until one is missed. */
static fnz_status try_kind(planter *pl, size_t kind, uint64_t seed, bool *missed) {
  enum { TRIES = 4, MOST_PLACES = 16 };
  uint64_t places, state = seed ^ kind << 40, first = splitmix64(&state);
  fnzi_fate fate = FNZI_FATES, last = FNZI_FATES;
  fnzi_planting t = {.p = pl->copy, .wanted = UINT64_MAX};
  FNZ_TRY(rows[kind].plant(&t));
  places = t.places;
  const bool goes_on = pl->only >= 0;
  const uint64_t most = goes_on ? MOST_PLACES : TRIES;
  for (uint64_t i = 0; i < places && i < most; i++) {
    FNZ_TRY(try_place(pl, kind, goes_on ? i : (first % places + i) % places, first, &fate));
    last = fate == FNZI_FATES ? last : fate;
    if (fate == FNZI_FATE_MISSED || (fate != FNZI_FATES && fate != FNZI_FATE_REFUSED && !goes_on))
      break;
  }
  if (last != FNZI_FATES)
    pl->counts.fates[kind][last]++;
  *missed = last == FNZI_FATE_MISSED;
  return FNZ_OK;
}

/* --- one program ----------------------------------------------------------------------------- */
static void forget(planter *pl) {
  fnz_program_destroy(pl->functional);
  fnz_program_destroy(pl->simple);
  fnz_program_destroy(pl->copy);
  fnz_program_destroy(pl->same);
  pl->functional = pl->simple = pl->copy = pl->same = NULL;
  pl->original = pl->against = NULL;
  fnz_buffer_free(pl->ctx, &pl->text);
  pl->text = (fnz_buffer){0};
}

static fnz_status prepare(planter *pl, const fnz_program *p, bool *usable) {
  forget(pl);
  pl->original = p;
  *usable = false;
  /* Each mistake costs several runs. */
  int64_t elements = 0;
  for (uint32_t k = 0; k < p->graphs.count; k++) {
    const fnzi_graph *g = fnzi_graph_at(p, k);
    for (size_t i = 0; i < g->values.count && elements <= FNZI_PLANT_MOST_ELEMENTS; i++) {
      int64_t numel =
          g->values.data[i].geometry ? fnz_geometry_numel(g->values.data[i].geometry) : 0;
      elements += numel < FNZI_PLANT_MOST_ELEMENTS ? numel : FNZI_PLANT_MOST_ELEMENTS + 1;
    }
  }
  if (elements > FNZI_PLANT_MOST_ELEMENTS || fnz_program_stats(p).nodes > FNZI_PLANT_MOST_NODES)
    return FNZ_OK;
  fnz_status status = fnz_functionalize(pl->ctx, p, NULL, &pl->functional);
  if (status == FNZ_OK)
    status = write_text(pl, pl->functional, &pl->text);
  if (status == FNZ_OK)
    status = read_copy(pl, &pl->text, pl->functional, &pl->copy);
  if (status != FNZ_OK)
    return is_limit(status) ? status : FNZ_OK;
  /* A functional form that is for fewer sizes than its original is compared with itself. */
  pl->against = pl->original;
  status = fnz_verify(pl->ctx, pl->original, pl->copy, NULL, NULL, NULL);
  if (status != FNZ_OK && !is_limit(status)) {
    FNZ_TRY(read_copy(pl, &pl->text, pl->functional, &pl->same));
    pl->against = pl->same;
    status = fnz_verify(pl->ctx, pl->same, pl->copy, NULL, NULL, NULL);
  }
  *usable = status == FNZ_OK;
  return is_limit(status) ? status : FNZ_OK;
}

fnz_status fnzi_planter_try(planter *pl, const fnz_program *p, uint64_t seed, bool *missed) {
  bool usable;
  *missed = false;
  pl->counts.programs++;
  FNZ_TRY(prepare(pl, p, &usable));
  pl->counts.left_out += !usable;
  for (size_t kind = 0; usable && kind < FNZI_PLANTS; kind++) {
    bool here = false;
    if (pl->only >= 0 && (size_t)pl->only != kind)
      continue;
    FNZ_TRY(try_kind(pl, kind, seed, &here));
    *missed = *missed || here;
  }
  forget(pl);
  return FNZ_OK;
}

/* --- the planter ----------------------------------------------------------------------------- */
fnz_status fnzi_planter_create(fnz_context *ctx, planter **out) {
  planter *pl = fnzi_resize(ctx, NULL, 0, sizeof *pl);
  *out = pl;
  if (!pl)
    return fnzi_no_memory(ctx);
  memset(pl, 0, sizeof *pl);
  pl->ctx = ctx;
  pl->only = -1;
  FNZ_TRY(fnz_cpu_backend_create(ctx, 1, &pl->cpu));
  return fnz_generator_create(ctx, 1, &pl->draws);
}

void fnzi_planter_destroy(planter *pl) {
  if (!pl)
    return;
  forget(pl);
  fnz_buffer_free(pl->ctx, &pl->wrong);
  fnz_backend_destroy(pl->cpu);
  fnz_generator_destroy(pl->draws);
  fnzi_free(pl->ctx, pl, sizeof *pl);
}

void fnzi_plant_counts_add(fnzi_plant_counts *to, const fnzi_plant_counts *from) {
  for (size_t kind = 0; kind < FNZI_PLANTS; kind++)
    for (size_t fate = 0; fate < FNZI_FATES; fate++)
      to->fates[kind][fate] += from->fates[kind][fate];
  to->programs += from->programs;
  to->left_out += from->left_out;
}

/* --- the table ------------------------------------------------------------------------------- */
static void print_row(FILE *to, const char *prefix, const char *name, const uint64_t *counts) {
  uint64_t planted = 0;
  for (size_t fate = 0; fate < FNZI_FATES; fate++)
    planted += counts[fate];
  fprintf(to, "%s%-44s%9llu", prefix, name, (unsigned long long)planted);
  for (size_t fate = 0; fate < FNZI_FATES; fate++)
    fprintf(to, "%9llu", (unsigned long long)counts[fate]);
  fprintf(to, "\n");
}

static const char *const fates[] = {
#define FATE_NAME(id, name) name,
    FNZI_FATE_ROWS(FATE_NAME)
#undef FATE_NAME
};

static void print_programs(FILE *to, const char *prefix, const fnzi_plant_counts *counts) {
  fprintf(to, "%s%llu programs, %llu of them left out\n", prefix,
          (unsigned long long)counts->programs, (unsigned long long)counts->left_out);
}

static uint64_t count_fate(const fnzi_plant_counts *counts, size_t fate) {
  uint64_t all = 0;
  for (size_t kind = 0; kind < FNZI_PLANTS; kind++)
    all += counts->fates[kind][fate];
  return all;
}

void fnzi_plant_summary(FILE *to, const char *prefix, const fnzi_plant_counts *counts) {
  uint64_t planted = 0;
  for (size_t fate = 0; fate < FNZI_FATES; fate++)
    planted += count_fate(counts, fate);
  print_programs(to, prefix, counts);
  fprintf(to, "%s%llu mistakes planted:", prefix, (unsigned long long)planted);
  for (size_t fate = 0; fate < FNZI_FATES; fate++)
    fprintf(to, "%s %llu %s", fate ? "," : "", (unsigned long long)count_fate(counts, fate),
            fates[fate]);
  fprintf(to, "\n");
}

void fnzi_plant_print(FILE *to, const char *prefix, const fnzi_plant_counts *counts) {
  uint64_t all[FNZI_FATES];
  print_programs(to, prefix, counts);
  fprintf(to, "%s%-44s%9s", prefix, "mistake", "planted");
  for (size_t fate = 0; fate < FNZI_FATES; fate++) {
    all[fate] = count_fate(counts, fate);
    fprintf(to, "%9s", fates[fate]);
  }
  fprintf(to, "\n");
  for (size_t kind = 0; kind < FNZI_PLANTS; kind++)
    print_row(to, prefix, fnzi_plant_name(kind), counts->fates[kind]);
  print_row(to, prefix, "all", all);
}
