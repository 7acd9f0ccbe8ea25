/* checks: 4
 * save_test.c - programs written straight to files: the same bytes as by way of a buffer, however
 * many weights lie between them and wherever writing stops. */
#include "program/program.h"
#include "tests/help/faults.h"

#include <fnz/formats.h>

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WEIGHTS = 150 };

static fnz_context *ctx;
static char folder[64], path[96];

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  strcpy(folder, "/tmp/fnz_save_test_XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/file", folder);
}

static void end(void) {
  unlink(path);
  ck_assert_int_eq(rmdir(folder), 0); /* nothing else is left in it */
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

/* Weights of 0 to some thousand bytes, all different. */
static fnz_status add_weights(fnz_program *p) {
  for (uint32_t i = 1; i <= WEIGHTS; i++) {
    const fnzi_value *v = fnzi_value_at(p, 0, fnzi_graph_main(p)->inputs[i].u.value);
    size_t bytes = (size_t)v->geometry->sizes[0];
    fnzi_blob *blob;
    FNZ_TRY(fnzi_blob_create(p->ctx, bytes, &blob));
    memset(fnzi_blob_data(blob), (int)i, bytes);
    fnz_status status = fnzi_weight_add(p, p->inputs[i].target, blob, v->geometry);
    fnzi_blob_release(blob);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

static fnz_status make(fnz_context *c, fnz_program **out) {
  fnz_buffer text = {0};
  fnz_status status = fnzi_put_text(c, &text, "fnz 1\nprogram(\n  %x: f32[4]");
  *out = NULL;
  for (int i = 0; i < WEIGHTS && status == FNZ_OK; i++)
    status = fnzi_printf(c, &text, ",\n  %%w%d: u8[%d] parameter \"w%d\"", i,
                         i % 5 == 0 ? i : i * 37, i);
  if (status == FNZ_OK)
    status = fnzi_put_text(c, &text, ")\n{\n  %y: f32[4] = relu(%x)\n  return %y\n}\n");
  if (status == FNZ_OK)
    status = fnz_program_read(c, text.data, text.size, FNZ_FORMAT_TEXT, out);
  fnz_buffer_free(c, &text);
  return status == FNZ_OK ? add_weights(*out) : status;
}

START_TEST(the_same_bytes) {
  static const fnz_format all[] = {FNZ_FORMAT_PT2, FNZ_FORMAT_CBOR, FNZ_FORMAT_TEXT,
                                   FNZ_FORMAT_JSON};
  begin();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    fnz_program *p;
    fnz_buffer one = {0}, other;
    OK(ctx, make(ctx, &p));
    OK(ctx, fnz_program_write(ctx, p, all[i], &one));
    OK(ctx, fnz_program_save(ctx, p, all[i], path));
    fnz_program_destroy(p);
    OK(ctx, fnz_file_read(ctx, path, &other));
    ck_assert_uint_eq(one.size, other.size);
    ck_assert_mem_eq(one.data, other.data, one.size);
    /* A saved program is saved again out of its own bytes. */
    OK(ctx, fnz_program_read_buffer(ctx, &other, all[i], &p));
    OK(ctx, fnz_program_save(ctx, p, all[i], path));
    fnz_program_destroy(p);
    OK(ctx, fnz_file_read(ctx, path, &other));
    ck_assert_uint_eq(one.size, other.size);
    if (all[i] != FNZ_FORMAT_PT2) /* which keeps fields of the file that was read */
      ck_assert_mem_eq(one.data, other.data, one.size);
    fnz_buffer_free(ctx, &one);
    fnz_buffer_free(ctx, &other);
  }
  end();
}
END_TEST

START_TEST(standard_output) {
  fnz_program *p;
  fnz_buffer one = {0}, other;
  begin();
  OK(ctx, make(ctx, &p));
  ck_assert_ptr_nonnull(freopen(path, "wb", stdout));
  OK(ctx, fnz_program_save(ctx, p, FNZ_FORMAT_CBOR, "-"));
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_CBOR, &one));
  OK(ctx, fnz_file_read(ctx, path, &other));
  ck_assert_uint_eq(one.size, other.size);
  ck_assert_mem_eq(one.data, other.data, one.size);
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &one);
  fnz_buffer_free(ctx, &other);
  end();
}
END_TEST

/* A disk that is full: the system takes a part of the bytes, then refuses the rest. */
START_TEST(a_file_that_may_not_grow) {
  struct rlimit limit;
  fnz_program *p;
  fnz_buffer before;
  begin();
  OK(ctx, fnz_file_write(ctx, path, "before", 6));
  OK(ctx, make(ctx, &p));
  ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
  for (limit.rlim_cur = 100; limit.rlim_cur < 200000; limit.rlim_cur += 7777) {
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    FAILS(ctx, "IO", fnz_program_save(ctx, p, FNZ_FORMAT_CBOR, path));
  }
  OK(ctx, fnz_file_read(ctx, path, &before));
  ck_assert_str_eq(before.data, "before");
  fnz_buffer_free(ctx, &before);
  fnz_program_destroy(p);
  end();
}
END_TEST

static fnz_status save_once(fnz_context *c, const void *user) {
  fnz_program *p;
  fnz_status status = make(c, &p);
  (void)user;
  if (status == FNZ_OK)
    status = fnz_program_save(c, p, FNZ_FORMAT_PT2, path);
  if (status == FNZ_OK)
    status = fnz_program_save(c, p, FNZ_FORMAT_CBOR, path);
  fnz_program_destroy(p);
  return status;
}

START_TEST(no_memory_anywhere) {
  begin();
  ck_assert_uint_gt(each_fault(save_once, NULL), 200);
  end();
}
END_TEST

RUN_SUITE("save", the_same_bytes, standard_output, a_file_that_may_not_grow, no_memory_anywhere)
