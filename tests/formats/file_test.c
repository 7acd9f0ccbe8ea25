/* checks: 10
 * file_test.c - files are read whole, written whole or not at all, and nothing else is touched. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "tests/help/test.h"

#include <fnz/arrays.h>
#include <fnz/compare.h>
#include <fnz/formats.h>
#include <fnz/lend.h>
#include <fnz/program.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct fixture {
  fnz_context *ctx;
  char folder[64], path[96];
} fixture;

static void start(fixture *f) {
  ck_assert_int_eq(fnz_context_create(NULL, &f->ctx), FNZ_OK);
  strcpy(f->folder, "/tmp/fnz_file_test_XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(f->folder));
  snprintf(f->path, sizeof f->path, "%s/file", f->folder);
}

/* Removes the folder, which must hold the file and nothing else when `count` is 1. */
static void done(fixture *f, int count) {
  int found = 0;
  DIR *d = opendir(f->folder);
  for (struct dirent *e; (e = readdir(d)) != NULL;)
    found += e->d_name[0] != '.';
  closedir(d);
  ck_assert_int_eq(found, count);
  unlink(f->path);
  ck_assert_int_eq(rmdir(f->folder), 0);
  ck_assert_uint_eq(f->ctx->live_bytes, 0);
  fnz_context_destroy(f->ctx);
}

static void expect_content(fixture *f, const char *text) {
  fnz_buffer b;
  OK(f->ctx, fnz_file_read(f->ctx, f->path, &b));
  ck_assert_uint_eq(b.size, strlen(text));
  ck_assert_str_eq(b.data, text);
  fnz_buffer_free(f->ctx, &b);
}

/* Data of arrays is written from where it lies: short ones, none, and some beyond what is copied.
 */
START_TEST(saving_arrays) {
  fixture f;
  fnz_arrays *arrays;
  fnz_buffer wanted, file;
  void *data;
  start(&f);
  OK(f.ctx, fnz_arrays_create(f.ctx, &arrays));
  OK(f.ctx, fnz_arrays_add(arrays, "short", FNZ_U8, 1, (int64_t[]){3}, &data));
  memcpy(data, "xyz", 3);
  OK(f.ctx, fnz_arrays_add(arrays, "long", FNZ_I32, 1, (int64_t[]){5000}, &data));
  for (int i = 0; i < 5000; i++)
    ((int32_t *)data)[i] = i;
  OK(f.ctx, fnz_arrays_add(arrays, "empty", FNZ_F64, 1, (int64_t[]){0}, &data));
  OK(f.ctx, fnz_arrays_save(f.ctx, arrays, f.path));
  OK(f.ctx, fnz_arrays_write_safetensors(f.ctx, arrays, &wanted));
  OK(f.ctx, fnz_file_read(f.ctx, f.path, &file));
  ck_assert_uint_eq(file.size, wanted.size);
  ck_assert_mem_eq(file.data, wanted.data, wanted.size);
  FAILS(f.ctx, "IO", fnz_arrays_save(f.ctx, arrays, f.folder));
  fnz_buffer_free(f.ctx, &file);
  fnz_buffer_free(f.ctx, &wanted);
  fnz_arrays_destroy(arrays);
  done(&f, 1);
}
END_TEST

START_TEST(writing_and_reading) {
  fixture f;
  start(&f);
  OK(f.ctx, fnz_file_write(f.ctx, f.path, "first", 5));
  expect_content(&f, "first");
  OK(f.ctx, fnz_file_write(f.ctx, f.path, "", 0));
  expect_content(&f, "");
  fnz_context_set_sync(f.ctx, true);
  OK(f.ctx, fnz_file_write(f.ctx, f.path, "on the disk", 11));
  expect_content(&f, "on the disk");
  done(&f, 1);
}
END_TEST

START_TEST(modes) {
  fixture f;
  struct stat st;
  start(&f);
  umask(027);
  OK(f.ctx, fnz_file_write(f.ctx, f.path, "a", 1));
  ck_assert_int_eq(stat(f.path, &st), 0);
  ck_assert_uint_eq(st.st_mode & 07777, 0640);
  ck_assert_int_eq(chmod(f.path, 0604), 0);
  OK(f.ctx, fnz_file_write(f.ctx, f.path, "b", 1));
  ck_assert_int_eq(stat(f.path, &st), 0);
  ck_assert_uint_eq(st.st_mode & 07777, 0604);
  done(&f, 1);
}
END_TEST

START_TEST(what_is_no_file) {
  fixture f;
  fnz_buffer b;
  start(&f);
  FAILS(f.ctx, "IO", fnz_file_read(f.ctx, f.path, &b));
  ck_assert_str_eq(fnz_last_error(f.ctx)->where, f.path);
  FAILS(f.ctx, "IO", fnz_file_read(f.ctx, f.folder, &b));
  FAILS(f.ctx, "IO", fnz_file_read(f.ctx, "/dev/null", &b));
  FAILS(f.ctx, "IO", fnz_file_write(f.ctx, f.folder, "a", 1));
  FAILS(f.ctx, "IO", fnz_file_write(f.ctx, "/nowhere/at/all", "a", 1));
  FAILS(f.ctx, "IO", fnz_file_write(f.ctx, "", "a", 1));
  ck_assert_int_eq(mkfifo(f.path, 0600), 0);
  FAILS(f.ctx, "IO", fnz_file_read(f.ctx, f.path, &b));
  FAILS(f.ctx, "IO", fnz_file_write(f.ctx, f.path, "a", 1));
  done(&f, 1);
}
END_TEST

START_TEST(links_are_left_alone) {
  fixture f;
  char text[16] = "";
  start(&f);
  ck_assert_int_eq(symlink("elsewhere", f.path), 0);
  FAILS(f.ctx, "IO", fnz_file_write(f.ctx, f.path, "a", 1));
  ck_assert_int_eq(readlink(f.path, text, sizeof text - 1), 9);
  ck_assert_str_eq(text, "elsewhere");
  done(&f, 1);
}
END_TEST

START_TEST(leftovers_are_no_obstacle) {
  fixture f;
  char left[160];
  start(&f);
  snprintf(left, sizeof left, "%s.%ld-0.tmp", f.path, (long)getpid());
  int fd = open(left, O_WRONLY | O_CREAT, 0600);
  ck_assert_int_ge(fd, 0);
  close(fd);
  OK(f.ctx, fnz_file_write(f.ctx, f.path, "a", 1));
  OK(f.ctx, fnz_file_write(f.ctx, f.path, "b", 1)); /* over a file that is there */
  ck_assert_int_eq(unlink(left), 0);
  expect_content(&f, "b");
  done(&f, 1);
}
END_TEST

/* Ends by a signal between two writes of one file. */
static void die_while_writing(fixture *f) {
  static const char bytes[10000];
  struct rlimit no_core = {0, 0}, few_bytes = {100, 100};
  signal(SIGXFSZ, SIG_DFL);
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_FSIZE, &few_bytes);
  fnz_status status = fnz_file_write(f->ctx, f->path, bytes, sizeof bytes);
  _exit(status == FNZ_OK ? 0 : 1);
}

/* If the folder cannot hold a file without a name, the new one stays beside the target. */
static int left_by_death(const fixture *f) {
  int fd = open(f->folder, O_WRONLY | O_TMPFILE, 0600);
  if (fd < 0)
    return 1;
  close(fd);
  return 0;
}

START_TEST(death_leaves_what_was) {
  fixture f;
  int status;
  char left[160];
  start(&f);
  OK(f.ctx, fnz_file_write(f.ctx, f.path, "before", 6));
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (!child)
    die_while_writing(&f);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
  expect_content(&f, "before");
  snprintf(left, sizeof left, "%s.%ld-0.tmp", f.path, (long)child);
  ck_assert_int_eq(unlink(left) == 0, left_by_death(&f));
  done(&f, 1);
}
END_TEST

/* Loads the file at f->path; its hash, which covers weights, must be `hash`. */
static void expect_program(fixture *f, const unsigned char *hash) {
  fnz_program *p;
  unsigned char found[FNZ_HASH_BYTES];
  OK(f->ctx, fnz_program_load(f->ctx, f->path, FNZ_FORMAT_AUTO, &p));
  OK(f->ctx, fnz_program_hash(f->ctx, p, true, found));
  if (hash)
    ck_assert_mem_eq(found, hash, sizeof found);
  fnz_program_destroy(p);
}

/* A byte of a weight, changed in the file. */
static void damage(fixture *f) {
  fnz_program *p;
  fnz_buffer file;
  OK(f->ctx, fnz_program_load(f->ctx, f->path, FNZ_FORMAT_AUTO, &p));
  fnz_weight w = fnz_program_weight(p, "w");
  OK(f->ctx, fnz_file_read(f->ctx, f->path, &file));
  char *at = memmem(file.data, file.size, w.data, w.bytes);
  ck_assert_ptr_nonnull(at);
  *at ^= 1;
  OK(f->ctx, fnz_file_write(f->ctx, f->path, file.data, file.size));
  fnz_buffer_free(f->ctx, &file);
  fnz_program_destroy(p); /* it has the file as it was: another one took its place */
}

/* A program whose weight is large enough to be mapped. */
static void save_large(fixture *f) {
  static const char text[] =
      "fnz 1\nweight \"w\": f32[512,512]\nprogram(%x: f32[512], %w: f32[512,512] parameter \"w\") "
      "{\n  %y: f32[512] = mv(%w, %x)\n  return %y\n}\n";
  static float data[512 * 512];
  fnz_program *p;
  for (size_t i = 0; i < sizeof data / sizeof *data; i++)
    data[i] = (float)i;
  OK(f->ctx, fnz_program_read(f->ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  const fnz_weight_loan loan = {"w", fnz_program_weight(p, "w").geometry, data, sizeof data, NULL,
                                NULL};
  OK(f->ctx, fnz_program_lend_weights(f->ctx, p, &loan, 1));
  OK(f->ctx, fnz_program_save(f->ctx, p, FNZ_FORMAT_PT2, f->path));
  fnz_program_destroy(p);
}

START_TEST(programs_are_mapped) {
  fixture f;
  fnz_program *p;
  unsigned char hash[FNZ_HASH_BYTES];
  start(&f);
  save_large(&f);
  OK(f.ctx, fnz_program_load(f.ctx, f.path, FNZ_FORMAT_AUTO, &p));
  OK(f.ctx, fnz_program_hash(f.ctx, p, true, hash));
  fnz_program_destroy(p);
  for (int reading = FNZ_READING_COPY; reading <= FNZ_READING_MAP_LATE; reading++) {
    fnz_context_set_reading(f.ctx, (fnz_reading)reading);
    expect_program(&f, hash);
  }
  damage(&f);
  expect_program(&f, NULL); /* as told, checksums of weights are not compared */
  fnz_context_set_reading(f.ctx, FNZ_READING_MAP);
  FAILS(f.ctx, "ARCHIVE", fnz_program_load(f.ctx, f.path, FNZ_FORMAT_AUTO, &p));
  fnz_context_set_reading(f.ctx, FNZ_READING_COPY);
  FAILS(f.ctx, "ARCHIVE", fnz_program_load(f.ctx, f.path, FNZ_FORMAT_AUTO, &p));
  done(&f, 1);
}
END_TEST

START_TEST(what_is_written_over_is_not_used) {
  fixture f;
  fnz_program *p, *copied;
  unsigned char hash[FNZ_HASH_BYTES], other[FNZ_HASH_BYTES];
  fnz_buffer out = {NULL, 0, 0};
  start(&f);
  save_large(&f);
  OK(f.ctx, fnz_program_load(f.ctx, f.path, FNZ_FORMAT_AUTO, &copied));
  fnz_context_set_reading(f.ctx, FNZ_READING_MAP);
  OK(f.ctx, fnz_program_load(f.ctx, f.path, FNZ_FORMAT_AUTO, &p));
  OK(f.ctx, fnz_program_hash(f.ctx, p, true, hash));
  save_large(&f); /* another file of this name */
  OK(f.ctx, fnz_program_hash(f.ctx, p, true, other));
  ck_assert_mem_eq(hash, other, sizeof hash);
  fnz_program_destroy(p);
  OK(f.ctx, fnz_program_load(f.ctx, f.path, FNZ_FORMAT_AUTO, &p));
  ck_assert_int_eq(truncate(f.path, 0), 0);
  FAILS(f.ctx, "IO", fnz_program_hash(f.ctx, p, true, hash));
  ck_assert_str_eq(fnz_last_error(f.ctx)->where, f.path);
  FAILS(f.ctx, "IO", fnz_program_write(f.ctx, p, FNZ_FORMAT_CBOR, &out));
  fnz_buffer_free(f.ctx, &out);
  FAILS(f.ctx, "IO", fnz_program_write(f.ctx, p, FNZ_FORMAT_PT2, &out));
  fnz_buffer_free(f.ctx, &out);
  FAILS(f.ctx, "IO", fnz_program_compare(f.ctx, copied, p, NULL));
  OK(f.ctx, fnz_program_hash(f.ctx, p, false, other)); /* which reads no weights */
  OK(f.ctx, fnz_program_hash(f.ctx, copied, true, other));
  ck_assert_mem_eq(hash, other, sizeof hash);
  fnz_program_destroy(p);
  fnz_program_destroy(copied);
  done(&f, 1);
}
END_TEST

START_TEST(standard_input) {
  fixture f;
  fnz_buffer b;
  int ends[2];
  start(&f);
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], "through a pipe", 14), 14);
  close(ends[1]);
  ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  OK(f.ctx, fnz_file_read(f.ctx, "-", &b));
  ck_assert_uint_eq(b.size, 14);
  ck_assert_str_eq(b.data, "through a pipe");
  fnz_buffer_free(f.ctx, &b);
  close(ends[0]);
  done(&f, 0);
}
END_TEST

RUN_SUITE("file", writing_and_reading, saving_arrays, modes, what_is_no_file, links_are_left_alone,
          leftovers_are_no_obstacle, death_leaves_what_was, programs_are_mapped,
          what_is_written_over_is_not_used, standard_input)
