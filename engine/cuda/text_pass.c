/* text_pass.c - one pass over the elements of a row, as text. A pass is a function of an element,
 * and loops that call it: over the vectors of the row (text_wide.c), with a stride of the team's
 * thread count, and over the elements after the last whole vector.
 *
 * All loads of some vectors come before the first computation, so that enough bytes are in flight.
 * If a thread has few elements, values that several passes need are kept in registers. The first
 * pass that needs a value loads it; its index is constant once loops are unrolled. */
#include "engine/cuda/text_team.h"

enum {
  MOST_KEPT = 128,   /* bytes of a thread: 32 registers */
  MOST_AT_ONCE = 32, /* elements that a thread computes without a loop */
  IN_FLIGHT = 64,    /* bytes that a thread loads before it computes */
  MOST_AHEAD = 8     /* vectors */
};

/* --- Vectors ---------------------------------------------------------------------------------- */
static int64_t bytes_of(const fnzi_cuda_team *t, uint32_t lane) {
  return fnzi_cuda_lane_cell(t->g, lane) * fnzi_cuda_vector_elements(t->g, lane, t->width);
}

fnz_status fnzi_cuda_team_measure(fnzi_cuda_team *t, const uint8_t *uses) {
  int64_t bytes = 0, iterations;
  /* Vectors are so narrow that most threads get one of each row. */
  bool is_general = t->text->is_general;
  t->width = fnzi_cuda_width(t->g, true, is_general);
  while (t->width > 1 && t->length < (t->threads / 2 + 1) * t->width)
    t->width = is_general ? 1 : t->width / 2;
  t->vectors = t->length / t->width;
  iterations = (t->vectors + t->threads - 1) / t->threads;
  if (t->text->is_general) {
    /* The least power of two that is not below `iterations`. */
    int64_t power = 1;
    while (power < iterations && power < INT64_MAX / 2)
      power += power;
    iterations = power;
  }
  t->all_iterations = iterations;
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    bytes += uses[k] > 1 ? bytes_of(t, k) : 0;
  t->keeps_row = !t->g->pieces && bytes > 0 && iterations <= MOST_AT_ONCE / t->width &&
                 iterations <= MOST_KEPT / bytes;
  t->iterations = iterations < MOST_AT_ONCE / t->width ? (int)iterations : MOST_AT_ONCE / t->width;
  FNZI_NEW(t->text->arena, t->g->nlanes, &t->kept);
  FNZI_NEW(t->text->arena, t->g->nlanes, &t->loaded);
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    t->kept[k] = t->keeps_row && uses[k] > 1;
  return fnzi_cuda_widen(t->text->arena, t->g, t->width, &t->wide);
}

fnz_status fnzi_cuda_team_put_types(const fnzi_cuda_team *t) {
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    if (!t->g->slots[t->g->lanes[k].slot].of_rows)
      PUT(&t->w, "  typedef several<cell_%s, %d> lane%u;\n", fnzi_cuda_lane_type(t->g, k),
          fnzi_cuda_vector_elements(t->g, k, t->width), (unsigned)k);
  return FNZ_OK;
}

/* Declares the variable for `count` vectors of a lane. */
static fnz_status put_registers(const fnzi_cuda_team *t, uint32_t k, int count) {
  PUT(&t->w, "    lane%u v%u", (unsigned)k, (unsigned)k);
  if (count > 1)
    PUT(&t->w, "[%d]", count);
  PUT(&t->w, ";\n");
  return FNZ_OK;
}

fnz_status fnzi_cuda_team_put_kept(const fnzi_cuda_team *t) {
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    if (t->kept[k])
      FNZ_TRY(put_registers(t, k, t->iterations));
  return FNZ_OK;
}

/* --- An element ------------------------------------------------------------------------------- */
/* The pass loads the lane, or stores it. */
static bool has_lane(const fnzi_cuda_team *t, uint32_t lane, bool stores) {
  const fnzi_cuda_lane *l = &t->g->lanes[lane];
  if (t->g->slots[l->slot].of_rows)
    return false;
  return l->stores ? stores : t->needed[l->slot];
}

void fnzi_cuda_team_find_needed(fnzi_cuda_team *t) {
  for (uint32_t i = t->g->nins; i-- > 0;) {
    const fnzi_cuda_ins *ins = &t->g->ins[i];
    if (fnzi_cuda_reduces(ins) || !t->needed[ins->out])
      continue;
    for (uint32_t k = 0; k < ins->arity; k++)
      t->needed[ins->in[k]] = !t->g->slots[ins->in[k]].of_rows;
  }
}

fnz_status fnzi_cuda_team_open_pass(fnzi_cuda_team *t, bool stores) {
  const fnzi_cuda_group *g = t->g;
  fnzi_cuda_team_find_needed(t);
  PUT(&t->w, "    {\n    const auto element = [&](const index c");
  for (uint32_t k = 0; k < g->nlanes; k++) {
    const fnzi_cuda_lane *l = &g->lanes[k];
    if (has_lane(t, k, stores))
      PUT(&t->w, l->stores ? ", cell_%s &r%u" : ", const cell_%s s%u", fnzi_cuda_lane_type(g, k),
          l->stores ? (unsigned)k : (unsigned)l->slot);
  }
  PUT(&t->w, ") {\n");
  for (uint32_t i = 0; i < g->nins; i++)
    if (t->needed[g->ins[i].out] && !fnzi_cuda_reduces(&g->ins[i]) &&
        !g->slots[g->ins[i].out].of_rows)
      FNZ_TRY(fnzi_cuda_put_ins(&t->w, t->text, &g->ins[i]));
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (g->lanes[k].stores && has_lane(t, k, stores))
      PUT(&t->w, "    r%u = s%u;\n", (unsigned)k, (unsigned)g->lanes[k].slot);
  return FNZ_OK;
}

/* --- Loops ------------------------------------------------------------------------------------ */
typedef struct pass {
  fnzi_cuda_team *t;
  fnzi_cuda_writer wide;
  bool stores;
  int ahead;    /* vectors that a thread loads before it computes */
  int64_t step; /* of all threads */
  bool loops;   /* these are not all of a row */
} pass;

/* Returns whether the pass loads the lane. */
static bool loads(const pass *p, uint32_t k) {
  return !p->t->g->lanes[k].stores && has_lane(p->t, k, p->stores) && !p->t->loaded[k];
}

/* Opens the loop over the vectors u that were loaded ahead, and writes the indices of vector j. */
static fnz_status open_vectors(const pass *p) {
  const fnzi_cuda_team *t = p->t;
  PUT(&t->w,
      "#pragma unroll\n    for (int u = 0; u < %d; u++) {\n"
      "      const index j = %sme + u * %lld;\n",
      p->ahead, p->loops ? "first + " : "", (long long)t->threads);
  if (t->g->pieces)
    PUT(&t->w, "      if (j >= till)\n        continue;\n");
  else if (t->text->is_general || t->vectors % p->step != 0)
    PUT(&t->w, "      if (j >= %s)\n        continue;\n", INDEX(t->text, t->vectors));
  return fnzi_cuda_put_indices(&p->wide, t->g->outer, t->g->rank, "j");
}

/* The place of vector u of a lane. */
static fnz_status put_register(const pass *p, uint32_t k) {
  const fnzi_cuda_team *t = p->t;
  PUT(&t->w, "v%u", (unsigned)k);
  if (t->kept[k] && p->loops)
    PUT(&t->w, "[first / %lld + u]", (long long)t->threads);
  else if (p->ahead > 1)
    PUT(&t->w, "[u]");
  return FNZ_OK;
}

static fnz_status pass_put_loads(const pass *p) {
  const fnzi_cuda_team *t = p->t;
  bool any = false;
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    any = any || loads(p, k);
  if (!any)
    return FNZ_OK;
  FNZ_TRY(open_vectors(p));
  for (uint32_t k = 0; k < t->g->nlanes; k++) {
    if (!loads(p, k))
      continue;
    PUT(&t->w, "      ");
    FNZ_TRY(put_register(p, k));
    PUT(&t->w, " = LOAD(lane%u, ", (unsigned)k);
    FNZ_TRY(fnzi_cuda_put_address(&p->wide, k));
    PUT(&t->w, ");\n");
  }
  PUT(&t->w, "    }\n");
  return FNZ_OK;
}

/* Writes the calls of the function for all elements of vector u, and the stores of its results. */
static fnz_status put_computed(const pass *p) {
  const fnzi_cuda_team *t = p->t;
  const fnzi_cuda_group *g = t->g;
  FNZ_TRY(open_vectors(p));
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (g->lanes[k].stores && has_lane(t, k, p->stores))
      PUT(&t->w, "      lane%u r%u;\n", (unsigned)k, (unsigned)k);
  PUT(&t->w, "#pragma unroll\n      for (int e = 0; e < %d; e++)\n        element(j * %d + e",
      t->width, t->width);
  for (uint32_t k = 0; k < g->nlanes; k++) {
    if (!has_lane(t, k, p->stores))
      continue;
    PUT(&t->w, ", ");
    if (g->lanes[k].stores)
      PUT(&t->w, "r%u", (unsigned)k);
    else
      FNZ_TRY(put_register(p, k));
    PUT(&t->w, ".of[%s]", fnzi_cuda_vector_elements(g, k, t->width) > 1 ? "e" : "0");
  }
  PUT(&t->w, ");\n");
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (g->lanes[k].stores && has_lane(t, k, p->stores))
      FNZ_TRY(fnzi_cuda_put_vector(&p->wide, k));
  PUT(&t->w, "    }\n");
  return FNZ_OK;
}

static fnz_status put_vectors(const pass *p) {
  const fnzi_cuda_team *t = p->t;
  if (p->loops) {
    PUT(&t->w, "#pragma unroll%s\n", t->keeps_row ? "" : " 1");
    if (t->g->pieces)
      PUT(&t->w, "    for (index first = from; first < till; first += %lld) {\n",
          (long long)p->step);
    else {
      /* If the end determines the registers of kept values, it is a constant. */
      const bool is_fixed = t->text->is_general && t->keeps_row;
      fnzi_cuda_word end = fnzi_cuda_word_index(is_fixed ? NULL : t->text,
                                                is_fixed ? t->iterations * t->threads : t->vectors);
      PUT(&t->w, "    for (index first = 0; first < %s; first += %lld) {\n", end.text,
          (long long)p->step);
    }
  }
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    if (loads(p, k) && !t->kept[k])
      FNZ_TRY(put_registers(t, k, p->ahead));
  FNZ_TRY(pass_put_loads(p));
  FNZ_TRY(put_computed(p));
  if (p->loops)
    PUT(&t->w, "    }\n");
  return FNZ_OK;
}

/* Writes the loop over elements after the last whole vector. */
static fnz_status pass_put_rest(const pass *p) {
  const fnzi_cuda_team *t = p->t;
  const fnzi_cuda_group *g = t->g;
  if (t->text->is_general ? t->width == 1 || g->rank != g->outer + 1 : t->all % t->width == 0)
    return FNZ_OK;
  if (g->pieces)
    PUT(&t->w, "    for (index j = till * %d + me; j < (index)end; j += %lld) {\n", t->width,
        (long long)t->threads);
  else
    PUT(&t->w, "    for (index j = %s + me; j < %s; j += %lld) {\n",
        INDEX(t->text, t->length - t->length % t->width), INDEX(t->text, t->length),
        (long long)t->threads);
  FNZ_TRY(fnzi_cuda_put_indices(&t->w, g->outer, g->rank, "j"));
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (g->lanes[k].stores && has_lane(t, k, p->stores))
      PUT(&t->w, "    cell_%s r%u;\n", fnzi_cuda_lane_type(g, k), (unsigned)k);
    else if (has_lane(t, k, p->stores))
      FNZ_TRY(fnzi_cuda_put_lane(&t->w, k));
  PUT(&t->w, "    element(j");
  for (uint32_t k = 0; k < g->nlanes; k++)
    if (has_lane(t, k, p->stores))
      PUT(&t->w, ", %s%u", g->lanes[k].stores ? "r" : "s",
          g->lanes[k].stores ? (unsigned)k : (unsigned)g->lanes[k].slot);
  PUT(&t->w, ");\n");
  for (uint32_t k = 0; k < g->nlanes; k++) {
    if (!g->lanes[k].stores || !has_lane(t, k, p->stores))
      continue;
    PUT(&t->w, "    STORE(cell_%s, ", fnzi_cuda_lane_type(g, k));
    FNZ_TRY(fnzi_cuda_put_address(&t->w, k));
    PUT(&t->w, ", r%u);\n", (unsigned)k);
  }
  PUT(&t->w, "    }\n");
  return FNZ_OK;
}

fnz_status fnzi_cuda_team_close_pass(fnzi_cuda_team *t, bool stores) {
  pass p = {.t = t, .wide = t->w, .stores = stores};
  p.wide.group = &t->wide;
  p.wide.width = t->width;
  /* Vectors that are loaded ahead need registers. Kept lanes do anyway, so they do not count. */
  int64_t bytes = 0;
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    bytes += loads(&p, k) && !t->kept[k] ? bytes_of(t, k) : 0;
  int most = t->keeps_row ? t->iterations : t->iterations < MOST_AHEAD ? t->iterations : MOST_AHEAD;
  int64_t ahead = bytes ? IN_FLIGHT / bytes : most;
  ahead = ahead < 1 ? 1 : ahead > most ? most : ahead;
  while (t->keeps_row && t->iterations % ahead != 0)
    ahead--;
  p.ahead = (int)ahead;
  p.step = t->threads * p.ahead;
  p.loops = t->g->pieces || p.ahead < t->all_iterations;
  PUT(&t->w, "    };\n");
  FNZ_TRY(put_vectors(&p));
  FNZ_TRY(pass_put_rest(&p));
  for (uint32_t k = 0; k < t->g->nlanes; k++)
    t->loaded[k] = t->loaded[k] || (t->kept[k] && has_lane(t, k, stores));
  PUT(&t->w, "    }\n");
  return FNZ_OK;
}
