/* custom.c - operators outside the table: declared by their schema, for a context or for one
 * program.
 *
 * Each operator that writes gets a functional form at once: the declared operator with the name and
 * the types that PyTorch would give it, or else one that is derived. A derived form is found by its
 * name like any other, so that functional programs can be read back.
 *
 * Whether the old contents of a written keyword-only argument matter is unknown. Without a
 * declared functional form that leaves it out, the operator counts as mutable, not as out=, and
 * reads what it writes. */
#include "schema/custom.h"

#include "schema/derive.h"

/* A declared operator around its public part, whose `functional` is FNZI_DECLARED_OP when the one
 * here holds. */
struct declared {
  fnz_op op;
  const fnzi_scope *scope;
  const fnz_op *functional;  /* itself when functional; NULL: there is none */
  struct declared *on_bases; /* its form by fnzi_derive_on_bases(); NULL: none */
  const struct declared *of; /* of such a form: the operator that writes; else NULL */
  const fnzi_param *params;  /* as the schema has them */
  fnzi_kind kind;            /* as the schema says */
  bool is_derived;
};
typedef struct declared declared;

static const declared *around(const fnz_op *op) {
  return (const declared *)(const void *)op;
}

/* Operators that are not in the table have no indices. */
const fnz_op *fnz_op_functional_twin(const fnz_op *op) {
  if (op->functional == FNZI_DECLARED_OP)
    return around(op)->functional;
  return op->kind == FNZI_KIND_FUNCTIONAL ? op : fnzi_op_by_index(op->functional);
}

bool fnzi_op_is_derived(const fnz_op *op) {
  return op->functional == FNZI_DECLARED_OP && around(op)->is_derived;
}

const fnz_op *fnzi_op_on_bases(const fnz_op *op) {
  const declared *form = op->functional == FNZI_DECLARED_OP ? around(op)->on_bases : NULL;
  return form ? &form->op : NULL;
}

const fnz_op *fnzi_op_of_bases(const fnz_op *op) {
  const declared *of = op->functional == FNZI_DECLARED_OP ? around(op)->of : NULL;
  return of ? &of->op : NULL;
}

static const fnz_op *member_in(const fnzi_scope *scope, const fnz_op *functional, fnzi_kind kind) {
  for (size_t i = 0; scope && i < scope->list.count; i++) {
    const declared *d = scope->list.data[i];
    if (d->functional == functional && d->op.kind == kind)
      return &d->op;
  }
  return NULL;
}

const fnz_op *fnzi_declared_member(const fnz_op *op, const fnz_op *functional, fnzi_kind kind) {
  const fnzi_scope *scope = around(op)->scope;
  const fnz_op *member = member_in(scope, functional, kind);
  return member ? member : member_in(scope->ctx->operators, functional, kind);
}

/* --- Scopes ----------------------------------------------------------------------------------- */

void fnzi_scope_init(fnzi_scope *scope, fnz_context *ctx) {
  *scope = (fnzi_scope){.ctx = ctx};
  fnzi_arena_init(&scope->arena, ctx);
  fnzi_map_init(&scope->names, ctx);
}

void fnzi_scope_end(fnzi_scope *scope) {
  fnzi_map_free(&scope->names);
  fnzi_arena_free(&scope->arena);
  FNZI_VEC_FREE(scope->ctx, &scope->list);
}

static void end_operators(fnz_context *ctx) {
  fnzi_scope_end(ctx->operators);
  fnzi_free(ctx, ctx->operators, sizeof *ctx->operators);
}

static declared *find_in(const fnzi_scope *scope, const char *name, size_t size) {
  uint64_t at;
  return scope && fnzi_map_get(&scope->names, name, size, &at) ? scope->list.data[at] : NULL;
}

/* In the scope, else in that of the context. */
static declared *custom_find(const fnzi_scope *scope, const char *name, size_t size) {
  declared *d = find_in(scope, name, size);
  return d ? d : find_in(scope->ctx->operators, name, size);
}

static size_t name_size(const char *name) {
  static const char empty[] = ".default";
  size_t size = strlen(name), tail = sizeof empty - 1;
  return size > tail && strcmp(name + size - tail, empty) == 0 ? size - tail : size;
}

const fnz_op *fnzi_scope_find(const fnzi_scope *scope, const char *name) {
  const declared *d = custom_find(scope, name, name_size(name));
  return d ? &d->op : fnzi_ops_find(name);
}

const fnz_op *fnz_op_find(const fnz_context *ctx, const char *name) {
  const declared *d = ctx ? find_in(ctx->operators, name, name_size(name)) : NULL;
  return d ? &d->op : fnzi_ops_find(name);
}

size_t fnz_op_declared_count(const fnz_context *ctx) {
  return ctx->operators ? ctx->operators->list.count : 0;
}

const fnz_op *fnz_op_declared_at(const fnz_context *ctx, size_t index) {
  return index < fnz_op_declared_count(ctx) ? &ctx->operators->list.data[index]->op : NULL;
}

/* A derived operator gives its place to the declared one of its name. */
static fnz_status publish(fnzi_scope *scope, declared *d) {
  uint64_t place;
  size_t size = strlen(d->op.name);
  if (fnzi_map_get(&scope->names, d->op.name, size, &place)) {
    scope->list.data[place] = d;
    return FNZ_OK;
  }
  FNZI_PUSH(scope->ctx, &scope->list, d);
  fnz_status status = fnzi_map_set(&scope->names, d->op.name, size, scope->list.count - 1);
  if (status != FNZ_OK)
    scope->list.count--;
  return status;
}

/* --- Rules ------------------------------------------------------------------------------------ */

static fnz_status custom_refuse(const fnzi_scope *scope, const fnz_op *op, const char *what,
                                const char *name) {
  return fnzi_fail(scope->ctx, FNZ_CLASS_TYPE, op->name, "`%s` %s; the schema is %s", name, what,
                   op->schema);
}

static fnz_status check_return(const fnzi_scope *scope, const fnz_op *op, const fnzi_param *r) {
  const fnzi_param *p = fnzi_op_returned(op, r);
  if (r->is_write && !p)
    return custom_refuse(scope, op, "is a result and no argument that is written", r->alias_text);
  for (size_t i = 0; i < op->nparams && !r->is_write; i++)
    if (op->params[i].is_write && op->params[i].alias & r->alias)
      return custom_refuse(scope, op, "is written and returned: say so in both places, Tensor(a!)",
                           op->params[i].name);
  if (p && (p->type != r->type || p->is_list != r->is_list || p->optional != r->optional ||
            p->item_optional != r->item_optional))
    return custom_refuse(scope, op, "is returned under another type", p->name);
  for (const fnzi_param *before = op->returns; p && before < r; before++)
    if (fnzi_op_returned(op, before) == p)
      return custom_refuse(scope, op, "is returned twice; once is enough", p->name);
  return FNZ_OK;
}

static fnz_status check(const fnzi_scope *scope, const fnz_op *op) {
  if (!strstr(op->name, "::"))
    return custom_refuse(scope, op, "has no namespace of its own; write ns::name(...)", op->name);
  if (strstr(op->overload, "functional") && op->kind != FNZI_KIND_FUNCTIONAL)
    return custom_refuse(scope, op, "is an overload name for operators that write nothing",
                         op->overload);
  for (const fnzi_param *p = op->params; p < op->params + op->nparams; p++) {
    if (!p->is_write)
      continue;
    if (p->type != FNZI_TYPE_TENSOR)
      return custom_refuse(scope, op, "is written, but only tensors can be", p->name);
    if (p->is_wildcard || p->alias_after)
      return custom_refuse(scope, op, "is written and stays what it is: write Tensor(a!)", p->name);
    /* Another argument may share memory with `p`. */
    for (const fnzi_param *other = op->params; other < op->params + op->nparams; other++)
      if (other != p && (other->alias | other->alias_after) & p->alias)
        return custom_refuse(
            scope, op, "is written under the letter of another argument; use another one", p->name);
  }
  for (size_t i = 0; i < op->nreturns; i++)
    if (op->returns[i].alias)
      FNZ_TRY(check_return(scope, op, &op->returns[i]));
  return FNZ_OK;
}

/* --- Functional forms ------------------------------------------------------------------------- */

static bool same_type(const fnzi_param *a, const fnzi_param *b) {
  if (a->type != b->type)
    return false;
  bool same_class = a->type != FNZI_TYPE_CLASS || strcmp(a->class_name, b->class_name) == 0;
  return same_class && a->is_list == b->is_list && a->item_optional == b->item_optional &&
         a->optional == b->optional;
}

/* They take the same arguments and give the same results; defaults and names of results may differ.
 */
static bool same_signature(const fnz_op *a, const fnz_op *b) {
  bool same =
      a->nparams == b->nparams && a->nreturns == b->nreturns && a->kind == b->kind && !b->is_view;
  for (size_t i = 0; same && i < a->nparams; i++)
    same = same_type(&a->params[i], &b->params[i]) &&
           strcmp(a->params[i].name, b->params[i].name) == 0;
  for (size_t i = 0; same && i < a->nreturns; i++)
    same = same_type(&a->returns[i], &b->returns[i]);
  return same;
}

/* Out arguments become arguments that are read as well. */
static fnz_status read_outs(fnzi_scope *scope, const fnz_op *op, fnz_op *out) {
  fnzi_param *params;
  FNZI_NEW(&scope->arena, op->nparams, &params);
  for (size_t i = 0; i < op->nparams; i++) {
    params[i] = op->params[i];
    params[i].is_out = false;
  }
  *out = *op;
  out->params = params;
  if (op->kind != FNZI_KIND_INPLACE)
    out->kind = FNZI_KIND_MUTABLE;
  return FNZ_OK;
}

static void become_functional(declared *d) {
  d->op.functional = FNZI_DECLARED_OP;
  d->functional = &d->op;
}

static fnz_status add_derived(fnzi_scope *scope, const declared *of, const fnz_op *op) {
  declared *d;
  const declared *there = custom_find(scope, op->name, strlen(op->name));
  if (there && !same_signature(op, &there->op))
    return fnzi_fail(scope->ctx, FNZ_CLASS_DUPLICATE, of->op.name,
                     "its functional form would be %s, but there is %s; give that one the same "
                     "arguments and results, or another name",
                     op->schema, there->op.schema);
  if (there)
    return FNZ_OK;
  FNZI_NEW(&scope->arena, 1, &d);
  *d = (declared){.op = *op, .scope = scope, .is_derived = true};
  become_functional(d);
  return publish(scope, d);
}

static size_t base_size(const fnz_op *op) {
  return strlen(op->name) - (*op->overload ? strlen(op->overload) + 1 : 0);
}

static const declared *find_signature(const fnzi_scope *scope, const fnz_op *functional) {
  /* Namespace and base are the same, whatever the overloads. PyTorch's collectives into `out` have
   * that in the base. */
  const size_t plain = fnzi_builtin_plain_size(functional->name);
  const size_t size = plain ? plain : base_size(functional);
  for (size_t i = 0; scope && i < scope->list.count; i++) {
    const declared *d = scope->list.data[i];
    if (!d->is_derived && size == base_size(&d->op) &&
        strncmp(functional->name, d->op.name, size) == 0 && same_signature(functional, &d->op))
      return d;
  }
  return NULL;
}

/* Finds or makes the form for tensors that share memory. */
static fnz_status resolve_bases(fnzi_scope *scope, declared *d) {
  fnz_op *form;
  size_t written = 0;
  for (size_t i = 0; i < d->op.nparams; i++)
    written += d->op.params[i].is_write ? 1 + d->op.params[i].is_list : 0;
  if (written <= 1)
    return FNZ_OK;
  FNZ_TRY(fnzi_derive_on_bases(&scope->arena, &d->op, &form));
  FNZ_TRY(add_derived(scope, d, form));
  d->on_bases = custom_find(scope, form->name, strlen(form->name));
  d->on_bases->of = d;
  return FNZ_OK;
}

/* Finds or makes the functional form. */
static fnz_status resolve(fnzi_scope *scope, declared *d) {
  const declared *twin;
  fnz_op whole = d->op, *functional;
  whole.params = d->params;
  whole.kind = d->kind;
  if (whole.kind == FNZI_KIND_FUNCTIONAL)
    become_functional(d);
  if (!fnz_op_is_mutating(&whole) || whole.is_view)
    return FNZ_OK;
  /* The declared functional operator that an out= operator stands for, its out arguments left out.
   */
  twin = NULL;
  if (whole.kind == FNZI_KIND_OUT) {
    fnz_op *form;
    FNZ_TRY(fnzi_derive_functional(&scope->arena, &whole, &form));
    twin = find_signature(scope, form);
    if (!twin)
      twin = find_signature(scope->ctx->operators, form);
  }
  if (!twin) {
    const fnz_op declared_as = whole;
    FNZ_TRY(read_outs(scope, &declared_as, &whole));
    FNZ_TRY(fnzi_derive_functional(&scope->arena, &whole, &functional));
    const declared *there = custom_find(scope, functional->name, strlen(functional->name));
    bool is_taken = there && !there->is_derived && !same_signature(functional, &there->op);
    if (whole.kind == FNZI_KIND_INPLACE && is_taken) {
      whole.kind = FNZI_KIND_MUTABLE; /* f_ beside another f: f__functional */
      FNZ_TRY(fnzi_derive_functional(&scope->arena, &whole, &functional));
    }
    FNZ_TRY(add_derived(scope, d, functional));
    twin = custom_find(scope, functional->name, strlen(functional->name));
  }
  whole.functional = FNZI_DECLARED_OP;
  d->op = whole;
  d->functional = &twin->op;
  return resolve_bases(scope, d);
}

/* --- Declaring -------------------------------------------------------------------------------- */

/* The schema with the usual spaces, so that equal ones are equal texts. */
static fnz_status parse(fnzi_scope *scope, const char *schema, fnz_op **out) {
  fnz_buffer text = {0};
  FNZ_TRY(fnzi_schema_parse(&scope->arena, schema, out));
  fnz_op *op = *out;
  const fnzi_param *self = op->nparams ? &op->params[0] : NULL;
  bool returns_self = op->nreturns == 1 && self && op->returns[0].alias == self->alias;
  /* An in-place operator writes its first argument and returns that or nothing. PyTorch lets a
   * custom operator whose name ends with an underscore do anything else as well. */
  bool is_inplace = self && self->is_write && (op->nreturns == 0 || returns_self);
  if (op->kind == FNZI_KIND_INPLACE && !is_inplace)
    op->kind = fnzi_kind_by_writes(op);
  op->tags |= fnzi_builtin_tags(op->name);
  fnz_status status = fnzi_schema_print(scope->ctx, op, &text);
  if (status == FNZ_OK)
    status = fnzi_arena_string(&scope->arena, text.data, text.size, &op->schema);
  fnz_buffer_free(scope->ctx, &text);
  return status;
}

/* The in-place operator that this derived form is of, which can get another one; NULL for none. */
static declared *in_place_of(const fnzi_scope *scope, const declared *form) {
  for (size_t i = 0; i < scope->list.count && form->is_derived; i++) {
    declared *d = scope->list.data[i];
    if (d->functional == &form->op && d->kind == FNZI_KIND_INPLACE && d->params)
      return d;
  }
  return NULL;
}

static fnz_status declare(fnzi_scope *scope, const char *schema, const fnz_op **out) {
  fnz_op *op;
  *out = NULL;
  FNZ_TRY(parse(scope, schema, &op));
  declared *there = custom_find(scope, op->name, strlen(op->name));
  bool is_same = there && strcmp(there->op.schema, op->schema) == 0;
  bool replaces = there && there->is_derived && same_signature(&there->op, op);
  declared *shadowed = there && !is_same && !replaces ? in_place_of(scope, there) : NULL;
  if (there && !is_same && !replaces && !shadowed)
    return fnzi_fail(scope->ctx, FNZ_CLASS_DUPLICATE, op->name, "declared as %s, but there is %s%s",
                     op->schema, there->op.schema,
                     there->is_derived ? ", the functional form of a declared operator" : "");
  if (is_same) {
    there->is_derived = false;
    *out = &there->op;
    return FNZ_OK;
  }
  if (scope->list.count >= scope->ctx->limits.operators)
    return fnzi_fail(scope->ctx, FNZ_CLASS_LIMIT, op->name,
                     "more than %zu operators are declared, derived functional forms among them",
                     scope->ctx->limits.operators);
  FNZ_TRY(check(scope, op));
  declared *d;
  FNZI_NEW(&scope->arena, 1, &d);
  *d = (declared){.op = *op, .scope = scope, .params = op->params, .kind = op->kind};
  FNZ_TRY(resolve(scope, d));
  FNZ_TRY(publish(scope, d));
  *out = &d->op;
  /* Operators that were declared before may have waited for `op`. */
  for (size_t i = 0; op->kind == FNZI_KIND_FUNCTIONAL && i < scope->list.count; i++) {
    declared *other = scope->list.data[i];
    /* The name of a functional form begins with the name of its operator. */
    const size_t size = base_size(&other->op) - (other->op.kind == FNZI_KIND_INPLACE);
    if (other->functional && other->functional != &other->op &&
        strncmp(d->op.name, other->op.name, size) == 0)
      FNZ_TRY(resolve(scope, other));
  }
  return shadowed ? resolve(scope, shadowed) : FNZ_OK;
}

/* For operators that need no declaration the name is enough; declaring a collective that writes
 * `out` also declares its form that returns a new tensor. */
fnz_status fnzi_scope_declare(fnzi_scope *scope, const char *schema, const fnz_op **out) {
  char name[128];
  const size_t size = strcspn(schema, "(");
  if (size >= sizeof name)
    return declare(scope, schema, out);
  memcpy(name, schema, size);
  name[size] = 0;
  const char *known = fnzi_builtin_schema(name);
  if (!known || (schema[size] && strcmp(schema, known) != 0))
    return declare(scope, schema, out);
  name[fnzi_builtin_plain_size(name)] = 0;
  const char *plain = *name ? fnzi_builtin_schema(name) : NULL;
  if (plain)
    FNZ_TRY(declare(scope, plain, out));
  return declare(scope, known, out);
}

fnz_status fnz_op_declare(fnz_context *ctx, const char *schema, const fnz_op **out) {
  const fnz_op *op = NULL;
  fnzi_scope *scope;
  if (out)
    *out = NULL;
  if (!ctx->operators) {
    fnzi_scope *made = fnzi_resize(ctx, NULL, 0, sizeof *made);
    if (!made)
      return fnzi_no_memory(ctx);
    fnzi_scope_init(made, ctx);
    ctx->operators = made;
    ctx->end_operators = end_operators;
  }
  scope = ctx->operators;
  FNZ_TRY(fnzi_scope_declare(scope, schema, &op));
  if (out)
    *out = op;
  return FNZ_OK;
}
