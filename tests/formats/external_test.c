/* checks: 10
 * external_test.c - weights in a safetensors file beside the CBOR: back again bit by bit, and no
 * other file is taken for it. */
#include "base/digest.h"
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>
#include <unistd.h>

static const char text[] =
    "fnz 1\n"
    "weight \"a\": f32[2,3]\nweight \"half\": f32[3] offset(3)\n"
    "weight \"odd\": i8[5]\nweight \"wide\": c128[2]\n"
    "program(\n  %a: f32[2,3] parameter \"a\",\n  %half: f32[3] offset(3) parameter \"half\",\n"
    "  %odd: i8[5] buffer \"odd\" persistent,\n  %wide: c128[2] buffer \"wide\" persistent,\n"
    "  %x: f32[3])\n{\n  %y: f32[3] = add.Tensor(%x, %half)\n  return %y\n}\n";

static void fill(fnz_program *p, const char *const *names, size_t count, size_t bytes) {
  fnzi_blob *blob;
  OK(ctx, fnzi_blob_create(ctx, bytes, &blob));
  for (size_t i = 0; i < bytes; i++)
    ((unsigned char *)fnzi_blob_data(blob))[i] = (unsigned char)(7 * i + bytes);
  for (size_t i = 0; i < count; i++)
    ((fnzi_weight *)(uintptr_t)fnzi_weight_find(p, names[i]))->blob = fnzi_blob_retain(blob);
  fnzi_blob_release(blob);
}

/* Two weights in one storage, one of a size that is no multiple of 64, one of a dtype that
 * safetensors files do not have. */
static fnz_program *program(void) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  fill(p, (const char *const[]){"a", "half"}, 2, 24);
  fill(p, (const char *const[]){"odd"}, 1, 5);
  fill(p, (const char *const[]){"wide"}, 1, 32);
  return p;
}

/* Hands out a copy of the weights, and counts the calls. */
typedef struct shelf {
  const fnz_buffer *weights;
  int calls;
  char name[64];
} shelf;

static fnz_status take(fnz_context *c, void *user, const char *name, uint64_t size,
                       fnz_buffer *out) {
  shelf *s = user;
  (void)size;
  s->calls++;
  snprintf(s->name, sizeof s->name, "%s", name);
  return fnzi_put(c, out, s->weights->data, s->weights->size);
}

static fnz_status read_pair(const fnz_buffer *cbor, shelf *s, fnz_program **out) {
  fnz_buffer copy = {0};
  OK(ctx, fnzi_put(ctx, &copy, cbor->data, cbor->size));
  return fnz_program_read_external(ctx, &copy, FNZ_FORMAT_AUTO, take, s, out);
}

typedef struct pair {
  fnz_buffer cbor, weights;
} pair;

static pair write_pair(void) {
  fnz_program *p = program();
  pair w = {{0}, {0}};
  OK(ctx, fnz_program_write_external(ctx, p, "w.safetensors", &w.cbor, &w.weights));
  fnz_program_destroy(p);
  return w;
}

static void end_pair(pair *w) {
  fnz_buffer_free(ctx, &w->cbor);
  fnz_buffer_free(ctx, &w->weights);
}

START_TEST(weights_come_back_bit_by_bit) {
  begin();
  fnz_program *p = program(), *again;
  pair w = write_pair();
  shelf s = {.weights = &w.weights};
  fnz_buffer one = {0}, other = {0};
  OK(ctx, read_pair(&w.cbor, &s, &again));
  ck_assert_str_eq(s.name, "w.safetensors");
  ck_assert_int_eq(s.calls, 1);
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_CBOR, &one));
  OK(ctx, fnz_program_write(ctx, again, FNZ_FORMAT_CBOR, &other));
  ck_assert_uint_eq(one.size, other.size);
  ck_assert_mem_eq(one.data, other.data, one.size);
  ck_assert_ptr_eq(fnzi_blob_data(fnzi_weight_find(again, "a")->blob),
                   fnzi_blob_data(fnzi_weight_find(again, "half")->blob));
  fnz_buffer_free(ctx, &one);
  fnz_buffer_free(ctx, &other);
  fnz_program_destroy(p);
  fnz_program_destroy(again);
  end_pair(&w);
  end();
}
END_TEST

/* As any other reader of safetensors sees the file. */
START_TEST(arrays_lie_at_multiples_of_64) {
  begin();
  pair w = write_pair();
  fnz_arrays *arrays;
  size_t header = 8 + (size_t)(unsigned char)w.weights.data[0] +
                  ((size_t)(unsigned char)w.weights.data[1] << 8);
  ck_assert_uint_eq(header % 64, 0);
  ck_assert_uint_eq(w.weights.size, header + 64 + 64 + 32);
  OK(ctx, fnz_arrays_read_safetensors(ctx, w.weights.data, w.weights.size, &arrays));
  const fnz_array *a = fnz_arrays_find(arrays, "a"), *odd = fnz_arrays_find(arrays, "odd");
  const fnz_array *wide = fnz_arrays_find(arrays, "wide");
  ck_assert_int_eq(a->dtype, FNZ_F32);
  ck_assert_int_eq(odd->dtype, FNZ_I8);
  ck_assert_int_eq(wide->dtype, FNZ_U8);
  ck_assert_ptr_null(fnz_arrays_find(arrays, "half"));
  ck_assert_mem_eq(w.weights.data + header, a->data, 24);
  ck_assert_mem_eq(w.weights.data + header + 64, odd->data, 5);
  ck_assert_mem_eq(w.weights.data + header + 128, wide->data, 32);
  fnz_arrays_destroy(arrays);
  end_pair(&w);
  end();
}
END_TEST

START_TEST(other_bytes_are_refused) {
  begin();
  pair w = write_pair();
  shelf s = {.weights = &w.weights};
  fnz_program *p = NULL;
  for (size_t i = 0; i < w.weights.size; i++) {
    w.weights.data[i] ^= 1;
    FAILS(ctx, "REF", read_pair(&w.cbor, &s, &p));
    w.weights.data[i] ^= 1;
  }
  for (; w.weights.size; w.weights.size--) {
    fnz_buffer less = {w.weights.data, w.weights.size - 1, 0};
    shelf of_less = {.weights = &less};
    FAILS(ctx, "TRUNCATED", read_pair(&w.cbor, &of_less, &p));
  }
  end_pair(&w);
  end();
}
END_TEST

/* The program says another digest: that of weights which were changed. The digest is its end. */
static void change(pair *w, const char *from, const char *to) {
  size_t size = strlen(from);
  fnzi_digest d;
  char *at = w->weights.data;
  while (memcmp(at, from, size) != 0)
    at++;
  memcpy(at, to, size);
  fnzi_digest_start(&d);
  fnzi_digest_add(&d, w->weights.data, w->weights.size);
  fnzi_digest_end(&d, (unsigned char *)w->cbor.data + w->cbor.size - FNZI_DIGEST_BYTES);
}

static void fails_after(const char *class, const char *from, const char *to) {
  pair w = write_pair();
  shelf s = {.weights = &w.weights};
  fnz_program *p;
  change(&w, from, to);
  FAILS(ctx, class, read_pair(&w.cbor, &s, &p));
  end_pair(&w);
}

START_TEST(other_arrays_are_refused) {
  begin();
  fails_after("TYPE", "F32", "I32");
  fails_after("TYPE", "[2,3]", "[3,2]");
  fails_after("REF", "odd", "Odd");
  fails_after("BOUNDS", "[64,69]", "[63,69]");
  fails_after("UNSUPPORTED", "F32", "F99");
  end();
}
END_TEST

/* No name but a plain one reaches the caller. */
START_TEST(names_are_no_paths) {
  begin();
  static const char *const names[] = {"/.safetensors", "..safetensors",  "a/safetensors",
                                      "w.safetensor/", "w\\safetensors", "c:safetensors",
                                      "w.Safetensors", "w\n.safetensor"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    pair w = write_pair();
    shelf s = {.weights = &w.weights};
    fnz_program *p;
    char *at = w.cbor.data;
    while (memcmp(at, "w.safetensors", 13) != 0)
      at++;
    memcpy(at, names[i], 13);
    FAILS(ctx, "REF", read_pair(&w.cbor, &s, &p));
    ck_assert_int_eq(s.calls, 0);
    end_pair(&w);
  }
  fnz_program *p = program();
  fnz_buffer cbor = {0}, weights = {0};
  FAILS(ctx, "REF", fnz_program_write_external(ctx, p, "../w.safetensors", &cbor, &weights));
  fnz_buffer_free(ctx, &cbor);
  fnz_buffer_free(ctx, &weights);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* The CBOR alone, and each beginning of it. */
START_TEST(a_program_needs_its_weights) {
  begin();
  pair w = write_pair();
  shelf s = {.weights = &w.weights};
  fnz_program *p;
  FAILS(ctx, "REF", fnz_program_read(ctx, w.cbor.data, w.cbor.size, FNZ_FORMAT_CBOR, &p));
  for (size_t i = 1; i < w.cbor.size; i++) {
    fnz_buffer less = {w.cbor.data, i, 0};
    ck_assert_int_ne(read_pair(&less, &s, &p), FNZ_OK);
  }
  ck_assert_int_eq(s.calls, 0);
  end_pair(&w);
  end();
}
END_TEST

static void in_folder(const char *folder, const char *name, char out[128]) {
  snprintf(out, 128, "%s/%s", folder, name);
}

/* A byte of the last weight in the file, changed. */
static void damage(const char *beside) {
  FILE *file = fopen(beside, "r+b");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fseek(file, -1, SEEK_END), 0);
  ck_assert_int_ne(fputc(0x55, file), EOF);
  ck_assert_int_eq(fclose(file), 0);
}

/* A file is mapped from 1 MiB on. */
static fnz_program *large_program(void) {
  static const char large[] =
      "fnz 1\nweight \"w\": f32[512,512]\nprogram(%x: f32[512], %w: f32[512,512] parameter \"w\") "
      "{\n  %y: f32[512] = mv(%w, %x)\n  return %y\n}\n";
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, large, sizeof large - 1, FNZ_FORMAT_TEXT, &p));
  fill(p, (const char *const[]){"w"}, 1, 4 * 512 * 512);
  return p;
}

START_TEST(the_file_beside_is_mapped_too) {
  begin();
  char folder[] = "/tmp/fnz_external_XXXXXX", path[128], beside[128];
  fnz_program *p = large_program(), *again;
  ck_assert_ptr_nonnull(mkdtemp(folder));
  in_folder(folder, "m.cbor", path);
  in_folder(folder, "m.safetensors", beside);
  OK(ctx, fnz_program_save_external(ctx, p, path));
  for (int reading = FNZ_READING_COPY; reading <= FNZ_READING_MAP_LATE; reading++) {
    fnz_context_set_reading(ctx, (fnz_reading)reading);
    OK(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &again));
    OK(ctx, fnz_program_compare(ctx, p, again, NULL));
    fnz_program_destroy(again);
  }
  OK(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &again));
  damage(beside);
  FAILS(ctx, "IO", fnz_program_compare(ctx, p, again, NULL));
  ck_assert_str_eq(fnz_last_error(ctx)->where, beside);
  fnz_program_destroy(again);
  OK(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &again));
  fnz_program_destroy(again);
  fnz_context_set_reading(ctx, FNZ_READING_MAP);
  FAILS(ctx, "REF", fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &again));
  ck_assert_int_eq(truncate(beside, 70), 0);
  FAILS(ctx, "TRUNCATED", fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &again));
  unlink(beside);
  unlink(path);
  ck_assert_int_eq(rmdir(folder), 0);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(both_files_or_none) {
  begin();
  char folder[] = "/tmp/fnz_external_XXXXXX", path[128], beside[128];
  fnz_program *p = program(), *again;
  ck_assert_ptr_nonnull(mkdtemp(folder));
  in_folder(folder, "m.cbor", path);
  in_folder(folder, "m.safetensors", beside);
  OK(ctx, fnz_file_write(ctx, beside, "mine", 4));
  FAILS(ctx, "IO", fnz_program_save_external(ctx, p, path));
  ck_assert_int_ne(access(path, F_OK), 0);
  unlink(beside);
  for (int i = 0; i < 2; i++) {
    OK(ctx, fnz_program_save_external(ctx, p, path));
    OK(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &again));
    OK(ctx, fnz_program_compare(ctx, p, again, NULL));
    fnz_program_destroy(again);
  }
  unlink(beside);
  FAILS(ctx, "IO", fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &again));
  OK(ctx, fnz_file_write(ctx, beside, "other", 5));
  FAILS(ctx, "TRUNCATED", fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &again));
  FAILS(ctx, "ARGUMENT", fnz_program_save_external(ctx, p, beside));
  unlink(beside);
  unlink(path);
  ck_assert_int_eq(rmdir(folder), 0);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* RFC 7693, appendix A has it of 64 bytes; these are of b2sum -l 256. */
START_TEST(the_digest_is_blake2b) {
  static const unsigned char abc[] = {0xbd, 0xdd, 0x81, 0x3c, 0x63, 0x42, 0x39, 0x72};
  unsigned char out[FNZI_DIGEST_BYTES], parts[FNZI_DIGEST_BYTES];
  unsigned char bytes[1000];
  fnzi_digest d;
  fnzi_digest_start(&d);
  fnzi_digest_add(&d, "abc", 3);
  fnzi_digest_end(&d, out);
  ck_assert_mem_eq(out, abc, sizeof abc);
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char)(i * i);
  fnzi_digest_start(&d);
  fnzi_digest_add(&d, bytes, sizeof bytes);
  fnzi_digest_end(&d, out);
  for (size_t step = 1; step < sizeof bytes; step++) {
    fnzi_digest_start(&d);
    for (size_t i = 0; i < sizeof bytes; i += step)
      fnzi_digest_add(&d, bytes + i, i + step < sizeof bytes ? step : sizeof bytes - i);
    fnzi_digest_end(&d, parts);
    ck_assert_mem_eq(out, parts, sizeof out);
  }
}
END_TEST

/* Each allocation that writing and reading need fails once: NO_MEMORY each time, and nothing lost.
 */
static fnz_status write_once(fnz_context *c, const void *user) {
  fnz_buffer cbor = {0}, weights = {0};
  fnz_status status = fnz_program_write_external(c, user, "w.safetensors", &cbor, &weights);
  fnz_buffer_free(c, &cbor);
  fnz_buffer_free(c, &weights);
  return status;
}

static fnz_status read_once(fnz_context *c, const void *user) {
  const pair *w = user;
  shelf s = {.weights = &w->weights};
  fnz_buffer copy = {0};
  fnz_program *p;
  fnz_status status = fnzi_put(c, &copy, w->cbor.data, w->cbor.size);
  if (status == FNZ_OK)
    status = fnz_program_read_external(c, &copy, FNZ_FORMAT_CBOR, take, &s, &p);
  if (status == FNZ_OK)
    fnz_program_destroy(p);
  fnz_buffer_free(c, &copy);
  return status;
}

static fnz_status save_once(fnz_context *c, const void *user) {
  const void *const *both = user;
  return fnz_program_save_external(c, both[0], both[1]);
}

START_TEST(memory_runs_out) {
  begin();
  char folder[] = "/tmp/fnz_external_XXXXXX", path[128], beside[128];
  fnz_program *p = program();
  pair w = write_pair();
  ck_assert_ptr_nonnull(mkdtemp(folder));
  in_folder(folder, "m.cbor", path);
  in_folder(folder, "m.safetensors", beside);
  ck_assert_uint_gt(each_fault(write_once, p), 10);
  ck_assert_uint_gt(each_fault(read_once, &w), 20);
  ck_assert_uint_gt(each_fault(save_once, (const void *[]){p, path}), 10);
  unlink(beside);
  unlink(path);
  ck_assert_int_eq(rmdir(folder), 0); /* no other file has stayed */
  fnz_program_destroy(p);
  end_pair(&w);
  end();
}
END_TEST

RUN_SUITE("external", memory_runs_out, weights_come_back_bit_by_bit, arrays_lie_at_multiples_of_64,
          other_bytes_are_refused, other_arrays_are_refused, names_are_no_paths,
          a_program_needs_its_weights, the_file_beside_is_mapped_too, both_files_or_none,
          the_digest_is_blake2b)
