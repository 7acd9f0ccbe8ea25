/* foreign.c - which file this is, where it is no program of fnz or no file of arrays: a table of
 * first bytes, and for archives the names in them. */
#include "program/formats/foreign.h"
#include "program/formats/zip.h"

typedef struct kind {
  const char *begin;
  size_t size, at;
  const char *what, *remedy; /* where a program is wanted; NULL: it may be one */
} kind;

#define ARRAYS "arrays go to fnz run --inputs, as a safetensors file"

/* The first that fits. */
static const kind kinds[] = {
    {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14, 0,
     "a pickle, as torch.save wrote it before torch 1.6", FNZI_EXPORT},
    {"\x80\x02", 2, 0, "a pickle", FNZI_EXPORT},
    {"\x80\x03", 2, 0, "a pickle", FNZI_EXPORT},
    {"\x80\x04", 2, 0, "a pickle", FNZI_EXPORT},
    {"\x80\x05", 2, 0, "a pickle", FNZI_EXPORT},
    {"(dp", 3, 0, "a pickle", FNZI_EXPORT},
    {"(lp", 3, 0, "a pickle", FNZI_EXPORT},
    {"\x93NUMPY", 6, 0, "an array of NumPy", ARRAYS},
    {"\0\0\0\0{", 5, 4, "a safetensors file", ARRAYS},
    {"\x89HDF\r\n\x1a\n", 8, 0, "an HDF5 file", FNZI_EXPORT},
    {"\x89PNG\r\n\x1a\n", 8, 0, "a PNG picture", FNZI_EXPORT},
    {"\x1f\x8b", 2, 0, "a gzip file", "unpack it first"},
    {"\x28\xb5\x2f\xfd", 4, 0, "a zstd file", "unpack it first"},
    {"\xfd"
     "7zXZ\0",
     6, 0, "an xz file", "unpack it first"},
    {"BZh", 3, 0, "a bzip2 file", "unpack it first"},
    {"7z\xbc\xaf", 4, 0, "a 7z file", "unpack it first"},
    {"ustar", 5, 257, "a tar file", "unpack it first"},
    {"\x7f"
     "ELF",
     4, 0, "a program or library of this system", FNZI_EXPORT},
    {"%PDF", 4, 0, "a PDF file", FNZI_EXPORT},
    {"GGUF", 4, 0, "a GGUF file", FNZI_EXPORT},
    {"TFL3", 4, 4, "a TensorFlow Lite model", FNZI_EXPORT},
    {"ET1", 3, 4, "an ExecuTorch program", FNZI_EXPORT},
    {"\xff\xfe", 2, 0, "text in UTF-16", "save it as UTF-8"},
    {"\xef\xbb\xbf", 3, 0, "text behind a byte order mark", "save it without one"},
    {"PK", 2, 0, "a zip archive, as .pt2, .pth and .npz files are", NULL},
    {"\xd9\xd9\xf7", 3, 0, "CBOR", NULL},
    {"\x83hfnz-cbor", 10, 0, "a program as CBOR", NULL},
    {"{", 1, 0, "JSON", NULL},
    {"#", 1, 0, "text", NULL},
    {"fnz", 3, 0, "a program as text", NULL},
};

/* A protocol buffer of ONNX begins with its version, field 1, and a text, field 2 or 3. */
static const kind onnx = {"", 0, 0, "an ONNX model", FNZI_EXPORT};

static const kind *foreign_find_kind(const char *bytes, size_t size) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const kind *k = &kinds[i];
    if (size >= k->at + k->size && memcmp(bytes + k->at, k->begin, k->size) == 0)
      return k;
  }
  const unsigned char *b = (const unsigned char *)bytes;
  bool is_onnx = size > 2 && b[0] == 0x08 && b[1] < 0x40 && (b[2] == 0x12 || b[2] == 0x1a);
  return is_onnx ? &onnx : NULL;
}

/* --- zip
 * ------------------------------------------------------------------------------------------
 */
/* Behind the last slash that there is. */
static bool is_called(const char *name, size_t length, const char *last) {
  size_t size = strlen(last);
  return length >= size && memcmp(name + length - size, last, size) == 0 &&
         (length == size || name[length - size - 1] == '/');
}

static bool ends_in(const char *name, size_t length, const char *end) {
  return length >= strlen(end) && memcmp(name + length - strlen(end), end, strlen(end)) == 0;
}

/* --- what the others ask
 * --------------------------------------------------------------------------
 */
const char *fnzi_kind_of(const char *bytes, size_t size) {
  const kind *k = foreign_find_kind(bytes, size);
  return k ? k->what : NULL;
}

static fnz_status foreign_refuse(fnz_context *ctx, const char *what, const char *remedy) {
  return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "expected a program, this is %s; %s", what,
                   remedy);
}

fnz_status fnzi_refuse_foreign(fnz_context *ctx, const char *bytes, size_t size) {
  /* The name of the first entry, at the beginning: "archive/data.pkl" and "x.npy" show that a file
   * holds no program, even without the directory at its end. */
  enum { LENGTH = 26, NAME = 30 };
  const unsigned char *head = (const unsigned char *)bytes;
  bool is_zip = size >= NAME && memcmp(bytes, "PK\3\4", 4) == 0;
  size_t length = is_zip ? head[LENGTH] | (size_t)head[LENGTH + 1] << 8 : 0;
  const char *name = is_zip && length <= size - NAME ? bytes + NAME : NULL;
  if (name && ends_in(name, length, ".npy"))
    return foreign_refuse(ctx, "arrays of NumPy", ARRAYS);
  if (name && ends_in(name, length, "/data.pkl"))
    return foreign_refuse(ctx, "a file of torch.save or torch.jit.save", FNZI_EXPORT);
  const kind *k = foreign_find_kind(bytes, size);
  return k && k->remedy ? foreign_refuse(ctx, k->what, k->remedy) : FNZ_OK;
}

/* --- the names in an archive ------------------------------------------------------------------ */
void fnzi_note_name(fnzi_zip_names *names, const char *name, size_t size) {
  const char *folder = memchr(name, '/', size);
  size_t skip = folder ? (size_t)(folder - name) + 1 : 0;
  names->program = names->program || is_called(name, size, "archive_format") ||
                   is_called(name, size, "serialized_exported_program.json");
  names->pickle = names->pickle || is_called(name, size, "data.pkl");
  names->code = names->code || (size - skip >= 5 && memcmp(name + skip, "code/", 5) == 0);
  names->arrays = names->arrays || ends_in(name, size, ".npy");
}

fnz_status fnzi_refuse_names(fnz_context *ctx, const fnzi_zip_names *names) {
  if (names->pickle)
    return foreign_refuse(ctx, names->code ? "a TorchScript archive" : "a file of torch.save",
                          FNZI_EXPORT);
  if (names->arrays)
    return foreign_refuse(ctx, "arrays of NumPy", ARRAYS);
  return fnzi_fail(ctx, FNZ_CLASS_ARCHIVE, NULL,
                   "the zip archive is not one of torch.export.save: no archive_format; export the "
                   "program in Python and write it with torch.export.save");
}

static fnz_status look_at_end(fnz_context *ctx, const fnzi_foreign_seen *seen, fnz_buffer *part) {
  enum { LONGEST = 1 << 20 };
  size_t size = seen->total < FNZI_ZIP_END ? (size_t)seen->total : FNZI_ZIP_END;
  fnzi_zip_names names = {false, false, false, false};
  fnzi_zip_directory d = {.start = seen->total - size, .size = size};
  FNZ_TRY(fnzi_seen_read(ctx, seen, d.start, size, part));
  if (part->size < size)
    return FNZ_OK;
  d.bytes = part->data;
  FNZ_TRY(fnzi_zip_find_directory(ctx, &d));
  if (d.is_further_up || d.length > LONGEST)
    return FNZ_OK;
  FNZ_TRY(fnzi_seen_read(ctx, seen, d.offset, (size_t)d.length, part));
  const char *name;
  size_t at = 0, length = 0;
  while (part->size >= d.length &&
         (name = fnzi_zip_next_name(part->data, part->size, &at, &length)) != NULL)
    fnzi_note_name(&names, name, length);
  /* A directory that the names do not fill is damaged. */
  if (part->size < d.length || at != part->size || names.program)
    return FNZ_OK;
  return fnzi_refuse_names(ctx, &names);
}

fnz_status fnzi_refuse_foreign_archive(fnz_context *ctx, const fnzi_foreign_seen *seen) {
  fnz_buffer part = {NULL, 0, 0};
  if (seen->fd < 0 || seen->size < 4 || memcmp(seen->head, "PK\3\4", 4) != 0)
    return FNZ_OK;
  fnz_status status = look_at_end(ctx, seen, &part);
  fnz_buffer_free(ctx, &part);
  return status;
}
