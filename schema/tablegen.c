/* tablegen.c - the build-time program that turns schema/aten.tsv into constant tables.
 *
 *   fnz-tablegen aten.tsv out.c names.h
 *
 * It reads the columns name, composite, tags, schema, model and dispatch. Kinds, views and twins
 * follow from the schemas; the table's own columns for those are what the tests compare with. The
 * rows of aliases.def and facts.def are resolved here. Lists of parameters that are equal, or that
 * others begin with, are written once: each has addresses that are made anew in every process. */
#include "schema/facts/facts.h"
#include "schema/table.h"
#include "schema/twins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_OPS = 8192 };

typedef struct list_text {
  const char *data;
  size_t size;
} list_text;

typedef struct table {
  fnz_context *ctx;
  fnzi_arena arena;
  fnz_op *ops;
  size_t count;
  fnzi_map known;   /* text of a list, or of the first part of one -> its number */
  fnz_buffer lists; /* definitions of lists */
  struct {
    list_text *data;
    size_t count, capacity;
  } params;        /* lists of parameters, one for each place that has one */
  fnz_buffer text; /* of the list in hand */
  fnz_buffer rows;
  fnz_buffer facts; /* of each operator */
} table;

/* --- Reading ---------------------------------------------------------------------------------- */

static fnz_status read_file(fnz_context *ctx, const char *path, fnz_buffer *out) {
  char block[1 << 14];
  FILE *f = fopen(path, "rb");
  fnz_status status = FNZ_OK;
  if (!f)
    return fnzi_fail(ctx, FNZ_CLASS_IO, path, "cannot be opened");
  for (size_t n; status == FNZ_OK && (n = fread(block, 1, sizeof block, f)) > 0;)
    status = fnzi_put(ctx, out, block, n);
  if (ferror(f) && status == FNZ_OK)
    status = fnzi_fail(ctx, FNZ_CLASS_IO, path, "cannot be read");
  fclose(f);
  return status;
}

static fnz_status read_row(table *t, char *line) {
  char *columns[FNZI_COLUMN_COUNT];
  fnz_op *op;
  if (!*line || *line == '#')
    return FNZ_OK;
  /* Ends each column with a zero byte. */
  size_t count = 0;
  for (char *at = line; at && count < FNZI_COLUMN_COUNT; count++) {
    columns[count] = at;
    at = strchr(at, '\t');
    if (at)
      *at++ = 0;
  }
  if (count != FNZI_COLUMN_COUNT || t->count == MOST_OPS)
    return fnzi_fail(t->ctx, FNZ_CLASS_SYNTAX, line,
                     "a row has %d columns, a table %d rows at most", FNZI_COLUMN_COUNT, MOST_OPS);
  FNZ_TRY(fnzi_at(t->ctx, fnzi_schema_parse(&t->arena, columns[FNZI_COLUMN_SCHEMA], &op), "%s",
                  columns[FNZI_COLUMN_NAME]));
  op->dispatch_text = columns[FNZI_COLUMN_DISPATCH];
  op->composite = fnzi_composite_parse(columns[FNZI_COLUMN_COMPOSITE], op->dispatch_text);
  op->tags_text = columns[FNZI_COLUMN_TAGS];
  op->tags = fnzi_tag_bits(op->tags_text);
  op->is_view = fnzi_schema_is_view(op);
  FNZ_TRY(fnzi_model_parse(&t->arena, columns[FNZI_COLUMN_MODEL], op));
  t->ops[t->count++] = *op;
  return FNZ_OK;
}

static int tablegen_by_name(const void *a, const void *b) {
  const fnz_op *x = a, *y = b;
  return strcmp(x->name, y->name);
}

/* --- Other names ------------------------------------------------------------------------------ */

static const char *const aliases[][2] = {
#define ALIAS(name, other) {name, other},
#include "schema/facts/aliases.def"
#undef ALIAS
};

/* Each takes the arguments of the other, and gives what it gives. */
static bool are_alike(const fnzi_param *a, const fnzi_param *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (a[i].type != b[i].type || a[i].is_list != b[i].is_list || a[i].optional != b[i].optional ||
        a[i].item_optional != b[i].item_optional || a[i].list_size != b[i].list_size ||
        a[i].is_write != b[i].is_write)
      return false;
  return true;
}

static bool may_stand_for(const fnz_op *op, const fnz_op *other) {
  return op->kind == other->kind && op->nparams == other->nparams &&
         op->nreturns == other->nreturns && are_alike(op->params, other->params, op->nparams) &&
         are_alike(op->returns, other->returns, op->nreturns);
}

static fnz_status add_row(table *t, const char *name, const char *other) {
  bool found = false, is_one = strchr(name, '.') || strchr(other, '.');
  for (size_t i = 0; i < t->count; i++) {
    fnz_op *op = &t->ops[i];
    const char *whole = other;
    if (op->kind != FNZI_KIND_FUNCTIONAL || strcmp(is_one ? op->name : op->base, name) != 0)
      continue;
    if (!is_one && *op->overload)
      FNZ_TRY(fnzi_arena_format(&t->arena, &whole, "%s.%s", other, op->overload));
    const fnz_op key = {.name = whole};
    const fnz_op *same = bsearch(&key, t->ops, t->count, sizeof key, tablegen_by_name);
    if (!same || op->alias_of != FNZI_NO_OP || op->composite != FNZI_COMPOSITE_IMPLICIT ||
        op->is_view || same->is_view || !may_stand_for(op, same))
      return fnzi_fail(
          t->ctx, FNZ_CLASS_TYPE, op->name,
          "aliases.def: it cannot be another name of %s; both must be functional and no "
          "views, with the same types of parameters, and this one a composite",
          whole);
    op->alias_of = (uint16_t)(same - t->ops);
    found = true;
  }
  return found ? FNZ_OK
               : fnzi_fail(t->ctx, FNZ_CLASS_REF, name, "aliases.def: there is no such operator");
}

static fnz_status find_aliases(table *t) {
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    if (i && strcmp(aliases[i - 1][0], aliases[i][0]) >= 0)
      return fnzi_fail(t->ctx, FNZ_CLASS_SYNTAX, aliases[i][0], "aliases.def is not sorted");
    FNZ_TRY(add_row(t, aliases[i][0], aliases[i][1]));
  }
  for (size_t i = 0; i < t->count; i++) {
    fnz_op *op = &t->ops[i];
    const fnz_op *twin = op->functional == FNZI_NO_OP ? op : &t->ops[op->functional];
    if (op != twin && twin->alias_of != FNZI_NO_OP) {
      /* The form of the twin's canonical operator that has the kind of `op`, if there is one. */
      op->alias_of = FNZI_NO_OP;
      for (size_t k = 0; k < t->count && op->alias_of == FNZI_NO_OP; k++)
        if (t->ops[k].functional == twin->alias_of && may_stand_for(op, &t->ops[k]))
          op->alias_of = (uint16_t)k;
    }
    if (op->alias_of != FNZI_NO_OP && t->ops[op->alias_of].alias_of != FNZI_NO_OP)
      return fnzi_fail(t->ctx, FNZ_CLASS_DUPLICATE, op->name,
                       "aliases.def: %s, which it is another name of, is one itself",
                       t->ops[op->alias_of].name);
  }
  return FNZ_OK;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static fnz_status put_string(table *t, fnz_buffer *out, const char *s) {
  if (!s)
    return fnzi_put_text(t->ctx, out, "0");
  FNZ_TRY(fnzi_put_text(t->ctx, out, "\""));
  for (; *s; s++) {
    FNZ_TRY(fnzi_put_text(t->ctx, out, *s == '"' || *s == '\\' ? "\\" : ""));
    FNZ_TRY(fnzi_put(t->ctx, out, s, 1));
  }
  return fnzi_put_text(t->ctx, out, "\"");
}

/* A list's number: the one it has, or the next. `text` is its body. */
static fnz_status intern_list(table *t, const char *type, const fnz_buffer *text, uint64_t *out) {
  const char *key;
  if (fnzi_map_get(&t->known, text->data, text->size, out))
    return FNZ_OK;
  *out = t->lists.size; /* any number that is taken once */
  FNZ_TRY(fnzi_arena_string(&t->arena, text->data, text->size, &key));
  FNZ_TRY(fnzi_map_set(&t->known, key, text->size, *out));
  return fnzi_printf(t->ctx, &t->lists, "static const %s L%llu[] = {\n%s};\n", type,
                     (unsigned long long)*out, text->data);
}

static fnz_status put_scalar(table *t, fnz_buffer *out, const fnz_arg *arg) {
  FNZ_TRY(fnzi_printf(t->ctx, out, "{%d, 0, %u, ", arg->tag, arg->count));
  if (arg->tag == FNZ_ARG_STRING || arg->tag == FNZ_ARG_DEVICE) {
    FNZ_TRY(fnzi_put_text(t->ctx, out, "{.s = "));
    FNZ_TRY(put_string(t, out, arg->u.s));
    return fnzi_put_text(t->ctx, out, "}}");
  }
  if (arg->tag != FNZ_ARG_FLOAT)
    return fnzi_printf(t->ctx, out, "{%lld}}", (long long)arg->u.i);
  char text[32];
  fnzi_double_text(arg->u.f, text);
  if (!isfinite(arg->u.f))
    return fnzi_fail(t->ctx, FNZ_CLASS_UNSUPPORTED, "", "a default of %s", text);
  return fnzi_printf(t->ctx, out, "{.f = %s}}", text);
}

static fnz_status put_arg(table *t, fnz_buffer *out, const fnz_arg *arg) {
  uint64_t list;
  fnz_buffer items = {0};
  if (arg->tag != FNZ_ARG_LIST)
    return put_scalar(t, out, arg);
  if (!arg->count)
    return fnzi_printf(t->ctx, out, "{%d, 0, 0, {0}}", FNZ_ARG_LIST);
  fnz_status status = FNZ_OK;
  for (uint32_t i = 0; i < arg->count && status == FNZ_OK; i++) {
    status = put_scalar(t, &items, &arg->u.list[i]);
    if (status == FNZ_OK)
      status = fnzi_put_text(t->ctx, &items, ",\n");
  }
  if (status == FNZ_OK)
    status = intern_list(t, "fnz_arg", &items, &list);
  if (status == FNZ_OK)
    status = fnzi_printf(t->ctx, out, "{%d, 0, %u, {.list = L%llu}}", FNZ_ARG_LIST, arg->count,
                         (unsigned long long)list);
  fnz_buffer_free(t->ctx, &items);
  return status;
}

/* Each on a line of its own, as t->text. */
static fnz_status put_list(table *t, const fnzi_param *params, size_t count) {
  t->text.size = 0;
  for (size_t i = 0; i < count; i++) {
    const fnzi_param *p = &params[i];
    FNZ_TRY(fnzi_put_text(t->ctx, &t->text, "{"));
    FNZ_TRY(put_string(t, &t->text, p->name));
    FNZ_TRY(fnzi_printf(t->ctx, &t->text, ", %d, ", p->type));
    FNZ_TRY(put_string(t, &t->text, p->class_name));
    FNZ_TRY(fnzi_printf(t->ctx, &t->text, ", %d, %d, %d, %d, %u, %u, ", p->is_list,
                        p->item_optional, p->optional, p->list_size, p->alias, p->alias_after));
    FNZ_TRY(put_string(t, &t->text, p->alias_text));
    FNZ_TRY(fnzi_printf(t->ctx, &t->text, ", %d, %d, %d, %d, %d, %d, ", p->is_write, p->is_wildcard,
                        p->keyword_only, p->is_out, p->promotes, p->has_default));
    FNZ_TRY(put_string(t, &t->text, p->default_text));
    FNZ_TRY(fnzi_put_text(t->ctx, &t->text, ", "));
    FNZ_TRY(put_arg(t, &t->text, &p->default_value));
    FNZ_TRY(fnzi_put_text(t->ctx, &t->text, "},\n"));
  }
  return FNZ_OK;
}

static fnz_status note_list(table *t, const fnzi_param *params, size_t count) {
  list_text list = {NULL, 0};
  if (!count)
    return FNZ_OK;
  FNZ_TRY(put_list(t, params, count));
  FNZ_TRY(fnzi_arena_string(&t->arena, t->text.data, t->text.size, &list.data));
  list.size = t->text.size;
  FNZI_PUSH(t->ctx, &t->params, list);
  return FNZ_OK;
}

static int longest_first(const void *a, const void *b) {
  const list_text *x = a, *y = b;
  return x->size != y->size ? (x->size < y->size) - (x->size > y->size) : strcmp(x->data, y->data);
}

/* ", L12, 3" into the rows. */
static fnz_status put_params(table *t, const fnzi_param *params, size_t count) {
  uint64_t list = 0;
  if (!count)
    return fnzi_put_text(t->ctx, &t->rows, ", 0, 0");
  FNZ_TRY(put_list(t, params, count));
  if (!fnzi_map_get(&t->known, t->text.data, t->text.size, &list))
    return fnzi_fail(t->ctx, FNZ_CLASS_INTERNAL, params->name, "a list that is not defined");
  return fnzi_printf(t->ctx, &t->rows, ", L%llu, %zu", (unsigned long long)list, count);
}

static fnz_status put_op(table *t, const fnz_op *op) {
  const char *const texts[] = {op->name, op->base, op->overload, op->schema, op->tags_text};
  FNZ_TRY(fnzi_put_text(t->ctx, &t->rows, "{"));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    FNZ_TRY(put_string(t, &t->rows, texts[i]));
    FNZ_TRY(fnzi_put_text(t->ctx, &t->rows, ", "));
  }
  FNZ_TRY(fnzi_printf(t->ctx, &t->rows, "%d, %d, %u, %d, %d", op->kind, op->composite, op->tags,
                      op->is_view, op->promotion));
  FNZ_TRY(put_params(t, op->params, op->nparams));
  FNZ_TRY(put_params(t, op->returns, op->nreturns));
  FNZ_TRY(fnzi_printf(t->ctx, &t->rows, ", %d, %d, %d, %d, %d, %u, ", op->functional, op->view_copy,
                      op->view_of, op->inplace, op->alias_of, op->flags));
  FNZ_TRY(put_string(t, &t->rows, op->delegate));
  FNZ_TRY(fnzi_put_text(t->ctx, &t->rows, ", "));
  FNZ_TRY(put_string(t, &t->rows, op->model_text));
  FNZ_TRY(fnzi_put_text(t->ctx, &t->rows, ", "));
  FNZ_TRY(put_string(t, &t->rows, op->dispatch_text));
  return fnzi_put_text(t->ctx, &t->rows, "},\n");
}

static fnz_status create_file(table *t, const char *path, FILE **out) {
  *out = fopen(path, "wb");
  return *out ? FNZ_OK : fnzi_fail(t->ctx, FNZ_CLASS_IO, path, "cannot be created");
}

static fnz_status close_file(table *t, const char *path, FILE *f) {
  bool failed = ferror(f);
  if (fclose(f) != 0 || failed)
    return fnzi_fail(t->ctx, FNZ_CLASS_IO, path, "cannot be written");
  return FNZ_OK;
}

/* The row of this name; 0 where there is none. */
static size_t find_fact(const char *name) {
  for (size_t i = 1; i < fnzi_facts_count; i++)
    if (strcmp(fnzi_facts[i].name, name) == 0)
      return i;
  return 0;
}

/* The promotion and the rows of each operator are the canonical ones of its functional form.
 * The rows are sorted, and each is of an operator that is no alias. */
static fnz_status find_facts(table *t) {
  bool *used;
  FNZI_NEW(&t->arena, fnzi_facts_count, &used);
  for (size_t i = 0; i < t->count; i++) {
    fnz_op *op = &t->ops[i];
    const fnz_op *twin = op->functional == FNZI_NO_OP ? op : &t->ops[op->functional];
    const fnz_op *owner = twin->alias_of == FNZI_NO_OP ? twin : &t->ops[twin->alias_of];
    const char *base;
    FNZ_TRY(fnzi_arena_format(&t->arena, &base, "%s.*", owner->base));
    const size_t rows[FNZI_FACT_ROWS] = {find_fact(owner->name), find_fact(base)};
    op->promotion = fnzi_promotion_by_tags(owner);
    for (size_t k = FNZI_FACT_ROWS; k-- > 0;) {
      used[rows[k]] = true;
      if (fnzi_facts[rows[k]].promotes.is_known)
        op->promotion = fnzi_facts[rows[k]].promotes.kind;
    }
    FNZ_TRY(fnzi_printf(t->ctx, &t->facts, "{%zu, %zu},\n", rows[0], rows[1]));
  }
  for (size_t i = 1; i < fnzi_facts_count; i++)
    if (!used[i] || (i > 1 && strcmp(fnzi_facts[i - 1].name, fnzi_facts[i].name) >= 0))
      return fnzi_fail(t->ctx, FNZ_CLASS_REF, fnzi_facts[i].name,
                       used[i] ? "facts.def is not sorted"
                               : "facts.def: there is no such operator, or it is an alias");
  return FNZ_OK;
}

static fnz_status write_table(table *t, const char *path) {
  FILE *f;
  FNZ_TRY(create_file(t, path, &f));
  fprintf(f, "/* Generated by fnz-tablegen from schema/aten.tsv. */\n"
             "#include \"schema/facts/facts.h\"\n");
  fprintf(f, "%sconst struct fnz_op fnzi_ops[] = {\n%s};\n", t->lists.data, t->rows.data);
  fprintf(f, "const size_t fnzi_ops_count = %zu;\n", t->count);
  fprintf(f, "const uint16_t fnzi_fact_rows[][FNZI_FACT_ROWS] = {\n%s};\n", t->facts.data);
  return close_file(t, path, f);
}

/* FNZI_ATEN_select__int for select.int. Two operators with one such name would not compile. */
static fnz_status write_names(table *t, const char *path) {
  FILE *f;
  FNZ_TRY(create_file(t, path, &f));
  fprintf(f, "/* Generated by fnz-tablegen from schema/aten.tsv: the place of each operator. */\n"
             "#ifndef FNZI_ATEN_NAMES_H\n#define FNZI_ATEN_NAMES_H\n\nenum {\n");
  for (size_t i = 0; i < t->count; i++)
    fprintf(f, "  FNZI_ATEN_%s%s%s = %zu,\n", t->ops[i].base, *t->ops[i].overload ? "__" : "",
            t->ops[i].overload, i);
  fprintf(f, "  FNZI_ATEN_COUNT\n};\n\n#endif\n");
  return close_file(t, path, f);
}

static fnz_status generate(table *t, fnz_buffer *file, const char *const paths[3]) {
  FNZ_TRY(read_file(t->ctx, paths[0], file));
  FNZI_NEW(&t->arena, MOST_OPS, &t->ops);
  for (char *line = file->data; line && *line;) {
    char *next = strchr(line, '\n');
    if (next)
      *next++ = 0;
    FNZ_TRY(read_row(t, line));
    line = next;
  }
  qsort(t->ops, t->count, sizeof *t->ops, tablegen_by_name);
  FNZ_TRY(fnzi_twins_find(t->ctx, t->ops, t->count));
  FNZ_TRY(find_aliases(t));
  FNZ_TRY(find_facts(t));
  for (size_t i = 0; i < t->count; i++) {
    FNZ_TRY(note_list(t, t->ops[i].params, t->ops[i].nparams));
    FNZ_TRY(note_list(t, t->ops[i].returns, t->ops[i].nreturns));
  }
  qsort(t->params.data, t->params.count, sizeof *t->params.data, longest_first);
  for (size_t i = 0; i < t->params.count; i++) {
    const list_text *list = &t->params.data[i];
    uint64_t number; /* a list also defines its leading parts */
    if (!fnzi_map_get(&t->known, list->data, list->size, &number)) {
      FNZ_TRY(intern_list(t, "fnzi_param",
                          &(fnz_buffer){(char *)(uintptr_t)list->data, list->size, 0}, &number));
      const char *end = list->data;
      while ((end = strchr(end, '\n')) != NULL)
        FNZ_TRY(fnzi_map_set(&t->known, list->data, (size_t)(++end - list->data), number));
    }
  }
  for (size_t i = 0; i < t->count; i++)
    FNZ_TRY(put_op(t, &t->ops[i]));
  FNZ_TRY(write_table(t, paths[1]));
  return write_names(t, paths[2]);
}

int main(int argc, char **argv) {
  table t = {0};
  fnz_buffer file = {0};
  fnz_context *ctx;
  if (argc != 4) {
    fputs("usage: fnz-tablegen aten.tsv out.c names.h\n", stderr);
    return EXIT_FAILURE;
  }
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return EXIT_FAILURE;
  const char *const paths[] = {argv[1], argv[2], argv[3]};
  t.ctx = ctx;
  fnzi_arena_init(&t.arena, ctx);
  fnzi_map_init(&t.known, ctx);
  fnz_status status = generate(&t, &file, paths);
  if (status != FNZ_OK)
    fprintf(stderr, "fnz-tablegen: %s: %s\n", ctx->error.where, ctx->error.message);
  fnz_buffer_free(ctx, &file);
  fnz_buffer_free(ctx, &t.lists);
  FNZI_VEC_FREE(ctx, &t.params);
  fnz_buffer_free(ctx, &t.text);
  fnz_buffer_free(ctx, &t.rows);
  fnz_buffer_free(ctx, &t.facts);
  fnzi_map_free(&t.known);
  fnzi_arena_free(&t.arena);
  fnz_context_destroy(ctx);
  return status == FNZ_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
