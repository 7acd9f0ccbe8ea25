/* pt2_write.c - programs as .pt2 files, in the form that torch.export.load reads.
 *
 * needs   a verified program; the data of its .pt2 file besides the program
 *         (program/pt2_metadata.h), if it had one
 * keeps   the version of the file's schema, without newer fields; its members that fnz does not
 *         look into; its records byte for byte; the layout of the archive
 * gives   the same bytes for the same program
 *
 * Final values of inputs and weights that the original writes are leading outputs, named by the
 * signature. A program without writes is in the dialect "ATEN". */
#include "program/formats/out.h"
#include "program/formats/pt2_write.h"
#include "program/state_io.h"

/* The version for programs that did not come from a .pt2 file. */
#define OWN_TORCH "2.14.0"
enum { SCHEMA_MAJOR = 8, OWN_MINOR = 20 };

/* --- members ---------------------------------------------------------------------------------- */
static bool has_writes(const fnz_program *p) {
  for (size_t i = 0; i < p->graphs.count; i++)
    for (size_t n = 0; n < p->graphs.data[i].nodes.count; n++) {
      const fnz_op *op = p->graphs.data[i].nodes.data[n].op;
      if (op && fnz_op_is_mutating(op))
        return true;
    }
  return false;
}

static fnz_status put_bound(fnzi_json_out *w, const char *key, int64_t bound, int64_t none) {
  FNZ_TRY(fnzi_json_key(w, key));
  return bound == none ? fnzi_json_out_null(w) : fnzi_json_out_int(w, bound);
}

static fnz_status put_range(fnzi_json_out *w, const fnzi_range *r) {
  FNZ_TRY(fnzi_json_out_name(w, r->symbol, strlen(r->symbol)));
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(put_bound(w, "min_val", r->min, INT64_MIN));
  FNZ_TRY(put_bound(w, "max_val", r->max, INT64_MAX));
  return fnzi_json_close(w, '}');
}

/* Sizes are from 0 on where no range says more, and numbers of data are any. PyTorch cannot load a
 * program that lacks the range of some symbol. */
static fnz_status pt2_put_ranges(fnzi_pt2_out *o, fnzi_json_out *w) {
  FNZ_TRY(fnzi_json_open_as(w, "range_constraints", '{'));
  for (size_t i = 0; i < o->p->ranges.count; i++)
    if (!o->p->is_rewritten || strpbrk(o->p->ranges.data[i].symbol, "*+-/%( ") == NULL)
      FNZ_TRY(put_range(w, &o->p->ranges.data[i]));
  for (size_t i = 1; i < o->p->symbols.count; i++) {
    const char *symbol = o->p->symbols.data[i].text;
    const fnzi_range usual = {symbol, *symbol == 's' ? 0 : INT64_MIN, INT64_MAX};
    /* One of PyTorch's, "s77" or "u0": no expression, and no floating point number. */
    size_t digits = *symbol == 's' || *symbol == 'u' ? strspn(symbol + 1, "0123456789") : 0;
    const bool is_integer = digits && !symbol[1 + digits];
    bool has_range = false;
    for (size_t k = 0; is_integer && !has_range && k < o->p->ranges.count; k++)
      has_range = strcmp(o->p->ranges.data[k].symbol, symbol) == 0;
    if (is_integer && !has_range)
      FNZ_TRY(put_range(w, &usual));
  }
  return fnzi_json_close(w, '}');
}

static const char *text_of(const fnzi_pt2_out *o, fnzi_extras_kind kind, const char *key) {
  return fnzi_extras_text_of(o->x, kind, key, strlen(key));
}

/* Writes members that were kept unchanged, except the names in `except`. */
static fnz_status put_kept(fnzi_pt2_out *o, fnzi_json_out *w, fnzi_extras_kind kind,
                           const char *except) {
  for (size_t i = 0; o->x && i < o->x->texts.count; i++) {
    const fnzi_extras_text *t = &o->x->texts.data[i];
    bool is_written = strcmp(t->key, except) == 0 ||
                      (kind == FNZI_EXTRA_MODULE && strcmp(t->key, "metadata") == 0);
    if (t->kind != kind || is_written)
      continue;
    FNZ_TRY(fnzi_json_out_name(w, t->key, strlen(t->key)));
    FNZ_TRY(fnzi_json_out_raw(w, t->text, strlen(t->text)));
  }
  return FNZ_OK;
}

static fnz_status put_module(fnzi_pt2_out *o, fnzi_json_out *w) {
  FNZ_TRY(fnzi_json_open_as(w, "graph_module", '{'));
  FNZ_TRY(fnzi_json_key(w, "graph"));
  FNZ_TRY(fnzi_pt2_put_graph(o, w, 0));
  FNZ_TRY(fnzi_json_key(w, "signature"));
  FNZ_TRY(fnzi_pt2_put_signature(o, w));
  FNZ_TRY(fnzi_json_key(w, "module_call_graph"));
  FNZ_TRY(fnzi_pt2_put_calls(o, w));
  if (!o->x || fnzi_io_has_pairs(o->p) || text_of(o, FNZI_EXTRA_MODULE, "metadata")) {
    FNZ_TRY(fnzi_json_key(w, "metadata"));
    FNZ_TRY(fnzi_pt2_put_metadata(o, w));
  }
  if (!o->x) {
    FNZ_TRY(fnzi_json_key(w, "treespec_namedtuple_fields"));
    FNZ_TRY(fnzi_json_out_raw(w, "{}", 2));
  }
  FNZ_TRY(put_kept(o, w, FNZI_EXTRA_MODULE, "module_call_graph"));
  return fnzi_json_close(w, '}');
}

static fnz_status put_model(fnzi_pt2_out *o, fnz_buffer *out) {
  fnzi_json_out writer = {.ctx = o->ctx, .out = out}, *w = &writer;
  const char *torch = *o->p->torch_version && o->x ? o->p->torch_version : OWN_TORCH;
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(put_module(o, w));
  if (!o->x) {
    FNZ_TRY(fnzi_json_key(w, "opset_version"));
    FNZ_TRY(fnzi_json_out_raw(w, "{\"aten\": 10}", 12));
    FNZ_TRY(fnzi_json_key(w, "guards_code"));
    FNZ_TRY(fnzi_json_out_raw(w, "[]", 2));
  }
  FNZ_TRY(put_kept(o, w, FNZI_EXTRA_PROGRAM, "verifiers"));
  FNZ_TRY(pt2_put_ranges(o, w));
  FNZ_TRY(fnzi_json_open_as(w, "schema_version", '{'));
  FNZ_TRY(fnzi_json_out_number(w, "major", SCHEMA_MAJOR));
  FNZ_TRY(fnzi_json_out_number(w, "minor", o->minor));
  FNZ_TRY(fnzi_json_close(w, '}'));
  if (!o->x || text_of(o, FNZI_EXTRA_PROGRAM, "verifiers")) {
    const char *text = text_of(o, FNZI_EXTRA_PROGRAM, "verifiers");
    /* Without writes a program of the training dialect has become one of the inference dialect, and
     * a write that a wrapper has hidden makes it one of the training dialect. Dialects of others
     * stay. */
    bool writes = has_writes(o->p);
    bool is_other = text && !(o->p->is_rewritten && strstr(text, "\"TRAINING\"")) &&
                    !(writes && strstr(text, "\"ATEN\""));
    FNZ_TRY(fnzi_json_key(w, "verifiers"));
    if (is_other)
      FNZ_TRY(fnzi_json_out_raw(w, text, strlen(text)));
    else
      FNZ_TRY(writes ? fnzi_json_out_raw(w, "[\"TRAINING\"]", 12)
                     : fnzi_json_out_raw(w, "[\"ATEN\"]", 8));
  }
  FNZ_TRY(fnzi_json_out_text(w, "torch_version", torch));
  return fnzi_json_close(w, '}');
}

/* --- one run ---------------------------------------------------------------------------------- */
static fnz_status write(fnzi_pt2_out *o, bool is_archive, fnz_buffer *out,
                        struct fnzi_out_pieces *pieces) {
  fnz_buffer model = {0};
  const size_t count = o->p->graphs.count;
  FNZ_TRY(fnzi_pt2_check_devices(o));
  FNZI_NEW(&o->arena, count, &o->bodies);
  FNZI_NEW(&o->arena, count, &o->names);
  FNZI_NEW(&o->arena, o->p->symbols.count, &o->expressions);
  for (size_t i = 0; i < count; i++) {
    fnzi_map_init(&o->names[i].taken, o->ctx);
    fnzi_map_init(&o->names[i].next, o->ctx);
  }
  for (size_t i = 0; i < count; i++) {
    FNZ_TRY(fnzi_pt2_make_names(o, (uint32_t)i));
    FNZ_TRY(fnzi_pt2_find_numbers(o, (uint32_t)i));
  }
  FNZ_TRY(fnzi_pt2_plan_outputs(o));
  /* Bodies of higher-order operators come last in the program and are written first. */
  for (size_t i = count; i-- > 1;) {
    fnzi_json_out w = {.ctx = o->ctx, .out = &o->bodies[i]};
    FNZ_TRY(fnzi_pt2_put_graph(o, &w, (uint32_t)i));
  }
  if (!is_archive)
    return put_model(o, out);
  fnz_status status = put_model(o, &model);
  if (status == FNZ_OK)
    status = fnzi_pt2_put_archive(o, &model, out, pieces);
  fnz_buffer_free(o->ctx, &model);
  return status;
}

/* `asked` says what is written, and who gets to know of refusals. */
static fnz_status run(fnzi_pt2_out asked, bool is_archive, fnz_buffer *out,
                      struct fnzi_out_pieces *pieces) {
  const fnz_program *p = asked.asked;
  fnz_program *asserted;
  fnzi_pt2_out o = asked;
  FNZ_TRY(fnzi_pt2_go_on(&o, fnzi_pt2_assert_guards(o.ctx, p, &asserted), 0, FNZI_NO_NODE));
  o.p = asserted ? asserted : p;
  o.x = p->extras;
  o.fields = p->extras ? p->extras->fields : FNZI_SCHEMA_ALL;
  o.minor = p->extras ? p->schema_minor : OWN_MINOR;
  fnzi_arena_init(&o.arena, o.ctx);
  fnzi_exprs_init(&o.exprs, o.ctx);
  fnz_status status = fnzi_pt2_go_on(&o, write(&o, is_archive, out, pieces), 0, FNZI_NO_NODE);
  for (size_t i = 0; i < o.p->graphs.count; i++) {
    if (o.bodies)
      fnz_buffer_free(o.ctx, &o.bodies[i]);
    if (o.names) {
      fnzi_map_free(&o.names[i].taken);
      fnzi_map_free(&o.names[i].next);
    }
  }
  fnz_buffer_free(o.ctx, &o.text);
  fnzi_exprs_free(&o.exprs);
  fnzi_arena_free(&o.arena);
  fnz_program_destroy(asserted);
  return status;
}

fnz_status fnzi_write_pt2(fnz_context *ctx, const fnz_program *p, fnz_buffer *out,
                          struct fnzi_out_pieces *pieces) {
  return run((fnzi_pt2_out){.ctx = ctx, .asked = p}, true, out, pieces);
}

fnz_status fnzi_write_json(fnz_context *ctx, const fnz_program *p, fnz_buffer *out,
                           struct fnzi_out_pieces *pieces) {
  return run((fnzi_pt2_out){.ctx = ctx, .asked = p}, false, out, pieces);
}

fnz_status fnzi_pt2_check(fnz_context *ctx, const fnz_program *p, bool is_archive,
                          fnz_format_refused_fn *refused, void *user) {
  const fnz_error had = ctx->error;
  fnz_buffer out = {0};
  fnzi_out_pieces pieces = {0};
  fnz_status status = run((fnzi_pt2_out){.ctx = ctx, .asked = p, .refused = refused, .user = user},
                          is_archive, &out, &pieces);
  FNZI_VEC_FREE(ctx, &pieces);
  fnz_buffer_free(ctx, &out);
  if (status == FNZ_OK)
    ctx->error = had;
  return status;
}
