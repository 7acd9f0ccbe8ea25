/* args.c - arguments as trees: walking and copying them with a fixed stack instead of recursion. */
#include "program/program.h"

void fnzi_walk_start(fnzi_walk *walk, const fnz_arg *args, size_t count) {
  walk->depth = 0;
  walk->arg = NULL;
  walk->level[0].at = args;
  walk->level[0].end = args ? args + count : args;
}

fnzi_step fnzi_walk_next(fnzi_walk *walk) {
  if (walk->level[walk->depth].at == walk->level[walk->depth].end) {
    if (!walk->depth)
      return FNZI_STEP_END;
    walk->depth--;
    walk->arg = walk->level[walk->depth].at - 1;
    return FNZI_STEP_CLOSE;
  }
  walk->arg = walk->level[walk->depth].at++;
  if (walk->arg->tag != FNZ_ARG_LIST)
    return FNZI_STEP_ITEM;
  if (walk->depth == FNZI_MAX_NESTING)
    return FNZI_STEP_TOO_DEEP;
  walk->depth++;
  walk->level[walk->depth].at = walk->arg->u.list;
  walk->level[walk->depth].end =
      walk->arg->count ? walk->arg->u.list + walk->arg->count : walk->arg->u.list;
  return FNZI_STEP_OPEN;
}

fnzi_each fnzi_each_into_list(fnzi_each_lists *in, fnzi_each each) {
  while (each.arg == each.end || each.arg->tag == FNZ_ARG_LIST) {
    if (each.arg == each.end) {
      if (in->depth == 0)
        return (fnzi_each){NULL, NULL};
      each.arg = in->lists[--in->depth] + 1;
      const fnz_arg *outer = in->depth ? in->lists[in->depth - 1] : NULL;
      each.end = outer ? outer->u.list + outer->count : in->last;
      continue;
    }
    const fnz_arg *list = each.arg++;
    if (list->count == 0 || in->depth == FNZI_MAX_NESTING)
      continue;
    if (in->depth == 0)
      in->last = each.end;
    in->lists[in->depth++] = list;
    each = (fnzi_each){list->u.list, list->u.list + list->count};
  }
  return each;
}

fnz_status fnzi_args_clone(fnzi_arena *arena, const fnz_arg *args, size_t count, size_t capacity,
                           fnz_arg **out) {
  struct {
    fnz_arg *at, *end;
  } level[FNZI_MAX_NESTING + 1];
  size_t depth = 0;
  void *items;
  *out = NULL;
  FNZ_TRY(fnzi_arena_take(arena, capacity, sizeof **out, &items));
  fnz_arg *copies = items;
  if (count)
    memcpy(copies, args, count * sizeof *copies);
  if (capacity > count)
    memset(copies + count, 0, (capacity - count) * sizeof *copies);
  /* Lists get items of their own, as do the lists among them. */
  level[0].at = copies;
  level[0].end = copies + count;
  for (;;) {
    while (level[depth].at == level[depth].end)
      if (depth-- == 0) {
        *out = copies;
        return FNZ_OK;
      }
    fnz_arg *arg = level[depth].at++;
    if (arg->tag != FNZ_ARG_LIST && arg->tag != FNZ_ARG_COMPLEX)
      continue;
    if (depth == FNZI_MAX_NESTING)
      return fnzi_fail(arena->ctx, FNZ_CLASS_LIMIT, NULL, "lists are nested more than %d deep",
                       FNZI_MAX_NESTING);
    FNZ_TRY(fnzi_arena_take(arena, arg->count, sizeof *arg, &items));
    if (arg->count)
      memcpy(items, arg->u.list, arg->count * sizeof *arg);
    arg->u.list = items;
    level[++depth].at = items;
    level[depth].end = level[depth].at + arg->count;
  }
}

fnz_status fnzi_args_copy(fnz_program *p, const fnz_arg *args, size_t count, fnz_arg **out) {
  *out = NULL;
  FNZ_TRY(fnzi_args_clone(&p->arena, args, count, count, out));
  FNZI_EACH_ARG(each, *out, count)
    if (each.arg->tag == FNZ_ARG_STRING || each.arg->tag == FNZ_ARG_DEVICE ||
        each.arg->tag == FNZ_ARG_OPERATOR) {
      fnz_arg *arg = fnzi_each_own(&each);
      const char *s = arg->u.s ? arg->u.s : "";
      size_t size = arg->tag == FNZ_ARG_STRING ? arg->count : strlen(s);
      FNZ_TRY(fnzi_intern(p, s, size, &arg->u.s));
    }
  return FNZ_OK;
}

fnz_status fnzi_arg_ints(fnzi_arena *arena, const int64_t *items, size_t count, fnz_arg *out) {
  fnz_arg *list;
  FNZI_NEW(arena, count, &list);
  for (size_t i = 0; i < count; i++)
    list[i] = fnzi_arg_int(items[i]);
  *out = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = list};
  return FNZ_OK;
}

/* --- Results ---------------------------------------------------------------------------------- */

enum { MOST_PIECES = 1 << 16 };

size_t fnzi_request_capacity(const fnz_backend *backend, const fnz_request *request) {
  const fnz_op *op = request->op;
  size_t capacity = op->nreturns;
  for (size_t i = 0; i < request->nargs; i++) {
    const fnz_arg *a = &request->args[i];
    capacity += a->tag == FNZ_ARG_LIST ? (size_t)a->count * op->nreturns : 0;
    if (op->nreturns != 1 || !op->returns[0].is_list)
      continue;
    /* A number of pieces may be more than there are elements. */
    capacity += a->tag == FNZ_ARG_INT && a->u.i > 0 && a->u.i <= MOST_PIECES ? (size_t)a->u.i : 0;
    if (a->tag != FNZ_ARG_VALUE)
      continue;
    const fnz_geometry *g = backend->geometry(backend->self, a->u.value);
    for (uint32_t d = 0; d < g->rank; d++)
      capacity += (size_t)g->sizes[d];
  }
  return capacity;
}
