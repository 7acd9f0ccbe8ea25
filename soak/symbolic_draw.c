/* symbolic_draw.c - the table of views of tensors of unknown sizes, and a random one of them as a
 * line of the program. */
#include "soak/symbolic_views.h"

#include <string.h>

static const struct {
  const char *op;
  symbolic_view_fn *fn;
} views[] = {
#define SYMBOLIC_VIEW_ROW(op, fn) {op, fn},
    SYMBOLIC_VIEW_ROWS(SYMBOLIC_VIEW_ROW)
#undef SYMBOLIC_VIEW_ROW
};
enum { VIEWS = sizeof views / sizeof *views };

const char *fnzi_symbolic_view(size_t k) {
  return k < VIEWS ? views[k].op : NULL;
}

bool fnzi_symbolic_draw_view(symbolic_gen *g, size_t row) {
  const tensor *t = fnzi_symbolic_pick(g);
  view v;
  memset(&v, 0, sizeof v);
  v.parts[0] = *t;
  if (!views[row].fn(g, t, &v))
    return false;
  for (size_t k = 0; k < (v.count ? v.count : 1); k++)
    if (!fnzi_symbolic_is_usable(&v.parts[k]))
      return false;
  const size_t count = v.count ? v.count : 1;
  fnzi_symbolic_put(g, v.count ? "  [" : "  ");
  for (size_t k = 0; k < count; k++) {
    fnzi_symbolic_name(g, v.parts[k].name);
    fnzi_symbolic_put(g, k ? ", " : "");
    fnzi_symbolic_put_typed(g, &v.parts[k]);
    fnzi_symbolic_keep(g, &v.parts[k]);
  }
  fnzi_symbolic_put(g, "%s = %.*s(%s%s%s)\n", v.count ? "]" : "", (int)strcspn(views[row].op, " "),
                    views[row].op, t->name, v.args[0] ? ", " : "", v.args);
  return true;
}
