/* natives.c - the functions of a library: one is added, found by name, described. */
#include "schema/native/native.h"
#include "schema/table.h"
#include "schema/twins.h"

#include <stdio.h>
#include <stdlib.h>

static int by_text(const void *a, const void *b) {
  const char *const *x = a, *const *y = b;
  return strcmp(*x, *y);
}

/* "method,delegate=add.out" */
static fnz_status model_text(fnz_library *library, const fnzi_native *n, const char **out) {
  static const char *const words[] = {
#define FLAG_NAME(id, name) name,
      FNZI_FLAG_ROWS(FLAG_NAME)
#undef FLAG_NAME
  };
  const struct {
    const char *key, *value;
  } named[] = {{"delegate", n->op->delegate},
               {"inherits", n->inherits},
               {"module", n->python_module},
               {"category", n->category}};
  const char *text = "", *gap = "";
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (n->op->flags & 1u << i) {
      FNZ_TRY(fnzi_arena_format(&library->arena, &text, "%s%s%s", text, gap, words[i]));
      gap = ",";
    }
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    if (named[i].value) {
      FNZ_TRY(fnzi_arena_format(&library->arena, &text, "%s%s%s=%s", text, gap, named[i].key,
                                named[i].value));
      gap = ",";
    }
  *out = *text ? text : "-";
  return FNZ_OK;
}

fnz_status fnzi_native_publish(fnz_library *library) {
  fnzi_native *n = &library->natives[library->count];
  fnz_op *op = n->op;
  /* "core,pointwise": sorted, without the tag that all have. */
  const char *names[FNZI_MOST_TAGS] = {NULL}, *text = "";
  size_t count = 0;
  for (size_t i = 0; i < library->tags.count; i++)
    if (n->tags & ~library->known[FNZI_KNOWN_PT2] & UINT64_C(1) << i)
      names[count++] = library->tags.data[i];
  qsort(names, count, sizeof *names, by_text);
  for (size_t i = 0; i < count; i++)
    FNZ_TRY(fnzi_arena_format(&library->arena, &text, "%s%s%s", text, i ? "," : "", names[i]));
  op->tags_text = count ? text : "-";
  FNZ_TRY(model_text(library, n, &op->model_text));
  op->tags = fnzi_tag_bits(op->tags_text);
  op->is_view = fnzi_schema_is_view(op);
  /* The file has no promotions. */
  const fnz_op *known = fnz_op_find(NULL, op->name);
  op->promotion = known ? known->promotion : fnzi_promotion_by_tags(op);
  op->composite = n->keys & FNZI_DISPATCH_BIT(CompositeImplicitAutograd)   ? FNZI_COMPOSITE_IMPLICIT
                  : n->keys & FNZI_DISPATCH_BIT(CompositeExplicitAutograd) ? FNZI_COMPOSITE_EXPLICIT
                  : n->keys & FNZI_DISPATCH_BIT(CompositeExplicitAutogradNonFunctional)
                      ? FNZI_COMPOSITE_EXPLICIT_NON_FUNCTIONAL
                      : FNZI_COMPOSITE_NONE;
  n->group = n->view_group = FNZI_NO_GROUP;
  return fnzi_map_set(&library->by_name, op->name, strlen(op->name), library->count++);
}

fnzi_native *fnzi_native_find(const fnz_library *library, const char *name) {
  uint64_t place;
  return fnzi_map_get(&library->by_name, name, strlen(name), &place) ? &library->natives[place]
                                                                     : NULL;
}

/* The namespace of a delegate is that of the operator. */
fnzi_native *fnzi_native_delegate(const fnz_library *library, const fnzi_native *n) {
  const char *colons = strstr(n->op->name, "::");
  char name[256];
  if (!n->op->delegate)
    return NULL;
  int size = snprintf(name, sizeof name, "%.*s%s", colons ? (int)(colons - n->op->name) + 2 : 0,
                      n->op->name, n->op->delegate);
  return size < (int)sizeof name ? fnzi_native_find(library, name) : NULL;
}
