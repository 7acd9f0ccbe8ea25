/* pt2_write_payloads.c - the archive around the model.
 *
 * If the program came from an archive, its records are written in their order, with the new model
 * in place of the old one. Any other program gets an archive as torch 2.9 and later write it,
 * with its weights; all of them need data. */
#include "program/formats/pt2_write.h"
#include "program/signature.h"
#include "program/state_io.h"
#include "program/formats/crc.h"
#include "program/formats/zip_out.h"

/* --- the archive that was read ---------------------------------------------------------------- */
/* Constants that no input names are left out of the list: they were states that are plain inputs
 * now, or other names. TVM's importer takes one for another constant. */
static fnz_status put_constants(fnzi_pt2_out *o, fnzi_zip_out *z, const fnzi_extras_record *r) {
  fnz_buffer text = {0};
  fnzi_json_out writer = {.ctx = o->ctx, .out = &text}, *w = &writer;
  fnzi_json_doc doc;
  FNZ_TRY(
      fnzi_json_parse(&o->arena, r->name, fnzi_blob_data(r->blob), fnzi_blob_bytes(r->blob), &doc));
  const fnzi_json *config = fnzi_json_find(doc.root, "config");
  fnz_status status = fnzi_json_open(w, '{');
  status = status ? status : fnzi_json_key(w, "config");
  status = status ? status : fnzi_json_open(w, '{');
  for (const fnzi_json *c = config ? config->u.first : NULL; !status && c; c = c->next) {
    bool is_named = false;
    for (uint32_t k = 0; k < fnzi_graph_main(o->p)->ninputs && !is_named; k++)
      is_named = o->p->inputs[k].target && strcmp(o->p->inputs[k].target, c->key) == 0;
    if (!is_named)
      continue;
    status = fnzi_json_out_name(w, c->key, strlen(c->key));
    status = status ? status : fnzi_json_out_tree(w, c);
  }
  status = status ? status : fnzi_json_close(w, '}');
  status = status ? status : fnzi_json_close(w, '}');
  if (status == FNZ_OK)
    status = fnzi_zip_add(z, r->name, text.data, text.size);
  fnz_buffer_free(o->ctx, &text);
  return status;
}

static fnz_status put_records(fnzi_pt2_out *o, fnzi_zip_out *z, const fnz_buffer *model) {
  uint64_t capacity = 256;
  if (o->x->damaged)
    return fnzi_fail(o->ctx, FNZ_CLASS_ARCHIVE, o->x->damaged,
                     "the record was damaged in the archive that was read, so it cannot be copied");
  for (size_t i = 0; i < o->x->records.count; i++) {
    const fnzi_extras_record *r = &o->x->records.data[i];
    size_t size = r->blob ? fnzi_blob_bytes(r->blob) : model->size;
    capacity += fnzi_zip_most_bytes(r->name, r->blob && z->pieces ? 0 : size);
  }
  if (capacity > SIZE_MAX - 1)
    return fnzi_no_memory(o->ctx);
  FNZI_RESERVE(o->ctx, z->out, (size_t)capacity + 1);
  for (size_t i = 0; i < o->x->records.count; i++) {
    const fnzi_extras_record *r = &o->x->records.data[i];
    /* A number that PyTorch derives from the records. They are no longer the same, and nothing
     * checks it. */
    if (fnzi_ends_with(r->name, ".data/serialization_id"))
      continue;
    FNZ_TRY(fnzi_blob_check(o->ctx, r->blob));
    if (r->blob) {
      /* A record of the archive that was read. Constants follow the new model. Samples of inputs
       * are left out if state is an input now, because they are arguments of the module's own call.
       */
      static const char constants[] = "data/constants/model_constants_config.json";
      if (strstr(r->name, "data/sample_inputs/") && fnzi_io_has_pairs(o->p))
        FNZ_TRY(fnzi_zip_add(z, r->name, "", 0));
      else if (fnzi_ends_with(r->name, constants) && fnzi_io_has_pairs(o->p))
        FNZ_TRY(put_constants(o, z, r));
      else
        FNZ_TRY(fnzi_zip_add_piece(z, r->name, fnzi_blob_data(r->blob), fnzi_blob_bytes(r->blob),
                                   r->crc));
    } else
      FNZ_TRY(fnzi_zip_add(z, r->name, model->data, model->size));
  }
  return FNZ_OK;
}

/* --- an archive of its own -------------------------------------------------------------------- */
/* One folder of payloads: a config and a record for each blob. */
typedef struct folder {
  const char *path, *config, *stem;
  fnz_buffer text;
  fnzi_map records; /* blob -> number */
  struct {
    const fnzi_weight **data;
    size_t count, capacity;
  } payloads; /* one weight for each record, in order */
} folder;

static fnz_status put_payload(fnzi_pt2_out *o, folder *f, fnzi_json_out *w,
                              const fnzi_weight *weight, bool is_param) {
  uint64_t number;
  /* Weights in one blob share a record; an empty one has a record to itself. */
  if (!weight->blob || !fnzi_map_get(&f->records, &weight->blob, sizeof weight->blob, &number)) {
    number = f->payloads.count;
    FNZI_PUSH(o->ctx, &f->payloads, weight);
    if (weight->blob)
      FNZ_TRY(fnzi_map_set(&f->records, &weight->blob, sizeof weight->blob, number));
  }
  FNZ_TRY(fnzi_json_out_name(w, weight->name, strlen(weight->name)));
  FNZ_TRY(fnzi_json_open(w, '{'));
  o->text.size = 0;
  FNZ_TRY(fnzi_printf(o->ctx, &o->text, "%s%llu", f->stem, (unsigned long long)number));
  FNZ_TRY(fnzi_json_out_text(w, "path_name", o->text.data));
  FNZ_TRY(fnzi_json_out_flag(w, "is_param", is_param));
  FNZ_TRY(fnzi_json_out_flag(w, "use_pickle", false));
  FNZ_TRY(fnzi_json_key(w, "tensor_meta"));
  FNZ_TRY(fnzi_pt2_put_meta(o, w, weight->geometry, "cpu", false));
  return fnzi_json_close(w, '}');
}

static fnz_status put_config(fnzi_pt2_out *o, folder *f, bool constants) {
  fnzi_json_out writer = {.ctx = o->ctx, .out = &f->text}, *w = &writer;
  FNZ_TRY(fnzi_json_open(w, '{'));
  FNZ_TRY(fnzi_json_open_as(w, "config", '{'));
  for (uint32_t k = 0; k < fnzi_graph_main(o->p)->ninputs; k++) {
    const fnz_input_spec *in = &o->p->inputs[k];
    bool is_param = in->kind == FNZ_INPUT_PARAMETER;
    bool is_weight = fnzi_is_stored(in->kind);
    const fnzi_weight *weight = is_weight ? fnzi_weight_find(o->p, in->target) : NULL;
    if (is_weight && (!weight || (!weight->blob && fnz_geometry_numel(weight->geometry))))
      return fnzi_fail(o->ctx, FNZ_CLASS_UNSUPPORTED, in->target,
                       "the tensor has no data, without which no .pt2 file can be written; --to "
                       "json writes the program alone");
    if (is_weight && (in->kind == FNZ_INPUT_CONSTANT ||
                      (in->kind == FNZ_INPUT_BUFFER && !in->persistent)) == constants)
      FNZ_TRY(put_payload(o, f, w, weight, is_param));
  }
  FNZ_TRY(fnzi_json_close(w, '}'));
  return fnzi_json_close(w, '}');
}

static fnz_status put_folder(fnzi_pt2_out *o, folder *f, fnzi_zip_out *z) {
  for (size_t i = 0; i < f->payloads.count; i++) {
    const char *name;
    fnzi_blob *blob = f->payloads.data[i]->blob;
    FNZ_TRY(fnzi_arena_format(&o->arena, &name, "%s%s%zu", f->path, f->stem, i));
    const void *bytes = blob ? fnzi_blob_data(blob) : "";
    size_t size = blob ? fnzi_blob_bytes(blob) : 0;
    uint32_t crc;
    FNZ_TRY(fnzi_blob_check(o->ctx, blob));
    FNZ_TRY(fnzi_crc32_all(o->ctx, bytes, size, &crc));
    FNZ_TRY(fnzi_zip_add_piece(z, name, bytes, size, crc));
  }
  return fnzi_zip_add(z, f->config, f->text.data, f->text.size);
}

static fnz_status put_own(fnzi_pt2_out *o, folder *weights, folder *constants, fnzi_zip_out *z,
                          const fnz_buffer *model) {
  FNZ_TRY(put_config(o, weights, false));
  FNZ_TRY(put_config(o, constants, true));
  FNZ_TRY(put_folder(o, weights, z));
  FNZ_TRY(put_folder(o, constants, z));
  FNZ_TRY(fnzi_zip_add(z, "archive/models/model.json", model->data, model->size));
  FNZ_TRY(fnzi_zip_add(z, "archive/data/sample_inputs/model.pt", "", 0));
  FNZ_TRY(fnzi_zip_add(z, "archive/archive_format", "pt2", 3));
  FNZ_TRY(fnzi_zip_add(z, "archive/archive_version", "0", 1));
  FNZ_TRY(fnzi_zip_add(z, "archive/.data/version", "6\n", 2));
  return fnzi_zip_add(z, "archive/byteorder", "little", 6);
}

static fnz_status put_new(fnzi_pt2_out *o, fnzi_zip_out *z, const fnz_buffer *model) {
  folder weights = {.path = "archive/data/weights/",
                    .config = "archive/data/weights/model_weights_config.json",
                    .stem = "weight_"};
  folder constants = {.path = "archive/data/constants/",
                      .config = "archive/data/constants/model_constants_config.json",
                      .stem = "tensor_"};
  fnzi_map_init(&weights.records, o->ctx);
  fnzi_map_init(&constants.records, o->ctx);
  fnz_status status = put_own(o, &weights, &constants, z, model);
  for (folder *f = &weights; f; f = f == &weights ? &constants : NULL) {
    fnz_buffer_free(o->ctx, &f->text);
    fnzi_map_free(&f->records);
    FNZI_VEC_FREE(o->ctx, &f->payloads);
  }
  return status;
}

fnz_status fnzi_pt2_put_archive(fnzi_pt2_out *o, const fnz_buffer *model, fnz_buffer *out,
                                fnzi_out_pieces *pieces) {
  fnzi_zip_out z = {.ctx = o->ctx, .out = out, .pieces = pieces};
  bool is_kept = o->x && o->x->is_archive;
  fnz_status status = is_kept ? put_records(o, &z, model) : put_new(o, &z, model);
  if (status == FNZ_OK)
    status = fnzi_zip_finish(&z);
  fnzi_zip_out_free(&z);
  return status;
}
