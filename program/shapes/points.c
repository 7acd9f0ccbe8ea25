/* points.c - sizes for functions that know numbers only, in a pass that has expressions.
 *
 * needs   the expressions of a pass; a draw of the same sizes
 * keeps   conditions of the program: each point is in its ranges and keeps to its guards
 * gives   usual sizes, all different; then special ones, the recorded ones among them */
#include "program/shapes/ints.h"

enum {
  USUAL = 6,         /* with fewer, two expressions may have the same numbers by chance */
  USUAL_DRAWS = 12,  /* some draws find nothing */
  MOST_SPECIAL = 300 /* sizes of more than a dozen symbols have more pairs */
};

static fnz_status copy_numbers(const fnzi_sizes *s, fnzi_point *from, fnzi_point *to, bool *all) {
  *all = true;
  for (size_t i = 0; i < s->free.count; i++) {
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(from, s->free.data[i], &known, &number));
    if (known)
      FNZ_TRY(fnzi_point_set(to, s->free.data[i], number));
    *all = *all && known;
  }
  return FNZ_OK;
}

/* Takes the point if it is `found`, else ends it. */
static fnz_status points_keep(fnzi_ints *s, fnzi_point *point, bool found, fnz_status status) {
  if (status == FNZ_OK && found)
    FNZI_PUSH(s->set->ctx, &s->points, *point);
  else
    fnzi_point_free(point);
  return status;
}

fnz_status fnzi_ints_points_draw(fnzi_ints *s, fnzi_draw *draw) {
  bool more = true;
  for (size_t i = 0; i < USUAL_DRAWS && s->points.count < USUAL; i++) {
    fnzi_point point;
    bool found = false;
    fnzi_point_init(&point, s->set);
    fnz_status status = fnzi_draw_numbers(draw, &point, &found);
    FNZ_TRY(points_keep(s, &point, found, status));
  }
  s->points.usual = s->points.count;
  const fnzi_condition *broken = NULL;
  fnzi_point recorded;
  bool known = false;
  fnzi_point_init(&recorded, s->set);
  fnz_status copied = s->recorded ? copy_numbers(s->sizes, s->recorded, &recorded, &known) : FNZ_OK;
  if (copied == FNZ_OK && known)
    copied = fnzi_sizes_admit(s->sizes, &recorded, &broken);
  FNZ_TRY(points_keep(s, &recorded, known && !broken, copied));
  for (size_t k = 0; more && s->points.usual && k < MOST_SPECIAL; k++) {
    fnzi_point point;
    bool found = false, all;
    fnzi_point_init(&point, s->set);
    fnz_status status = copy_numbers(s->sizes, &s->points.data[0], &point, &all);
    if (status == FNZ_OK)
      status = fnzi_draw_special(draw, k, &point, &more, &found);
    FNZ_TRY(points_keep(s, &point, found, status));
  }
  return FNZ_OK;
}

void fnzi_ints_points_free(fnzi_ints *s) {
  for (size_t i = 0; i < s->points.count; i++)
    fnzi_point_free(&s->points.data[i]);
  FNZI_VEC_FREE(s->set->ctx, &s->points);
}
