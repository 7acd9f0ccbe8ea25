/* groups.c - completing a library: what belongs together by signature, and the variants that
 * are generated where a group lacks them.
 *
 * Needs: entries that keep all rules on entries. Keeps: every entry; generated functions come
 * after. */
#include "schema/derive.h"
#include "schema/native/rules.h"

#include <stdio.h>

enum { KINDS = FNZI_KIND_FUNCTIONAL + 1 };

/* Places in one signature: a function per kind, or for views a view and an in-place view besides.
 */
enum { SLOT_VIEW = KINDS, SLOT_VIEW_INPLACE, SLOTS };

typedef struct signature {
  fnzi_native_member slots[SLOTS];
  size_t count;
} signature;

/* All signatures in the order in which they are met. */
typedef struct signatures {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_map map;
  fnz_buffer key;
  signature *data;
  size_t count, capacity;
} signatures;

static fnz_status add(signatures *s, const fnz_library *library, fnzi_native_member place,
                      bool of_views) {
  const fnzi_native *n = &library->natives[place];
  int slot = !of_views || !n->op->is_view   ? (int)n->kind
             : n->kind == FNZI_KIND_INPLACE ? SLOT_VIEW_INPLACE
                                            : SLOT_VIEW;
  s->key.size = 0;
  FNZ_TRY(fnzi_signature_put(
      s->ctx, n->op, FNZI_SIGNATURE_EXACT | (of_views ? FNZI_SIGNATURE_OF_VIEW : 0), &s->key));
  /* The entry of the signature in s->key is found, or added. */
  const char *key;
  uint64_t at;
  if (!fnzi_map_get(&s->map, s->key.data, s->key.size, &at)) {
    signature empty = {.count = 0};
    for (int i = 0; i < SLOTS; i++)
      empty.slots[i] = FNZI_NO_GROUP;
    at = s->count;
    FNZI_PUSH(s->ctx, s, empty);
    FNZ_TRY(fnzi_arena_string(&s->arena, s->key.data, s->key.size, &key));
    FNZ_TRY(fnzi_map_set(&s->map, key, s->key.size, at));
  }
  signature *found = &s->data[at];
  const fnzi_native *other = fnzi_native_at(library, found->slots[slot]);
  if (other && of_views)
    return BROKEN(view_once, "%s and %s of line %u", n->op->name, other->op->name, other->line);
  if (other)
    return BROKEN(kind_once, "%s and %s of line %u", n->op->name, other->op->name, other->line);
  found->slots[slot] = place;
  found->count++;
  return FNZ_OK;
}

/* Runs `use` with the signatures of all functions. */
static fnz_status with_signatures(fnz_library *library, bool of_views,
                                  fnz_status (*use)(fnz_library *library, const signatures *s)) {
  signatures s = {.ctx = library->ctx};
  fnzi_arena_init(&s.arena, library->ctx);
  fnzi_map_init(&s.map, library->ctx);
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < library->count && status == FNZ_OK; i++)
    status = add(&s, library, (fnzi_native_member)i, of_views);
  if (status == FNZ_OK)
    status = use(library, &s);
  FNZI_VEC_FREE(s.ctx, &s);
  fnz_buffer_free(s.ctx, &s.key);
  fnzi_map_free(&s.map);
  fnzi_arena_free(&s.arena);
  return status;
}

/* --- Generating ------------------------------------------------------------------------------- */

static fnz_status generate(fnz_library *library, const fnzi_native *from, fnzi_kind kind) {
  fnzi_native *n = &library->natives[library->count];
  uint64_t place;
  *n = (fnzi_native){.line = from->line, .kind = kind, .has_dispatch = true};
  if (kind == FNZI_KIND_OUT)
    FNZ_TRY(fnzi_derive_out(&library->arena, from->op, &n->op));
  else
    FNZ_TRY(fnzi_derive_functional(&library->arena, from->op, &n->op));
  n->op->flags =
      FNZI_OP_NO_DEVICE_CHECK | FNZI_OP_NO_DEVICE_GUARD | (from->op->flags & FNZI_OP_CONST_REF);
  /* The tags that a generated function inherits; tags for views since all operators are compliant.
   */
  uint64_t kept = library->known[FNZI_KNOWN_RANDOM] | library->known[FNZI_KNOWN_PT2];
  if (library->known[FNZI_KNOWN_PT2])
    kept |= library->known[FNZI_KNOWN_VIEW_COPY];
  n->tags = (from->tags & kept) | library->known[FNZI_KNOWN_GENERATED] |
            (kind == FNZI_KIND_OUT ? library->known[FNZI_KNOWN_OUT] : 0);
  /* It has one kernel for all backends, called by base and, for out= ones, overload. */
  fnzi_native_dispatch *dispatch;
  const bool out = kind == FNZI_KIND_OUT;
  bool takes_symint = false;
  for (size_t i = 0; !takes_symint && i < from->op->nparams; i++)
    takes_symint = from->op->params[i].type == FNZI_TYPE_SYM_INT && !from->op->params[i].is_out;
  FNZI_NEW(&library->arena, 1, &dispatch);
  FNZ_TRY(fnzi_arena_format(&library->arena, &dispatch->kernel, "%s%s%s%s", n->op->base,
                            out ? "_" : "", out ? n->op->overload : "",
                            takes_symint ? "_symint" : ""));
  dispatch->key = FNZI_DISPATCH_CompositeExplicitAutograd;
  n->dispatch = dispatch;
  n->ndispatch = 1;
  n->keys = 1u << dispatch->key;
  FNZ_TRY(fnzi_arena_format(&library->arena, &n->op->dispatch_text, "%s: %s",
                            fnzi_native_dispatch_name(dispatch->key), dispatch->kernel));
  if (fnzi_map_get(&library->by_name, n->op->name, strlen(n->op->name), &place))
    return BROKEN(name_once, "%s, which is generated from %s, at line %u too", n->op->name,
                  from->op->name, library->natives[place].line);
  return fnzi_native_publish(library);
}

typedef struct traits {
  bool manual, implicit; /* all of them */
  bool view, core;       /* one of them */
} traits;

static bool can_have_out(const fnzi_native *n) {
  if (n->kind == FNZI_KIND_INPLACE)
    return true;
  for (size_t i = 0; i < n->op->nreturns; i++)
    if (n->op->returns[i].type == FNZI_TYPE_TENSOR)
      return true;
  return false;
}

static fnz_status complete(fnz_library *library, const signature *s) {
  traits t = {.manual = true, .implicit = true};
  for (int i = 0; i < KINDS; i++) {
    const fnzi_native *n = fnzi_native_at(library, s->slots[i]);
    if (!n)
      continue;
    t.manual &= (n->op->flags & FNZI_OP_MANUAL_BINDING) != 0;
    t.implicit &= fnzi_native_is_implicit(n);
    t.view |= n->op->is_view && !fnzi_native_rule_exempts(FNZI_RULE_inplace_view_base, n->op);
    t.core |= fnzi_native_has(library, n, FNZI_KNOWN_CORE);
  }
  /* The function that the others are made from. */
  static const fnzi_kind order[] = {FNZI_KIND_MUTABLE, FNZI_KIND_INPLACE, FNZI_KIND_OUT,
                                    FNZI_KIND_FUNCTIONAL};
  const fnzi_native *n = NULL;
  for (size_t i = 0; i < sizeof order / sizeof *order && !n; i++)
    n = fnzi_native_at(library, s->slots[order[i]]);
  bool has_out = s->slots[FNZI_KIND_OUT] != FNZI_NO_GROUP, makes_out;
  if (!n || t.manual || t.view || (t.implicit && !t.core))
    return FNZ_OK;
  if (has_out && s->count == 1)
    return fnzi_native_rule_exempts(FNZI_RULE_out_alone, n->op)
               ? FNZ_OK
               : BROKEN(out_alone, "%s", n->op->schema);
  if (!has_out && !can_have_out(n) && !fnzi_native_rule_exempts(FNZI_RULE_out_possible, n->op))
    return BROKEN(out_possible, "%s", n->op->schema);
  /* The letters may be anywhere in the names, as for PyTorch. */
  bool lists_out = false;
  for (size_t i = 0; !lists_out && i < n->autogen.count; i++)
    lists_out = strstr(n->autogen.data[i], "out");
  makes_out = !has_out && can_have_out(n) && lists_out;
  if (makes_out)
    FNZ_TRY(generate(library, n, FNZI_KIND_OUT));
  if (s->slots[FNZI_KIND_FUNCTIONAL] == FNZI_NO_GROUP && (has_out || makes_out))
    return generate(library, n, FNZI_KIND_FUNCTIONAL);
  return FNZ_OK;
}

static fnz_status complete_all(fnz_library *library, const signatures *s) {
  for (size_t i = 0; i < s->count; i++)
    FNZ_TRY(complete(library, &s->data[i]));
  return FNZ_OK;
}

/* --- Grouping --------------------------------------------------------------------------------- */

static fnz_status group_all(fnz_library *library, const signatures *s) {
  FNZI_NEW(&library->arena, s->count, &library->groups);
  for (size_t i = 0; i < s->count; i++) {
    const fnzi_native_member *slots = s->data[i].slots;
    const fnzi_native *n = NULL;
    for (int k = 0; k < KINDS && !n; k++)
      n = fnzi_native_at(library, slots[k]);
    const bool are_several = n && s->data[i].count > 1;
    if (are_several && slots[FNZI_KIND_SCRATCH] != FNZI_NO_GROUP)
      return BROKEN(group_scratch, "%zu operators with %s", s->data[i].count, n->op->name);
    if (are_several && slots[FNZI_KIND_FUNCTIONAL] == FNZI_NO_GROUP)
      return BROKEN(group_functional, "%zu operators with %s", s->data[i].count, n->op->name);
    const fnzi_native_group group = {
        .functional = slots[FNZI_KIND_FUNCTIONAL],
        .out = slots[FNZI_KIND_OUT],
        .inplace = slots[FNZI_KIND_INPLACE],
        .mutable = slots[FNZI_KIND_MUTABLE],
    };
    if (group.functional == FNZI_NO_GROUP || group.out == FNZI_NO_GROUP)
      continue;
    for (int k = 0; k < KINDS; k++)
      if (slots[k] != FNZI_NO_GROUP)
        library->natives[slots[k]].group = (uint32_t)library->ngroups;
    library->groups[library->ngroups++] = group;
  }
  return FNZ_OK;
}

static fnz_status group_views(fnz_library *library, const signatures *s) {
  FNZI_NEW(&library->arena, s->count, &library->views);
  for (size_t i = 0; i < s->count; i++) {
    const fnzi_native_member *slots = s->data[i].slots;
    const fnzi_native_view_group group = {slots[SLOT_VIEW], slots[FNZI_KIND_FUNCTIONAL],
                                          slots[SLOT_VIEW_INPLACE]};
    const fnzi_native_member members[] = {group.view, group.copy, group.inplace};
    if (group.view == FNZI_NO_GROUP)
      continue;
    for (size_t k = 0; k < sizeof members / sizeof *members; k++)
      if (members[k] != FNZI_NO_GROUP)
        library->natives[members[k]].view_group = (uint32_t)library->nviews;
    library->views[library->nviews++] = group;
  }
  return FNZ_OK;
}

fnz_status fnzi_native_complete(fnz_library *library) {
  FNZ_TRY(with_signatures(library, false, complete_all));
  FNZ_TRY(with_signatures(library, false, group_all));
  return with_signatures(library, true, group_views);
}
