/* alias.c - views that are their base: alias, detach, lift_fresh.
 *
 *   forward   view = base
 *   reverse   base' = view */
#include "views/rule.h"

fnz_status fnzi_alias_forward(fnzi_forward *w) {
  fnzi_int *sizes, *strides;
  return fnzi_forward_like_base(w, &sizes, &strides);
}

fnz_status fnzi_alias_reverse(const fnzi_reverse *r, fnzi_emitted *out) {
  *out = r->window;
  return FNZ_OK;
}
