/* cbor_signature.c - the signature in CBOR: inputs, outputs, the memory that they share, and
 * guards. Writer and reader side by side, so that each reads exactly what the other writes. */
#include "program/formats/cbor_read.h"
#include "program/formats/cbor_write.h"

static fnz_status signature_put_text(fnzi_encoder e, const char *s) {
  return fnzi_encode_text(e, s, strlen(s));
}

/* --- inputs ----------------------------------------------------------------------------------- */
fnz_status fnzi_cbor_put_inputs(fnzi_cbor_writer *w, fnzi_encoder e) {
  uint32_t count = w->p->graphs.data[0].ninputs;
  FNZ_TRY(fnzi_encode_array(e, count));
  for (uint32_t k = 0; k < count; k++) {
    const fnz_input_spec *in = &w->p->inputs[k];
    FNZ_TRY(fnzi_encode_array(e, in->shares ? 4 : 3));
    FNZ_TRY(fnzi_encode_uint(e, in->kind));
    FNZ_TRY(signature_put_text(e, in->target));
    FNZ_TRY(fnzi_encode_uint(e, (in->persistent ? FNZI_CBOR_PERSISTENT : 0u) |
                                    (in->written ? FNZI_CBOR_WRITTEN : 0u)));
    if (in->shares)
      FNZ_TRY(fnzi_encode_uint(e, in->shares - 1));
  }
  return FNZ_OK;
}

fnz_status fnzi_cbor_read_inputs(fnzi_cbor_reader *r) {
  if (!r->p->graphs.count)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TRUNCATED, "a program without graphs");
  uint32_t count = r->p->graphs.data[0].ninputs;
  FNZ_TRY(fnzi_decode_fixed(&r->d, count));
  for (uint32_t k = 0; k < count; k++) {
    fnz_input_spec *in = &r->p->inputs[k];
    uint64_t kind, flags, shares;
    size_t parts;
    FNZ_TRY(fnzi_decode_array(&r->d, &parts));
    if (parts != 3 && parts != 4)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "an input of %zu parts", parts);
    FNZ_TRY(fnzi_decode_uint(&r->d, FNZ_INPUT_KIND_COUNT, &kind));
    FNZ_TRY(fnzi_cbor_text(r, &in->target));
    FNZ_TRY(fnzi_decode_uint(&r->d, 4, &flags));
    in->kind = (fnz_input_kind)kind;
    in->persistent = flags & FNZI_CBOR_PERSISTENT;
    in->written = flags & FNZI_CBOR_WRITTEN;
    if (parts != 3) {
      FNZ_TRY(fnzi_decode_uint(&r->d, k, &shares));
      in->shares = (uint32_t)shares + 1;
    }
  }
  return FNZ_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */
static bool has_sharing(const fnz_output_spec *out) {
  return out->sharing != FNZ_SHARING_NEW || out->window || out->nviews;
}

fnz_status fnzi_cbor_put_outputs(fnzi_cbor_writer *w, fnzi_encoder e) {
  uint32_t count = w->p->graphs.data[0].noutputs;
  FNZ_TRY(fnzi_encode_array(e, count));
  for (uint32_t k = 0; k < count; k++) {
    const fnz_output_spec *out = &w->p->outputs[k];
    bool shares = has_sharing(out);
    FNZ_TRY(fnzi_encode_array(e, shares ? 4 : out->target ? 3 : 2));
    FNZ_TRY(fnzi_encode_uint(e, out->kind));
    FNZ_TRY(fnzi_encode_uint(e, (out->metadata ? FNZI_CBOR_METADATA : 0u) |
                                    (out->set ? FNZI_CBOR_SET : 0u)));
    if (out->target)
      FNZ_TRY(signature_put_text(e, out->target));
    else if (shares)
      FNZ_TRY(fnzi_encode_null(e));
    if (!shares)
      continue;
    FNZ_TRY(fnzi_encode_array(e, 4));
    FNZ_TRY(fnzi_encode_uint(e, out->sharing));
    FNZ_TRY(fnzi_encode_uint(e, out->of));
    if (out->window) {
      uint64_t type;
      FNZ_TRY(fnzi_cbor_find_type(w, &out->window, &type));
      FNZ_TRY(fnzi_encode_uint(e, type));
    } else
      FNZ_TRY(fnzi_encode_null(e));
    FNZ_TRY(fnzi_encode_array(e, out->nviews));
    for (uint32_t i = 0; i < out->nviews; i++) {
      const fnz_view_call *v = &out->views[i];
      FNZ_TRY(fnzi_encode_array(e, 3));
      FNZ_TRY(fnzi_cbor_put_string(w, e, fnz_op_name(v->op)));
      FNZ_TRY(fnzi_cbor_put_args(e, v->args, fnzi_cbor_given_args(v->op, v->args, v->nargs)));
      FNZ_TRY(fnzi_encode_uint(e, v->index));
    }
  }
  return FNZ_OK;
}

static fnz_status read_sharing(fnzi_cbor_reader *r, fnz_output_spec *out) {
  uint64_t sharing, of;
  FNZ_TRY(fnzi_decode_fixed(&r->d, 4));
  FNZ_TRY(fnzi_decode_uint(&r->d, FNZ_SHARING_COUNT, &sharing));
  FNZ_TRY(fnzi_decode_uint(&r->d, UINT32_MAX, &of));
  out->sharing = (fnz_sharing)sharing;
  out->of = (uint32_t)of;
  FNZ_TRY(fnzi_decode(&r->d));
  if (r->d.item.kind == FNZI_CBOR_UINT)
    FNZ_TRY(fnzi_cbor_type(r, &out->window));
  else if (r->d.item.kind != FNZI_CBOR_NULL)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "a window is a type or null");
  size_t count;
  fnz_view_call *views;
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  if (count > UINT32_MAX)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_LIMIT, "%zu views", count);
  FNZI_NEW(&r->p->arena, count, &views);
  for (size_t i = 0; i < count; i++) {
    fnzi_node node = {0};
    const char *target;
    uint64_t index;
    FNZ_TRY(fnzi_decode_fixed(&r->d, 3));
    FNZ_TRY(fnzi_cbor_target(r, &target, &node.op));
    if (!node.op)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "%s is no view", target);
    FNZ_TRY(fnzi_cbor_args(r, &node.nargs, &node.args));
    FNZ_TRY(fnzi_cbor_pad_args(r, &node));
    FNZ_TRY(fnzi_decode_uint(&r->d, UINT32_MAX, &index));
    views[i] = (fnz_view_call){node.op, node.args, node.nargs, (uint32_t)index};
  }
  out->views = count ? views : NULL;
  out->nviews = (uint32_t)count;
  if (!has_sharing(out) || ((sharing == FNZ_SHARING_NEW || sharing == FNZ_SHARING_OWN) && of))
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING, "an output that shares nothing says so");
  return FNZ_OK;
}

fnz_status fnzi_cbor_read_outputs(fnzi_cbor_reader *r) {
  uint32_t count = r->p->graphs.data[0].noutputs;
  FNZ_TRY(fnzi_decode_fixed(&r->d, count));
  for (uint32_t k = 0; k < count; k++) {
    fnz_output_spec *out = &r->p->outputs[k];
    uint64_t kind, flags;
    size_t parts;
    FNZ_TRY(fnzi_decode_array(&r->d, &parts));
    if (parts < 2 || parts > 4)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "an output of %zu parts", parts);
    FNZ_TRY(fnzi_decode_uint(&r->d, FNZ_OUTPUT_KIND_COUNT, &kind));
    FNZ_TRY(fnzi_decode_uint(&r->d, 4, &flags));
    out->kind = (fnz_output_kind)kind;
    out->metadata = flags & FNZI_CBOR_METADATA;
    out->set = flags & FNZI_CBOR_SET;
    if (parts > 2) {
      /* A text, or null where a part follows that needs the place. */
      const char *at = r->d.at;
      FNZ_TRY(fnzi_decode(&r->d));
      if (parts != 4 || r->d.item.kind != FNZI_CBOR_NULL) {
        r->d.at = at;
        FNZ_TRY(fnzi_cbor_text(r, &out->target));
      }
    }
    if (parts == 4)
      FNZ_TRY(read_sharing(r, out));
  }
  return FNZ_OK;
}

/* --- guards ----------------------------------------------------------------------------------- */
fnz_status fnzi_cbor_put_guards(fnzi_cbor_writer *w, fnzi_encoder e) {
  FNZ_TRY(fnzi_encode_array(e, w->p->guards.count));
  for (size_t k = 0; k < w->p->guards.count; k++) {
    const fnz_guard *g = &w->p->guards.data[k];
    FNZ_TRY(fnzi_encode_array(e, 1 + (g->text ? 1 : 0) + (size_t)g->count));
    FNZ_TRY(fnzi_encode_uint(e, g->kind));
    if (g->text)
      FNZ_TRY(signature_put_text(e, g->text));
    for (uint32_t i = 0; i < g->count; i++)
      FNZ_TRY(signature_put_text(e, g->names[i]));
  }
  return FNZ_OK;
}

fnz_status fnzi_cbor_read_guards(fnzi_cbor_reader *r) {
  size_t count;
  FNZ_TRY(fnzi_decode_array(&r->d, &count));
  if (!count)
    return fnzi_decode_fail(&r->d, FNZ_CLASS_ENCODING,
                            "a program without guards leaves the field out");
  for (size_t k = 0; k < count; k++) {
    fnz_guard guard = {.kind = FNZ_GUARD_CONDITION};
    const char **names;
    uint64_t kind;
    size_t parts;
    FNZ_TRY(fnzi_decode_array(&r->d, &parts));
    if (parts < 2 || parts > UINT32_MAX)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "a guard of %zu parts", parts);
    FNZ_TRY(fnzi_decode_uint(&r->d, FNZ_GUARD_KIND_COUNT, &kind));
    FNZI_NEW(&r->p->arena, parts - 1, &names);
    for (size_t i = 0; i + 1 < parts; i++)
      FNZ_TRY(fnzi_cbor_text(r, &names[i]));
    guard.kind = (fnz_guard_kind)kind;
    if (kind == FNZ_GUARD_CONDITION && parts != 2)
      return fnzi_decode_fail(&r->d, FNZ_CLASS_TYPE, "a condition of %zu parts", parts);
    if (kind == FNZ_GUARD_CONDITION)
      guard.text = names[0];
    else {
      guard.names = names;
      guard.count = (uint32_t)(parts - 1);
    }
    FNZ_TRY(fnzi_guard_add(r->p, &guard));
  }
  return FNZ_OK;
}
