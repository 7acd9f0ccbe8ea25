/* instance.c - a program for given numbers that moves to others: parts that depend on the numbers
 * are changed in place, and the rest stays as it was made.
 *
 * needs   a program that is not changed meanwhile; readings are kept
 * keeps   nodes, values, names, their order
 * gives   the program that fnzi_instantiate() gives for these numbers, or its failure */
#include "program/shapes/instantiate.h"

static fnz_status move_one(fnzi_instance *i, fnzi_maker *m, const fnzi_moving *moving) {
  m->into = moving->graph;
  m->graph = fnzi_graph_at(m->from, moving->graph);
  m->values = i->graphs[moving->graph].values;
  m->reals = i->graphs[moving->graph].reals;
  switch (moving->kind) {
  case FNZI_MOVING_ARG:
    return fnzi_maker_number(m, moving->value, moving->labels, moving->arg);
  case FNZI_MOVING_NODE:
    return fnzi_maker_check_number(m, moving->node);
  case FNZI_MOVING_VALUE:
    fnzi_value_at(m->to, m->into, moving->at)->geometry = i->geometries.data[moving->geometry].here;
    return FNZ_OK;
  case FNZI_MOVING_WINDOW:
    m->to->outputs[moving->at].window = i->geometries.data[moving->geometry].here;
  }
  return FNZ_OK;
}

fnz_status fnzi_instance_move(fnzi_instance *i, const fnzi_sizes *sizes, fnzi_point *point) {
  fnzi_maker m = {.ctx = sizes->set.ctx,
                  .sizes = sizes,
                  .point = point,
                  .readings = FNZI_READINGS_KEPT,
                  .from = sizes->program,
                  .to = i->program};
  if (i->program) {
    fnzi_arena_reset(&i->arena);
    for (size_t k = 0; k < i->geometries.count; k++) {
      fnzi_instance_geometry *g = &i->geometries.data[k];
      FNZ_TRY(fnzi_sizes_geometry(m.sizes, m.point, g->from, &i->arena, &g->here));
      if (!g->here)
        return fnzi_fail(m.ctx, FNZ_CLASS_UNSUPPORTED, NULL, "sizes are not known");
    }
    for (size_t k = 0; k < i->moving.count; k++)
      FNZ_TRY(move_one(i, &m, &i->moving.data[k]));
    return FNZ_OK;
  }
  fnzi_arena_init(&i->arena, m.ctx);
  fnzi_arena_init(&i->kept, m.ctx);
  fnzi_map_init(&i->known, m.ctx);
  i->ctx = m.ctx;
  m.instance = i;
  fnz_status status = fnzi_maker_run(&m);
  i->program = m.to;
  if (status != FNZ_OK)
    fnzi_instance_free(i);
  return status;
}

void fnzi_instance_free(fnzi_instance *i) {
  if (!i->ctx)
    return;
  fnz_program_destroy(i->program);
  fnzi_map_free(&i->known);
  FNZI_VEC_FREE(i->ctx, &i->moving);
  FNZI_VEC_FREE(i->ctx, &i->geometries);
  fnzi_arena_free(&i->kept);
  fnzi_arena_free(&i->arena);
  *i = (fnzi_instance){0};
}
