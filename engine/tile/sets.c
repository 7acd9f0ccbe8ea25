/* sets.c - steps that run at once (engine/plan/sets.c): threads take the pieces of all sets of a
 * tile program together.
 *
 * If the operands of two sets have the same layout, the later set shares the program and registers
 * of the first and has only lanes of its own, so little is read again for each set. */
#include "engine/tile/tile.h"

/* --- One program ------------------------------------------------------------------------------ */
/* Says that only addresses and counts of elements differ. */
static bool same_program(const fnzi_tile_program *a, const fnzi_tile_program *b) {
  if (a->nslots != b->nslots || a->nins != b->nins || a->nlanes != b->nlanes ||
      a->thread_bytes != b->thread_bytes)
    return false;
  for (uint32_t k = 0; k < a->nslots; k++) {
    const fnzi_tile_slot_info *x = &a->slots[k], *y = &b->slots[k];
    if (x->constants != y->constants || x->cell != y->cell || x->dtype != y->dtype ||
        x->is_memory != y->is_memory || x->is_shared != y->is_shared || x->offset != y->offset ||
        x->row_step != y->row_step || x->step != y->step)
      return false;
  }
  for (uint32_t k = 0; k < a->nins; k++) {
    const fnzi_tile_ins *x = &a->ins[k], *y = &b->ins[k];
    if (x->run != y->run || x->kind != y->kind || x->to != y->to || x->from != y->from ||
        x->compute != y->compute || x->arity != y->arity || x->out != y->out ||
        !x->chain != !y->chain || x->row || y->row ||
        memcmp(x->in, y->in, x->arity * sizeof *x->in) != 0 ||
        (x->chain && x->chain->count != y->chain->count))
      return false;
  }
  /* Stores must be equal, too, because they decide which values of a chain stay in registers. */
  for (uint32_t k = 0; k < a->nlanes; k++) {
    const fnzi_tile_lane *x = &a->lanes[k], *y = &b->lanes[k];
    if (x->slot != y->slot || x->stores != y->stores || x->kind != y->kind || x->cell != y->cell ||
        x->of_rows != y->of_rows || x->fills != y->fills || x->repeats != y->repeats)
      return false;
  }
  return true;
}

/* --- The table -------------------------------------------------------------------------------- */
static fnz_status make_sets(fnz_workspace *ws, fnzi_stp_binding *b, size_t first, uint32_t count) {
  fnzi_tile_sets *sets;
  int64_t elements = 0;
  FNZI_NEW(&b->arena, 1, &sets);
  FNZI_NEW(&b->arena, count, &sets->tiles);
  FNZI_NEW(&b->arena, (size_t)count + 1, &sets->begins);
  sets->count = count;
  for (uint32_t k = 0; k < count; k++) {
    fnzi_tile_program *t = (fnzi_tile_program *)(uintptr_t)b->thunks.data[first + k].u.tile;
    if (k > 0 && same_program(sets->tiles[0], t)) {
      t->ins = sets->tiles[0]->ins;
      t->slots = sets->tiles[0]->slots;
    }
    sets->tiles[k] = t;
    sets->begins[k + 1] = sets->begins[k] + fnzi_tile_pieces(t);
    sets->thread_bytes =
        t->thread_bytes > sets->thread_bytes ? t->thread_bytes : sets->thread_bytes;
    elements += t->count;
  }
  sets->team = elements > FNZI_TILE_PIECE ? ws->machine->team : NULL;
  size_t bytes = sets->thread_bytes * (size_t)fnzi_krn_team_lanes(sets->team);
  b->registers_bytes = bytes > b->registers_bytes ? bytes : b->registers_bytes;
  b->thunks.data[first].sets = sets;
  return FNZ_OK;
}

fnz_status fnzi_tile_sets_make(fnz_workspace *ws, fnzi_stp_binding *b) {
  uint32_t time = 0, count;
  for (size_t i = 0; i < b->thunks.count; i += count, time++) {
    count = b->plan.steps.data[i].sets;
    count = count > 1 ? count : 1;
    for (uint32_t k = 0; k < count; k++)
      b->thunks.data[i + k].time = time;
    if (count > 1)
      FNZ_TRY(make_sets(ws, b, i, count));
  }
  return FNZ_OK;
}

/* --- A run ------------------------------------------------------------------------------------ */
/* Returns the set of a piece. */
static uint32_t set_of(const fnzi_tile_sets *s, int64_t piece) {
  uint32_t low = 0, high = s->count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (s->begins[middle] <= piece)
      low = middle;
    else
      high = middle;
  }
  return low;
}

typedef struct shared {
  const fnzi_tile_sets *sets;
  unsigned char *registers;
} shared;

static void sets_run_range(const void *user, int64_t start, int64_t end, int lane) {
  const shared *s = user;
  const int64_t *begins = s->sets->begins;
  unsigned char *own = s->registers ? s->registers + (size_t)lane * s->sets->thread_bytes : NULL;
  for (uint32_t k = start < end ? set_of(s->sets, start) : 0; start < end; k++) {
    int64_t last = begins[k + 1] < end ? begins[k + 1] : end;
    fnzi_tile_run_pieces(s->sets->tiles[k], own, start - begins[k], last - begins[k]);
    start = last;
  }
}

void fnzi_tile_sets_run(const fnzi_tile_sets *s, unsigned char *registers) {
  fnzi_krn_share_ranges(s->team, s->begins[s->count], sets_run_range, &(shared){s, registers});
}
