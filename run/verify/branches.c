/* branches.c - flips each predicate that a run meets, once, in both programs. */
#include "run/verify/branches.h"

#include <stdio.h>

/* The most runs of both programs: further predicates are not flipped. */
enum { MOST_RUNS = 32 };

fnz_status fnzi_ver_branches_open(fnzi_ver_branches *b, fnz_context *ctx) {
  *b = (fnzi_ver_branches){.ctx = ctx};
  fnzi_arena_init(&b->arena, ctx);
  fnzi_map_init(&b->known, ctx);
  FNZI_PUSH(ctx, &b->list, (fnzi_ver_branch){.flipped_with = 0});
  return FNZ_OK;
}

void fnzi_ver_branches_close(fnzi_ver_branches *b) {
  FNZI_VEC_FREE(b->ctx, &b->list);
  fnzi_map_free(&b->known);
  fnzi_arena_free(&b->arena);
}

bool fnzi_ver_branches_next(fnzi_ver_branches *b) {
  return ++b->current < b->list.count;
}

fnz_status fnzi_ver_branches_decide(void *user, const fnzi_run_state *run, uint64_t predicate,
                                    bool *taken) {
  fnzi_ver_branches *b = user;
  uint64_t entry, *key;
  if (fnzi_map_get(&b->known, &predicate, sizeof predicate, &entry)) {
    /* A run flips the predicate of its own entry, and all that were flipped when that was met. */
    size_t at = b->current;
    while (at != 0 && at != entry)
      at = b->list.data[at].flipped_with;
    *taken = *taken != (entry != 0 && at == entry);
    return FNZ_OK;
  }
  bool has_room = b->list.count < MOST_RUNS;
  FNZI_NEW(&b->arena, 1, &key); /* the map borrows its keys */
  *key = predicate;
  FNZ_TRY(fnzi_map_set(&b->known, key, sizeof *key, has_room ? b->list.count : 0));
  b->met++;
  if (has_room)
    FNZI_PUSH(b->ctx, &b->list,
              ((fnzi_ver_branch){b->current, run->program,
                                 (uint32_t)(run->graph - run->program->graphs.data), run->node}));
  return FNZ_OK;
}

void fnzi_ver_branches_text(const fnzi_ver_branches *b, char out[240]) {
  const fnzi_ver_branch *branch = &b->list.data[b->current];
  char place[160];
  out[0] = '\0';
  if (b->current == 0)
    return;
  fnzi_node_place(branch->program, branch->graph, branch->node, place);
  snprintf(out, 240, ", if the predicate of %s is flipped", place);
}
