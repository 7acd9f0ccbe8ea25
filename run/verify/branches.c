/* branches.c - flips each predicate that a run meets, once, in both programs. */
#include "run/verify/branches.h"

#include <stdio.h>

/* The most runs of both programs: further predicates are not flipped. */
enum { MOST_RUNS = 32 };

fnz_status fnzi_ver_branches_open(fnzi_ver_branches *w, fnz_context *ctx) {
  *w = (fnzi_ver_branches){.ctx = ctx};
  fnzi_arena_init(&w->arena, ctx);
  fnzi_map_init(&w->known, ctx);
  FNZI_PUSH(ctx, &w->list, (fnzi_ver_branch){.flipped_with = 0});
  return FNZ_OK;
}

void fnzi_ver_branches_close(fnzi_ver_branches *w) {
  FNZI_VEC_FREE(w->ctx, &w->list);
  fnzi_map_free(&w->known);
  fnzi_arena_free(&w->arena);
}

bool fnzi_ver_branches_next(fnzi_ver_branches *w) {
  return ++w->current < w->list.count;
}

/* Returns whether the current run flips the predicate of an entry: the entry of this run, or one
 * that was flipped in the run that met it. */
static bool is_flipped(const fnzi_ver_branches *w, size_t entry) {
  size_t at = w->current;
  while (at != 0 && at != entry)
    at = w->list.data[at].flipped_with;
  return at == entry;
}

fnz_status fnzi_ver_branches_decide(void *user, const fnzi_run_state *run, uint64_t predicate,
                                    bool *taken) {
  fnzi_ver_branches *w = user;
  uint64_t entry, *key;
  if (fnzi_map_get(&w->known, &predicate, sizeof predicate, &entry)) {
    *taken = *taken != (entry != 0 && is_flipped(w, entry));
    return FNZ_OK;
  }
  bool has_room = w->list.count < MOST_RUNS;
  FNZI_NEW(&w->arena, 1, &key); /* the map borrows its keys */
  *key = predicate;
  FNZ_TRY(fnzi_map_set(&w->known, key, sizeof *key, has_room ? w->list.count : 0));
  w->met++;
  if (has_room)
    FNZI_PUSH(w->ctx, &w->list,
              ((fnzi_ver_branch){w->current, run->program,
                                 (uint32_t)(run->graph - run->program->graphs.data), run->node}));
  return FNZ_OK;
}

void fnzi_ver_branches_text(const fnzi_ver_branches *w, char out[240]) {
  const fnzi_ver_branch *branch = &w->list.data[w->current];
  char place[160];
  out[0] = '\0';
  if (w->current == 0)
    return;
  fnzi_node_place(branch->program, branch->graph, branch->node, place);
  snprintf(out, 240, ", if the predicate of %s is flipped", place);
}
