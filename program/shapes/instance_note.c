/* instance_note.c - notes the parts of a program under construction that depend on its numbers.
 *
 * needs   a maker, and the parts that it makes, in its order
 * gives   notes of arguments, geometries and nodes, for instance.c; nothing if no instance is
 * made */
#include "program/shapes/instantiate.h"

fnz_status fnzi_instance_note(fnzi_maker *m, fnzi_moving moving, const fnz_geometry *geometry) {
  const bool has_geometry = moving.kind == FNZI_MOVING_VALUE || moving.kind == FNZI_MOVING_WINDOW;
  if (!m->instance || (has_geometry && (!geometry || !geometry->symbols)))
    return FNZ_OK;
  if (has_geometry) {
    /* Programs have equal geometries once, so that each is computed once. */
    fnzi_instance *i = m->instance;
    uint64_t at = i->geometries.count;
    if (!fnzi_map_get(&i->known, &geometry, sizeof geometry, &at)) {
      const fnz_geometry **key;
      FNZI_NEW(&i->kept, 1, &key);
      *key = geometry;
      FNZI_PUSH(m->ctx, &i->geometries, ((fnzi_instance_geometry){geometry, NULL}));
      FNZ_TRY(fnzi_map_set(&i->known, key, sizeof geometry, at));
    }
    moving.geometry = at;
  }
  moving.graph = m->into;
  FNZI_PUSH(m->ctx, &m->instance->moving, moving);
  return FNZ_OK;
}

fnz_status fnzi_instance_note_graph(fnzi_maker *m) {
  fnzi_instance *i = m->instance;
  if (!i)
    return FNZ_OK;
  if (!i->graphs)
    FNZI_NEW(&i->kept, m->from->graphs.count, &i->graphs);
  i->graphs[m->into] = (fnzi_instance_graph){m->values, m->reals};
  return FNZ_OK;
}

void fnzi_instance_moved_args(const fnzi_maker *m, const fnz_arg *from, size_t count, fnz_arg *to) {
  for (size_t k = m->instance ? m->instance->moving.count : 0; k-- > 0;) {
    fnzi_moving *moving = &m->instance->moving.data[k];
    if (moving->kind != FNZI_MOVING_ARG || moving->graph != m->into)
      break;
    const uintptr_t start = (uintptr_t)from, at = (uintptr_t)moving->arg;
    if (at >= start && at < start + count * sizeof *from)
      moving->arg = &to[(at - start) / sizeof *from];
  }
}
