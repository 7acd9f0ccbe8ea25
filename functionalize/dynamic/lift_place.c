/* lift_place.c - what messages call a place of the results; most programs have none to call. */
#include "functionalize/dynamic/lift.h"

const char *fnzi_lift_place(fnzi_lifter *l, const char *place) {
  if (!place)
    fnzi_node_place(l->results[0], l->graph, l->node, l->place);
  return place ? place : l->place;
}
