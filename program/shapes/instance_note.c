/* instance_note.c - notes the parts of a program under construction that depend on its numbers.
 *
 * needs   a maker, and the parts that it makes, in its order
 * gives   notes of arguments, geometries and nodes, for instance.c; nothing if no instance is
 * made */
#include "program/shapes/instantiate.h"

/* Programs have equal geometries once, so that each is computed once. */
static fnz_status find_geometry(fnzi_instance *i, fnz_context *ctx, const fnz_geometry *g,
                                size_t *out) {
  uint64_t at;
  if (fnzi_map_get(&i->known, &g, sizeof g, &at)) {
    *out = at;
    return FNZ_OK;
  }
  const fnz_geometry **key;
  FNZI_NEW(&i->kept, 1, &key);
  *key = g;
  *out = i->geometries.count;
  FNZI_PUSH(ctx, &i->geometries, ((fnzi_instance_geometry){g, NULL}));
  return fnzi_map_set(&i->known, key, sizeof g, *out);
}

fnz_status fnzi_instance_note(fnzi_maker *m, fnzi_moving moving, const fnz_geometry *geometry) {
  const bool has_geometry = moving.kind == FNZI_MOVING_VALUE || moving.kind == FNZI_MOVING_WINDOW;
  if (!m->instance || (has_geometry && (!geometry || !geometry->symbols)))
    return FNZ_OK;
  if (has_geometry)
    FNZ_TRY(find_geometry(m->instance, m->ctx, geometry, &moving.geometry));
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
