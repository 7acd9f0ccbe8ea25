/* pt2_weights.c - the data of parameters, buffers and constants.
 *
 * A config record says for each name which record holds the bytes of its storage and which window
 * of it the tensor is. The same record is the same memory and becomes the same blob. Pickled
 * payloads are never opened. */
#include "program/formats/pt2.h"
#include "program/signature.h"

#include <stdio.h>

/* One of the two folders of payloads. */
typedef struct folder {
  const char *path; /* with the archive's root and a slash at the end */
  fnzi_json_doc doc;
  fnzi_map entries; /* fully qualified name -> member of the config */
} folder;

typedef struct loader {
  fnzi_pt2 *r;
  fnzi_zip *zip;
  folder weights, constants;
  fnzi_map blobs; /* record name -> blob */
  struct {
    fnzi_blob **data;
    size_t count, capacity;
  } held; /* a reference to each blob until all weights have theirs */
} loader;

/* --- configs ----------------------------------------------------------------------------- */
static fnz_status open_folder(loader *l, folder *f, const char *prefix, const char *name,
                              const char *model, const char *const suffixes[2]) {
  const fnzi_json *config;
  FNZ_TRY(fnzi_arena_format(l->r->arena, &f->path, "%sdata/%s/", prefix, name));
  const fnzi_zip_entry *entry = NULL;
  for (size_t i = 0; i < 2 && !entry; i++) {
    char file[2048];
    int size = snprintf(file, sizeof file, "%s%s_%s.json", f->path, model, suffixes[i]);
    if (size > 0 && (size_t)size < sizeof file)
      entry = fnzi_zip_find(l->zip, file);
  }
  if (!entry)
    return FNZ_OK;
  FNZ_TRY(fnzi_pt2_parse_record(l->r->arena, l->zip, entry, &f->doc));
  FNZ_TRY(fnzi_json_need(&f->doc, f->doc.root, "config", FNZI_JSON_OBJECT, &config));
  for (const fnzi_json *m = config->u.first; m; m = m->next)
    FNZ_TRY(fnzi_map_set(&f->entries, m->key, m->key_size, (uint64_t)(uintptr_t)m));
  return FNZ_OK;
}

/* --- records ----------------------------------------------------------------------------- */
static fnz_status find_record(loader *l, const folder *f, const fnzi_json *payload,
                              const fnzi_zip_entry **out) {
  const char *path = "", *name;
  FNZ_TRY(fnzi_json_need_text(&f->doc, payload, "path_name", &path));
  if (!*path || strpbrk(path, "/\\") || strcmp(path, "..") == 0 || strcmp(path, ".") == 0)
    return fnzi_json_fail(&f->doc, FNZ_CLASS_ARCHIVE, payload,
                          "path_name \"%s\" must be the bare name of a record", path);
  FNZ_TRY(fnzi_arena_format(l->r->arena, &name, "%s%s", f->path, path));
  *out = fnzi_zip_find(l->zip, name);
  if (*out)
    return FNZ_OK;
  return fnzi_json_fail(&f->doc, FNZ_CLASS_REF, payload, "the archive has no record %s", name);
}

static fnz_status hold(loader *l, fnzi_blob *blob) {
  FNZI_PUSH(l->r->doc.ctx, &l->held, blob);
  return FNZ_OK;
}

/* `entry` NULL: of no bytes. */
static fnz_status new_blob(loader *l, const fnzi_zip_entry *entry, fnzi_blob **out) {
  if (entry)
    FNZ_TRY(fnzi_pt2_record(l->r->p, l->zip, entry, out));
  else
    FNZ_TRY(fnzi_blob_create(l->r->doc.ctx, 0, out));
  fnz_status status = hold(l, *out);
  if (status != FNZ_OK)
    fnzi_blob_release(*out);
  return status;
}

static fnz_status check_window(const folder *f, const fnzi_json *payload,
                               const fnzi_zip_entry *entry, const fnz_geometry *g) {
  int64_t low = 0, high = 0, item = (int64_t)fnz_dtype_get_info(g->dtype)->bytes, bytes = 0;
  if (entry->size % (uint64_t)item)
    return fnzi_json_fail(&f->doc, FNZ_CLASS_BOUNDS, payload,
                          "the %llu bytes of the record are no whole number of %s",
                          (unsigned long long)entry->size, fnz_dtype_get_info(g->dtype)->name);
  if (!fnzi_extent(g, &low, &high) || !fnzi_mul_i64(high, item, &bytes))
    return fnzi_json_fail(&f->doc, FNZ_CLASS_OVERFLOW, payload, "the tensor leaves 63 bits");
  if ((uint64_t)bytes <= entry->size)
    return FNZ_OK;
  return fnzi_json_fail(&f->doc, FNZ_CLASS_BOUNDS, payload,
                        "the tensor takes %lld bytes, record %s has %llu", (long long)bytes,
                        entry->name, (unsigned long long)entry->size);
}

/* --- one weight -------------------------------------------------------------------------- */
/* Empty tensors share one empty record in the file, but no memory. */
static fnz_status read_payload(loader *l, const folder *f, const fnzi_json *payload,
                               const fnz_geometry *in_graph, const char *name) {
  const fnzi_json *meta;
  const fnz_geometry *g = NULL;
  const fnzi_zip_entry *entry = NULL;
  fnzi_blob *blob = NULL;
  const fnzi_json *pickled;
  FNZ_TRY(fnzi_json_need(&f->doc, payload, "use_pickle", FNZI_JSON_BOOL, &pickled));
  if (pickled->u.i)
    return fnzi_json_fail(&f->doc, FNZ_CLASS_UNSUPPORTED, payload,
                          "the tensor is stored as a pickle, which fnz never opens; save it as a "
                          "plain tensor");
  FNZ_TRY(fnzi_json_need(&f->doc, payload, "tensor_meta", FNZI_JSON_OBJECT, &meta));
  FNZ_TRY(fnzi_pt2_geometry(l->r->p, &f->doc, meta, &g));
  if (g->symbols)
    return fnzi_json_fail(&f->doc, FNZ_CLASS_TYPE, payload, "a stored tensor has symbolic sizes");
  if (g->dtype != in_graph->dtype || !fnzi_same_sizes(g, in_graph))
    return fnzi_json_fail(&f->doc, FNZ_CLASS_TYPE, payload,
                          "element type or sizes are not those that the graph gives the tensor");
  FNZ_TRY(find_record(l, f, payload, &entry));
  if (entry->size || !fnz_geometry_numel(g))
    FNZ_TRY(check_window(f, payload, entry, g));
  if (!fnz_geometry_numel(g))
    FNZ_TRY(new_blob(l, NULL, &blob));
  else if (entry->size) {
    uint64_t there;
    if (fnzi_map_get(&l->blobs, entry->name, entry->name_size, &there)) {
      blob = l->held.data[there];
    } else {
      FNZ_TRY(new_blob(l, entry, &blob));
      FNZ_TRY(fnzi_map_set(&l->blobs, entry->name, entry->name_size, l->held.count - 1));
    }
  }
  return fnzi_json_at(&f->doc, fnzi_weight_add(l->r->p, name, blob, g), payload);
}

/* --- all weights ------------------------------------------------------------------------- */
static fnz_status load_all(loader *l) {
  fnz_program *p = l->r->p;
  const fnzi_graph *g = fnzi_graph_main(p);
  for (uint32_t i = 0; i < g->ninputs; i++) {
    if (!fnzi_is_stored(p->inputs[i].kind))
      continue;
    if (g->inputs[i].tag != FNZ_ARG_VALUE)
      return fnzi_fail(p->ctx, FNZ_CLASS_TYPE, p->inputs[i].target,
                       "the signature gives input %u data, but it is no tensor", i);
    /* Buffers that are not persistent are stored with the constants. If only the other folder has
     * the name, its entry is used. */
    const fnz_input_spec *spec = &p->inputs[i];
    const fnz_geometry *in_graph = fnzi_value_at(p, 0, g->inputs[i].u.value)->geometry;
    const bool is_constant =
        spec->kind == FNZ_INPUT_CONSTANT || (spec->kind == FNZ_INPUT_BUFFER && !spec->persistent);
    const folder *f = is_constant ? &l->constants : &l->weights;
    uint64_t payload;
    bool is_there = fnzi_map_get(&f->entries, spec->target, strlen(spec->target), &payload);
    f = is_there ? f : is_constant ? &l->weights : &l->constants;
    if (is_there || fnzi_map_get(&f->entries, spec->target, strlen(spec->target), &payload))
      FNZ_TRY(read_payload(l, f, (const fnzi_json *)(uintptr_t)payload, in_graph, spec->target));
    else
      FNZ_TRY(fnzi_weight_add(p, spec->target, NULL, in_graph));
  }
  return FNZ_OK;
}

static void init(loader *l, fnzi_pt2 *r, fnzi_zip *zip) {
  *l = (loader){.r = r, .zip = zip};
  fnzi_map_init(&l->weights.entries, r->doc.ctx);
  fnzi_map_init(&l->constants.entries, r->doc.ctx);
  fnzi_map_init(&l->blobs, r->doc.ctx);
}

static void finish(loader *l) {
  for (size_t i = 0; i < l->held.count; i++)
    fnzi_blob_release(l->held.data[i]);
  FNZI_VEC_FREE(l->r->doc.ctx, &l->held);
  fnzi_map_free(&l->blobs);
  fnzi_map_free(&l->weights.entries);
  fnzi_map_free(&l->constants.entries);
}

fnz_status fnzi_pt2_weights(fnzi_pt2 *r, fnzi_zip *zip, const char *prefix, const char *model) {
  loader l;
  init(&l, r, zip);
  static const char *const weights[] = {"weights_config", "model_param_config"};
  static const char *const constants[] = {"constants_config", "model_constants_config"};
  fnz_status status = open_folder(&l, &l.weights, prefix, "weights", model, weights);
  if (status == FNZ_OK)
    status = open_folder(&l, &l.constants, prefix, "constants", model, constants);
  if (status == FNZ_OK)
    status = load_all(&l);
  if (status == FNZ_OK)
    status = fnzi_pt2_keep_records(r, zip, &l.blobs, l.held.data);
  finish(&l);
  return status;
}

fnz_status fnzi_pt2_no_weights(fnzi_pt2 *r) {
  loader l;
  init(&l, r, NULL);
  fnz_status status = load_all(&l);
  finish(&l);
  return status;
}
