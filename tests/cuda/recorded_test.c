/* checks: 2
 * recorded_test.c - programs on a GPU have the values that PyTorch recorded of them, by the engine
 * and operator by operator; what PyTorch refuses is refused.
 *
 * FNZ_CASES in the environment names further folders, with colons between: in each NAME/program.pt2
 * with inputs.safetensors and expected.safetensors (without it PyTorch refuses the program). */
#include "tests/cuda/help.h"
#include "tests/cuda/near.h"

#include <dirent.h>
#include <unistd.h>

typedef struct tally {
  fnz_context *ctx;
  fnz_backend *gpu; /* NULL: by the engine */
  size_t equal, refused, wrong;
} tally;

static bool is_there(const char *path) {
  return access(path, R_OK) == 0;
}

/* --- Comparing -------------------------------------------------------------------------------- */
/* The tolerance as a share of the greatest number, 1 at least: the tolerance of PyTorch's own
 * kernels on a GPU. */
static double share_of(fnz_dtype dtype) {
  double bound = bound_of(dtype);
  return bound == 0 ? 0 : dtype == FNZ_F16 || dtype == FNZ_BF16 ? 1e-2 : 1e-5;
}

static bool is_recorded(const fnz_array *got, const fnz_array *want, char *why, size_t capacity) {
  double greatest = 1;
  fnz_array pairs;
  if (got && got->dtype == FNZ_C64 && want->dtype == FNZ_F32) {
    pairs = *got; /* recorded for a reader that has complex numbers as pairs */
    pairs.dtype = FNZ_F32;
    got = &pairs;
  }
  if (!got || got->dtype != want->dtype || got->bytes != want->bytes) {
    snprintf(why, capacity, "%s is missing, or of another type or size", want->name);
    return false;
  }
  for (size_t i = 0; i < count_of(want); i++)
    if (isfinite(number_at(want, i)) && fabs(number_at(want, i)) > greatest)
      greatest = fabs(number_at(want, i));
  for (size_t i = 0; i < count_of(want); i++) {
    double x = number_at(got, i), y = number_at(want, i);
    if (x == y || fabs(x - y) <= share_of(want->dtype) * greatest || (isnan(x) && isnan(y)))
      continue;
    snprintf(why, capacity, "%s: element %zu is %.9g, not %.9g", want->name, i, x, y);
    return false;
  }
  return true;
}

/* Unwritten values are unchanged: inputs as given; for buffers the file has no other value. */
static bool are_recorded(const fnz_arrays *in, const fnz_arrays *got, const fnz_arrays *want,
                         char *why, size_t capacity) {
  for (size_t k = 0; k < fnz_arrays_count(want); k++) {
    const fnz_array *a = fnz_arrays_at(want, k), *b = fnz_arrays_find(got, a->name);
    if (!b && strncmp(a->name, "input.", 6) == 0)
      b = fnz_arrays_find(in, a->name + 6);
    if (!b && strncmp(a->name, "output.", 7) != 0)
      continue;
    if (!is_recorded(b, a, why, capacity))
      return false;
  }
  return true;
}

/* --- Running ---------------------------------------------------------------------------------- */
static fnz_status run_engine(fnz_context *ctx, const fnz_program *p, const fnz_arrays *in,
                             fnz_arrays *out) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.staging = true;
  options.device = "cuda";
  options.threads = 1;
  FNZ_TRY(fnz_compile(ctx, p, &options, &exe));
  fnz_status status = fnz_executable_run_arrays(ctx, exe, in, NULL, NULL, out);
  fnz_executable_destroy(exe);
  return status;
}

static fnz_status run_case(const tally *t, const char *path, const fnz_arrays *in,
                           fnz_arrays *out) {
  fnz_program *traced, *p = NULL;
  FNZ_TRY(fnz_program_load(t->ctx, path, FNZ_FORMAT_AUTO, &traced));
  fnz_status status = fnz_functionalize(t->ctx, traced, NULL, &p);
  if (status == FNZ_OK)
    status = t->gpu ? fnz_run(t->ctx, p, t->gpu, in, NULL, out) : run_engine(t->ctx, p, in, out);
  fnz_program_destroy(traced);
  fnz_program_destroy(p);
  return status;
}

static void try_case(tally *t, const char *program, const char *inputs, const char *expected) {
  fnz_arrays *in, *got, *want = NULL;
  char why[300] = "it is not refused";
  OK(t->ctx, fnz_arrays_load(t->ctx, inputs, &in));
  OK(t->ctx, fnz_arrays_create(t->ctx, &got));
  if (is_there(expected))
    OK(t->ctx, fnz_arrays_load(t->ctx, expected, &want));
  fnz_status status = run_case(t, program, in, got);
  if (status != FNZ_OK)
    snprintf(why, sizeof why, "%s: %s", fnz_last_error(t->ctx)->where,
             fnz_last_error(t->ctx)->message);
  if (status == FNZ_OK && want && are_recorded(in, got, want, why, sizeof why)) {
    t->equal++;
  } else if (status != FNZ_OK && !want && fnz_last_error(t->ctx)->kind != FNZ_CLASS_INTERNAL) {
    t->refused++;
  } else {
    t->wrong++;
    printf("%s: %s\n", program, why);
  }
  fnz_arrays_destroy(in);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
}

/* --- Folders ---------------------------------------------------------------------------------- */
/* NAME/program.pt2, or NAME.pt2 with NAME.inputs.safetensors; programs of custom operators are left
 * out. */
static void try_entry(tally *t, const char *folder, const char *name) {
  char paths[4][1200];
  const char *end = strrchr(name, '.');
  if (name[0] == '.')
    return;
  bool is_file = end && strcmp(end, ".pt2") == 0;
  int length = is_file ? (int)(end - name) : (int)strlen(name);
  const char *between = is_file ? "." : "/";
  snprintf(paths[0], sizeof *paths, "%s/%.*s%s", folder, length, name,
           is_file ? ".pt2" : "/program.pt2");
  snprintf(paths[1], sizeof *paths, "%s/%.*s%sinputs.safetensors", folder, length, name, between);
  snprintf(paths[2], sizeof *paths, "%s/%.*s%sexpected.safetensors", folder, length, name, between);
  snprintf(paths[3], sizeof *paths, "%s/%.*s%sops.txt", folder, length, name, between);
  if (is_there(paths[3]))
    printf("left out, for it has operators of its own: %s\n", paths[0]);
  else if (is_there(paths[0]) && is_there(paths[1]))
    try_case(t, paths[0], paths[1], paths[2]);
}

static void try_folder(tally *t, const char *folder) {
  DIR *dir = opendir(folder);
  ck_assert_msg(dir != NULL, "%s cannot be opened", folder);
  for (struct dirent *e; (e = readdir(dir)) != NULL;)
    try_entry(t, folder, e->d_name);
  closedir(dir);
}

static void try_all(tally *t, const char *how) {
  char more[4000], *rest = more;
  try_folder(t, FNZ_SOURCE_DIR "/fixtures/torch");
  try_folder(t, FNZ_SOURCE_DIR "/fixtures/vmap");
  try_folder(t, FNZ_SOURCE_DIR "/fixtures/mlir/cases");
  snprintf(more, sizeof more, "%s", getenv("FNZ_CASES") ? getenv("FNZ_CASES") : "");
  for (char *folder; (folder = strtok_r(rest, ":", &rest)) != NULL;)
    try_folder(t, folder);
  printf("%s: %zu with PyTorch's values, %zu refused as there, %zu wrong\n", how, t->equal,
         t->refused, t->wrong);
  ck_assert_uint_eq(t->wrong, 0);
  ck_assert_uint_ge(t->equal, 19);
}

START_TEST(the_engine_has_recorded_values) {
  tally t = {.ctx = open_context()};
  uint64_t before = counts_now().launches;
  try_all(&t, "engine");
  ck_assert_uint_gt(counts_now().launches, before);
  fnz_context_destroy(t.ctx);
  nothing_is_left();
}
END_TEST

START_TEST(operator_by_operator_they_are_the_same) {
  tally t = {.ctx = open_context()};
  uint64_t before = counts_now().launches;
  OK(t.ctx, fnz_cuda_backend_create(t.ctx, NULL, 1, NULL, &t.gpu));
  try_all(&t, "interpreter");
  ck_assert_uint_gt(counts_now().launches, before);
  fnz_backend_destroy(t.gpu);
  fnz_context_destroy(t.ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("recorded");
  tcase_set_timeout(c, 1200);
  tcase_add_test(c, the_engine_has_recorded_values);
  tcase_add_test(c, operator_by_operator_they_are_the_same);
  return run_one_case("recorded", c);
}
