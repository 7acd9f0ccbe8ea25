/* library.c - operator libraries: reading in steps, asking, counting, and the table. */
#include "schema/native/native.h"
#include "schema/table.h"
#include "schema/twins.h"

#include <stdio.h>
#include <stdlib.h>

/* --- Reading ---------------------------------------------------------------------------------- */

fnz_status fnz_library_read(fnz_context *ctx, const fnz_library_source *source, fnz_library **out) {
  fnz_library *library = fnzi_resize(ctx, NULL, 0, sizeof *library);
  *out = NULL;
  if (!library)
    return fnzi_no_memory(ctx);
  *library = (fnz_library){.ctx = ctx, .name = source->functions_name};
  fnzi_arena_init(&library->arena, ctx);
  fnzi_map_init(&library->by_name, ctx);
  fnz_status status = fnzi_native_read(library, source);
  if (status == FNZ_OK)
    status = fnzi_native_check(library);
  if (status == FNZ_OK)
    status = fnzi_native_complete(library);
  if (status == FNZ_OK)
    status = fnzi_native_check_groups(library);
  library->name = "";
  if (status == FNZ_OK)
    *out = library;
  else
    fnz_library_destroy(library);
  return status;
}

void fnz_library_destroy(fnz_library *library) {
  if (!library)
    return;
  fnzi_map_free(&library->by_name);
  fnzi_arena_free(&library->arena);
  fnzi_free(library->ctx, library, sizeof *library);
}

/* --- Asking ----------------------------------------------------------------------------------- */

size_t fnz_library_count(const fnz_library *library) {
  return library->count;
}

const fnz_op *fnz_library_op(const fnz_library *library, size_t index) {
  return index < library->count ? library->natives[index].op : NULL;
}

const fnz_op *fnz_library_twin(const fnz_library *library, size_t index) {
  if (index >= library->count || library->natives[index].group == FNZI_NO_GROUP)
    return NULL;
  return library->natives[library->groups[library->natives[index].group].functional].op;
}

uint32_t fnz_library_line(const fnz_library *library, size_t index) {
  return index < library->count ? library->natives[index].line : 0;
}

static void count_entry(const fnzi_native *n, size_t *counts) {
  static const fnz_library_counted kinds[] = {
      [FNZI_KIND_FUNCTIONAL] = FNZ_LIBRARY_COUNT_FUNCTIONAL,
      [FNZI_KIND_INPLACE] = FNZ_LIBRARY_COUNT_INPLACE,
      [FNZI_KIND_OUT] = FNZ_LIBRARY_COUNT_OUT,
      [FNZI_KIND_MUTABLE] = FNZ_LIBRARY_COUNT_MUTABLE,
      [FNZI_KIND_SCRATCH] = FNZ_LIBRARY_COUNT_SCRATCH,
  };
  fnzi_composite composite = n->op->composite;
  counts[kinds[n->kind]]++;
  counts[FNZ_LIBRARY_COUNT_AUTOGEN] += n->autogen.count > 0;
  counts[FNZ_LIBRARY_COUNT_IMPLICIT] += composite == FNZI_COMPOSITE_IMPLICIT;
  counts[FNZ_LIBRARY_COUNT_EXPLICIT] +=
      composite == FNZI_COMPOSITE_EXPLICIT || composite == FNZI_COMPOSITE_EXPLICIT_NON_FUNCTIONAL;
  counts[FNZ_LIBRARY_COUNT_NON_FUNCTIONAL] += composite == FNZI_COMPOSITE_EXPLICIT_NON_FUNCTIONAL;
}

void fnz_library_count_all(const fnz_library *library, size_t *counts) {
  memset(counts, 0, FNZ_LIBRARY_COUNTS * sizeof *counts);
  for (size_t i = 0; i < library->nentries; i++)
    count_entry(&library->natives[i], counts);
  for (size_t i = library->nentries; i < library->count; i++) {
    bool functional = library->natives[i].kind == FNZI_KIND_FUNCTIONAL;
    counts[FNZ_LIBRARY_COUNT_GENERATED_OUT] += !functional;
    counts[FNZ_LIBRARY_COUNT_GENERATED_FUNCTIONAL] += functional;
    counts[FNZ_LIBRARY_COUNT_GENERATED_RENAMED] +=
        functional && strstr(library->natives[i].op->base, "_functional") != NULL;
  }
  for (size_t i = 0; i < library->count; i++)
    counts[FNZ_LIBRARY_COUNT_SINGLE] += library->natives[i].group == FNZI_NO_GROUP;
  for (size_t i = 0; i < library->ngroups; i++) {
    const fnzi_native_group *g = &library->groups[i];
    counts[FNZ_LIBRARY_COUNT_GROUPS_INPLACE] += g->inplace != FNZI_NO_GROUP;
    counts[FNZ_LIBRARY_COUNT_GROUPS_MUTABLE] += g->mutable != FNZI_NO_GROUP;
    counts[FNZ_LIBRARY_COUNT_STRUCTURED] += fnzi_native_is_structured(&library->natives[g->out]);
  }
  for (size_t i = 0; i < library->nviews; i++) {
    const fnzi_native_view_group *v = &library->views[i];
    counts[FNZ_LIBRARY_COUNT_VIEWS_IMPLICIT] += fnzi_native_is_implicit(&library->natives[v->view]);
    counts[FNZ_LIBRARY_COUNT_VIEWS_COPY] += v->copy != FNZI_NO_GROUP;
    counts[FNZ_LIBRARY_COUNT_VIEWS_INPLACE] += v->inplace != FNZI_NO_GROUP;
  }
  counts[FNZ_LIBRARY_COUNT_ENTRIES] = library->nentries;
  counts[FNZ_LIBRARY_COUNT_GENERATED] = library->count - library->nentries;
  counts[FNZ_LIBRARY_COUNT_TOTAL] = library->count;
  counts[FNZ_LIBRARY_COUNT_GROUPS] = library->ngroups;
  counts[FNZ_LIBRARY_COUNT_VIEWS] = library->nviews;
  counts[FNZ_LIBRARY_COUNT_TAGS] = library->tags.count;
  counts[FNZ_LIBRARY_COUNT_RULES] = FNZI_RULE_COUNT;
}

/* --- The table -------------------------------------------------------------------------------- */

static const char *name_or_dash(const fnz_library *library, fnzi_native_member place) {
  return place == FNZI_NO_GROUP ? "-" : library->natives[place].op->name;
}

static fnz_status put_row(fnz_context *ctx, const fnz_library *library, const fnzi_native *n,
                          fnz_buffer *out) {
  static const char *const composites[] = {"kernel", "implicit", "explicit", "explicit"};
  const fnz_op *op = n->op, of_kind = {.kind = n->kind};
  const char *space = strstr(op->name, "::") ? "" : "aten::";
  const bool is_functional = n->kind == FNZI_KIND_FUNCTIONAL;
  const fnzi_native_view_group *view =
      n->view_group == FNZI_NO_GROUP ? NULL : &library->views[n->view_group];
  FNZ_TRY(fnzi_printf(ctx, out, "%s%s\t%s\t%s\t%s\t%s\t", space, op->name, fnz_op_kind(&of_kind),
                      op->is_view ? "view" : "-", composites[op->composite], op->tags_text));
  /* The functional operator of a group, for its other members. */
  const char *functional = n->group == FNZI_NO_GROUP || is_functional
                               ? "-"
                               : name_or_dash(library, library->groups[n->group].functional);
  const char *copy = view && op->is_view && is_functional ? name_or_dash(library, view->copy) : "-";
  const char *of = view && n->kind == FNZI_KIND_INPLACE ? name_or_dash(library, view->view) : "-";
  FNZ_TRY(fnzi_printf(ctx, out, "%s\t%s\t%s\t", functional, copy, of));
  return fnzi_printf(ctx, out, "%s%s\t%s\t%s\n", space, op->schema, op->model_text,
                     op->dispatch_text);
}

static fnz_status put_headings(fnz_context *ctx, fnz_buffer *out) {
  static const char *const headings[] = {
#define COLUMN_HEADING(id, heading) heading,
      FNZI_COLUMN_ROWS(COLUMN_HEADING)
#undef COLUMN_HEADING
  };
  FNZ_TRY(fnzi_put_text(ctx, out, "# "));
  for (size_t i = 0; i < FNZI_COLUMN_COUNT; i++)
    FNZ_TRY(fnzi_printf(ctx, out, "%s%s", i ? "\t" : "", headings[i]));
  return fnzi_put_text(ctx, out, "   (native_functions.yaml and the variants generated from it)\n");
}

static int by_name(const void *a, const void *b) {
  const fnzi_native *const *x = a, *const *y = b;
  return strcmp((*x)->op->name, (*y)->op->name);
}

fnz_status fnz_library_write_table(fnz_context *ctx, const fnz_library *library, fnz_buffer *out) {
  struct {
    const fnzi_native **data;
    size_t count, capacity;
  } rows = {0};
  FNZI_RESERVE(ctx, &rows, library->count + 1);
  for (size_t i = 0; i < library->count; i++)
    rows.data[rows.count++] = &library->natives[i];
  qsort(rows.data, rows.count, sizeof *rows.data, by_name);
  fnz_status status = put_headings(ctx, out);
  for (size_t i = 0; i < rows.count && status == FNZ_OK; i++)
    status = put_row(ctx, library, rows.data[i], out);
  FNZI_VEC_FREE(ctx, &rows);
  return status;
}
