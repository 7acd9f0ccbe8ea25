/* checks: 9
 * explain_test.c - every node of a functional program comes from somewhere, with its line; and lint
 * finds exactly the refusals of the pass. Over all fixtures, and over random programs
 * (FNZ_PROGRAMS, FNZ_SEED). */
#include "base/watched.h"
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"
#include "soak/programs.h"

#include <dirent.h>
#include <stdio.h>

/* --- every node ------------------------------------------------------------------------------- */
static size_t number_of(const char *name, size_t fallback) {
  const char *text = getenv(name);
  return text ? strtoul(text, NULL, 10) : fallback;
}

static const char *source_of(const fnz_program *p, size_t graph, size_t node) {
  const fnz_node_info info = fnz_program_node(p, graph, node);
  return info.source;
}

/* It has an origin; and its line, unless its origin has none. Nodes that compute sizes for another
 * node have its origin, and no line. */
static void check_node(const char *name, const fnz_program *from, const fnz_program *to,
                       const fnz_origins *origins, size_t g, size_t n) {
  const fnz_origin *o = fnz_origins_at(origins, g, n);
  const fnz_node_info info = fnz_program_node(to, g, n);
  ck_assert_msg(o && (unsigned)o->reason < FNZ_REASON_COUNT, "%s: node %zu has no origin", name, n);
  ck_assert_msg(o->node != SIZE_MAX || o->output != SIZE_MAX, "%s: node %zu.%zu, %s, has no origin",
                name, g, n, info.target);
  ck_assert(o->reader == SIZE_MAX || o->reader < fnz_node_count(from, o->reader_graph));
  ck_assert(o->view == SIZE_MAX || o->view < fnz_node_count(from, o->view_graph));
  if (o->node == SIZE_MAX)
    return;
  ck_assert_uint_lt(o->node, fnz_node_count(from, o->graph));
  ck_assert_msg(*info.source || o->reason == FNZ_REASON_PART ||
                    !*source_of(from, o->graph, o->node),
                "%s: node %zu.%zu, %s, has no line, but its origin is at %s", name, g, n,
                info.target, source_of(from, o->graph, o->node));
}

static size_t check_nodes(const char *name, const fnz_program *from, const fnz_program *to,
                          const fnz_origins *origins) {
  size_t count = 0;
  for (size_t g = 0; g < fnz_graph_count(to); g++)
    for (size_t n = 0; n < fnz_node_count(to, g); n++, count++)
      check_node(name, from, to, origins, g, n);
  ck_assert_ptr_null(fnz_origins_at(origins, 0, fnz_node_count(to, 0)));
  ck_assert_ptr_null(fnz_origins_at(origins, fnz_graph_count(to), 0));
  return count;
}

static fnz_status explained(fnz_context *c, const fnz_program *p, fnz_program **out,
                            fnz_origins **origins) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  options.origins = origins;
  return fnz_functionalize(c, p, &options, out);
}

/* Lint's findings on a program agree with the pass. */
static void check_lint(const char *name, const fnz_program *p,
                       const fnz_functionalize_options *options, fnz_status status,
                       const fnz_error *error) {
  fnz_findings *findings;
  OK(ctx, fnz_lint(ctx, p, options, &findings));
  const fnz_finding *first = fnz_findings_at(findings, 0);
  bool refused = first && first->kind == FNZ_FINDING_REFUSED;
  ck_assert_msg(refused == (status != FNZ_OK), "%s: lint %s, but functionalize says `%s`", name,
                refused ? first->what : "accepts it", error->message);
  if (refused) {
    ck_assert_str_eq(first->what, error->message);
    ck_assert_str_eq(first->where, error->where);
    ck_assert_int_eq(first->error, error->kind);
  }
  fnz_findings_destroy(findings);
}

/* Returns the number of nodes; 0 when it is refused. */
static size_t check_program(const char *name, const fnz_program *p, fnz_views views,
                            fnz_state state) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *to;
  fnz_origins *origins;
  size_t count = 0;
  options.views = views;
  options.state = state;
  options.origins = &origins;
  fnz_status status = fnz_functionalize(ctx, p, &options, &to);
  const fnz_error error = *fnz_last_error(ctx);
  ck_assert_msg(status == FNZ_OK || status == FNZ_UNSUPPORTED || status == FNZ_BAD_INPUT,
                "%s: %s: %s", name, error.where, error.message);
  if (status == FNZ_OK)
    count = check_nodes(name, p, to, origins);
  fnz_origins_destroy(origins);
  fnz_program_destroy(to);
  check_lint(name, p, &options, status, &error);
  return count;
}

/* --- over all fixtures ------------------------------------------------------------------------ */
static bool is_program(const char *name) {
  size_t size = strlen(name);
  return size > 4 && (strcmp(name + size - 4, ".fnz") == 0 || strcmp(name + size - 4, ".pt2") == 0);
}

/* Programs of unknown sizes are functionalized at many: a third of them, where it takes long. */
static bool is_left_out(const char *path) {
  return FNZI_WATCHED && strstr(path, "/symbolic/") && strlen(path) % 3;
}

static size_t check_file(const char *path) {
  fnz_buffer bytes = {0};
  fnz_program *p = NULL;
  size_t count = 0;
  if (is_left_out(path))
    return 0;
  OK(ctx, fnz_file_read(ctx, path, &bytes));
  /* Programs that need declared operators cannot be read here. */
  if (fnz_program_read(ctx, bytes.data, bytes.size, FNZ_FORMAT_AUTO, &p) == FNZ_OK)
    for (int views = FNZ_VIEWS_COPY; views <= FNZ_VIEWS_STRIDED; views++)
      if (!FNZI_WATCHED || (size_t)views == strlen(path) % 3) /* one of them, where it takes long */
        count += check_program(path, p, (fnz_views)views, FNZ_STATE_OUTPUTS);
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &bytes);
  return count;
}

static size_t check_folder(const char *folder) {
  size_t count = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *e = entries ? readdir(entries) : NULL; e; e = readdir(entries)) {
    char path[512];
    snprintf(path, sizeof path, "%.200s/%.200s", folder, e->d_name);
    if (is_program(e->d_name))
      count += check_file(path);
  }
  if (entries)
    closedir(entries);
  return count;
}

START_TEST(every_node_of_the_fixtures_has_an_origin) {
  static const char root[] = FNZ_SOURCE_DIR "/fixtures";
  size_t count = 0;
  begin();
  DIR *folders = opendir(root);
  ck_assert_ptr_nonnull(folders);
  for (struct dirent *e = readdir(folders); e; e = readdir(folders)) {
    char path[512];
    snprintf(path, sizeof path, "%s/%.200s", root, e->d_name);
    if (e->d_name[0] != '.')
      count += check_folder(path);
  }
  closedir(folders);
  ck_assert_uint_gt(count, 300);
  end();
}
END_TEST

START_TEST(every_node_of_random_programs_has_an_origin) {
  static choices c;
  static fnzi_random_counts counts;
  size_t most = number_of("FNZ_PROGRAMS", 600), nodes = 0;
  begin();
  for (size_t i = 0; i < most; i++) {
    char name[32];
    fnz_program *p;
    choices_start(&c, number_of("FNZ_SEED", 77), i);
    OK(ctx, fnzi_random_program(ctx, NULL, &c, &counts, &p));
    snprintf(name, sizeof name, "program %zu", i);
    nodes +=
        check_program(name, p, (fnz_views)(i % 3), i % 5 ? FNZ_STATE_OUTPUTS : FNZ_STATE_EPILOGUE);
    fnz_program_destroy(p);
  }
  ck_assert_uint_gt(nodes, most);
  end();
}
END_TEST

/* --- what is said ----------------------------------------------------------------------------- */
static const char two_writes[] = "fnz 1 program(%x: f32[4], %y: f32[2]) {"
                                 " %s: f32[2] offset(1) = slice.Tensor(%x, 0, 1, 3) at \"m.py:1\""
                                 " %a: f32[2] offset(1) = add_.Tensor(%s, %y) at \"m.py:2\""
                                 " %n: f32[4] = neg(%x) at \"m.py:3\" return %n }";

START_TEST(origins_name_the_write_the_view_and_the_reader) {
  fnz_program *to, *p;
  fnz_origins *origins;
  begin();
  p = read_text(two_writes);
  OK(ctx, explained(ctx, p, &to, &origins));
  ck_assert_uint_eq(fnz_node_count(to, 0), 4); /* slice_copy, add, slice_scatter, neg */
  const fnz_origin *read = fnz_origins_at(origins, 0, 0), *add = fnz_origins_at(origins, 0, 1);
  const fnz_origin *back = fnz_origins_at(origins, 0, 2), *neg = fnz_origins_at(origins, 0, 3);
  ck_assert_int_eq(read->reason, FNZ_REASON_VIEW_READ);
  ck_assert_uint_eq(read->view, 0);
  ck_assert_uint_eq(read->reader, 1);
  ck_assert_int_eq(add->reason, FNZ_REASON_COMPUTED);
  ck_assert_uint_eq(add->node, 1);
  ck_assert_int_eq(back->reason, FNZ_REASON_WRITE_BACK);
  ck_assert_uint_eq(back->node, 1);
  ck_assert_uint_eq(back->view, 0);
  ck_assert_uint_eq(back->reader, 2);
  ck_assert_uint_eq(back->output, SIZE_MAX);
  ck_assert_int_eq(neg->reason, FNZ_REASON_COMPUTED);
  ck_assert_uint_eq(neg->node, 2);
  ck_assert_str_eq(fnz_reason_name(back->reason), "write_back");
  fnz_origins_destroy(origins);
  fnz_program_destroy(to);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* One program with all that may be found. */
static const char many[] = "fnz 1 program(%x: f32[4], %m: f32[2,3]) {"
                           " %e: f32[4,4] stride(0,1) = expand(%x, [4, 4]) at \"m.py:1\""
                           " %r: f32[4,4] stride(0,1) = mul_.Scalar(%e, 2) at \"m.py:2\""
                           " %z: f32[4] = zeros([4]) at \"m.py:3\""
                           " %p: f32[2] = slice.Tensor(%z, 0, 0, 2) at \"m.py:4\""
                           " %w: f32[2] = add_.Scalar(%p, 1) at \"m.py:5\""
                           " %n: f32[4] = neg(%z) at \"m.py:6\""
                           " %q: f32[4,4] stride(0,1) = mul_.Scalar(%r, 2) at \"m.py:7\""
                           " return %n }";

/* So many nodes that the tape is cut into pieces. */
START_TEST(origins_of_long_programs_are_nodes_of_their_own) {
  enum { NODES = 10000 };
  fnz_buffer text = {0};
  fnz_origins *origins;
  fnz_program *to;
  begin();
  OK(ctx, fnzi_printf(ctx, &text, "fnz 1 program(%%v0: f32[4]) {\n"));
  for (int i = 0; i < NODES; i++)
    OK(ctx, fnzi_printf(ctx, &text, "%%v%d: f32[4] = neg(%%v%d)\n", i + 1, i));
  OK(ctx, fnzi_printf(ctx, &text, "return %%v%d }", NODES));
  fnz_program *p = read_text(text.data);
  OK(ctx, explained(ctx, p, &to, &origins));
  ck_assert_uint_eq(fnz_node_count(to, 0), NODES);
  for (size_t i = 0; i < NODES; i++)
    ck_assert_uint_eq(fnz_origins_at(origins, 0, i)->node, i);
  fnz_origins_destroy(origins);
  fnz_program_destroy(to);
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &text);
  end();
}
END_TEST

/* The origin of a node that computes a size is the source's node of that name, not a part of its
 * user. */
START_TEST(origins_of_sizes_are_their_nodes) {
  fnz_program *to;
  fnz_origins *origins;
  begin();
  fnz_program *p = read_text("fnz 1 symbol s0 = 4 program(%x: f32[{s0}]) {\n"
                             "%n: f32[{s0}] = neg(%x)\n"
                             "%d: sym{s0} = sym_size.int(%x, 0)\n"
                             "%t: sym{2*s0} = _operator.mul(%d, 2)\n"
                             "%f: f32[{2*s0}] = full([%t], 1.0)\n"
                             "return %f, %n }");
  OK(ctx, explained(ctx, p, &to, &origins));
  for (size_t i = 0; i < fnz_node_count(to, 0); i++) {
    const fnz_origin *o = fnz_origins_at(origins, 0, i);
    ck_assert_str_eq(fnzi_node_target(fnzi_node_at(to, 0, (uint32_t)i)),
                     fnzi_node_target(fnzi_node_at(p, 0, (uint32_t)o->node)));
    ck_assert_int_eq(o->reason, FNZ_REASON_COMPUTED);
  }
  ck_assert_uint_ge(fnz_node_count(to, 0), 3);
  fnz_origins_destroy(origins);
  fnz_program_destroy(to);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(lint_goes_on_behind_failures) {
  fnz_findings *f;
  begin();
  fnz_program *p = read_text(many);
  OK(ctx, fnz_lint(ctx, p, NULL, &f));
  ck_assert_uint_eq(fnz_findings_count(f), 3);
  const fnz_finding *first = fnz_findings_at(f, 0), *second = fnz_findings_at(f, 1),
                    *third = fnz_findings_at(f, 2);
  ck_assert_int_eq(first->kind, FNZ_FINDING_REFUSED);
  ck_assert_int_eq(first->error, FNZ_CLASS_OVERLAP);
  ck_assert_uint_eq(first->node, 1);
  ck_assert_int_eq(second->kind, FNZ_FINDING_REFUSED);
  ck_assert_uint_eq(second->node, 6);
  ck_assert_int_eq(third->kind, FNZ_FINDING_SCATTER);
  ck_assert_uint_eq(third->node, 4);
  ck_assert_uint_eq(third->view, 3);
  ck_assert_uint_eq(third->reader, 5);
  fnz_findings_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* NULL: nothing is found. */
static void finds(const char *body, const char *kind, size_t node) {
  char text[1024];
  fnz_findings *f;
  snprintf(text, sizeof text, "fnz 1 program(%%x: f32[2,3], %%y: f32[2,3]) { %s }", body);
  fnz_program *p = read_text(text);
  OK(ctx, fnz_lint(ctx, p, NULL, &f));
  const fnz_finding *first = fnz_findings_at(f, 0);
  ck_assert_msg(fnz_findings_count(f) == (kind ? 1 : 0), "%s: %zu findings, %s", body,
                fnz_findings_count(f), first ? first->what : "");
  if (kind) {
    ck_assert_str_eq(fnz_finding_kind_name(first->kind), kind);
    ck_assert_uint_eq(first->node, node);
  }
  fnz_findings_destroy(f);
  fnz_program_destroy(p);
}

#define ZEROS "%z: f32[2,3] = zeros([2, 3]) "

START_TEST(lint_knows_what_costs) {
  begin();
  finds("%n: f32[2,3] = neg(%x) return %n", NULL, 0);
  /* Nothing reads it: it is overwritten, or its memory ends. */
  finds(ZEROS "%a: f32[2,3] = fill_.Scalar(%z, 1) %b: f32[2,3] = fill_.Scalar(%z, 2) "
              "%n: f32[2,3] = neg(%z) return %n",
        "dead-write", 1);
  finds(ZEROS "%a: f32[2,3] = add_.Scalar(%z, 1) %n: f32[2,3] = neg(%x) return %n", "dead-write",
        1);
  finds(ZEROS "%r: f32[3] = select.int(%z, 0, 0) %a: f32[3] = fill_.Scalar(%r, 1) "
              "%n: f32[2,3] = neg(%x) return %n",
        "dead-write", 2);
  finds(ZEROS "%a: f32[2,3] = add_.Scalar(%z, 1) %n: f32[2,3] = neg(%z) return %n", NULL, 0);
  /* Something else of it is needed: its result, the memory that an input came in with. */
  finds("%s: f32[3] = zeros([3]) %v: f32[3] = ones([3]) "
        "%n: f32[2,3] = batch_norm(%x, None, None, %s, %v, True, 0.1, 1e-05, False) return %n",
        NULL, 0);
  finds("%a: f32[2,3] = mul_.Scalar(%x, 2) %z: f32[2,3] = ones([2, 3]) "
        "%s: f32[2,3] = set_.source_Tensor(%x, %z) return",
        NULL, 0);
  /* A reshape that no view can do. */
  finds("%t: f32[3,2] stride(1,3) = t(%x) %r: f32[6] = reshape(%t, [6]) %n: f32[6] = neg(%r) "
        "return %n",
        "copy", 1);
  finds("%r: f32[6] = reshape(%x, [6]) %n: f32[6] = neg(%r) return %n", NULL, 0);
  finds("%r: f32[3] = select.int(%x, 0, 0) return %r", "alias", SIZE_MAX);
  /* Its value is the input's, its memory is not. */
  finds("%c: f32[2,3] = clone(%x) return %c", NULL, 0);
  finds("%n: f32[2,3] = neg(%x) None = _has_compatible_shallow_copy_type(%n, %y) return %n",
        "lost-assignment", 1);
  /* The final value of an input is no reader that could do without. */
  finds("%r: f32[3] = select.int(%x, 0, 0) %a: f32[3] = fill_.Scalar(%r, 1) return", NULL, 0);
  end();
}
END_TEST

START_TEST(source_lines_are_the_users) {
  static const struct {
    const char *source, *path, *code;
    long line;
  } rows[] = {
      {"model.py:7", "model.py", NULL, 7},
      {"model.py", "model.py", NULL, 0},
      {"a:b.py:12\nrest", "a:b.py", NULL, 12},
      {"File \"/home/me/net.py\", line 3, in forward\n    x.add_(1)", "/home/me/net.py",
       "x.add_(1)", 3},
      {"  File \"net.py\", line 3, in forward\n    y = f(x)\n  File \"torch/nn/functional.py\", "
       "line "
       "9, in f\n    return g(x)",
       "net.py", "y = f(x)", 3},
      {"File \"/v/lib/python3/site-packages/torch/nn/linear.py\", line 5, in f",
       "/v/lib/python3/site-packages/torch/nn/linear.py", NULL, 5},
      {"File \"/v/site-packages/torchvision/a.py\", line 5, in f",
       "/v/site-packages/torchvision/a.py", NULL, 5},
      {"File \"net.py\", line 3, in f\n  File \"<eval_with_key>.7\", line 9, in forward", "net.py",
       NULL, 3},
      {"File \"torch/a.py\", line 3, in f\n    x\n  File \"b.py\", line 9, in g", "b.py", NULL, 9},
      {"File \"a.py\", line 3, in f\n    x\n  File \"b.py\", line 9, in g", "b.py", NULL, 9},
      {"File \"a.py\nFile \"b.py\", line 9, in g", "b.py", NULL, 9},
      {"File \"a.py\", in f", "File \"a.py\", in f", NULL, 0},
      {":7", ":7", NULL, 0},
      {"77", "77", NULL, 0},
      {"a7", "a7", NULL, 0},
      {"a:", "a:", NULL, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_place place = fnz_source_place(rows[i].source);
    ck_assert_uint_eq(place.path_size, strlen(rows[i].path));
    ck_assert_int_eq(strncmp(place.path, rows[i].path, place.path_size), 0);
    ck_assert_int_eq(place.line, rows[i].line);
    ck_assert_int_eq(place.code != NULL, rows[i].code != NULL);
    if (rows[i].code)
      ck_assert_int_eq(strncmp(place.code, rows[i].code, place.code_size), 0);
  }
  ck_assert_uint_eq(fnz_source_place(NULL).path_size, 0);
  ck_assert_uint_eq(fnz_source_place("").path_size, 0);
}
END_TEST

static fnz_status explain_and_lint(fnz_context *c, const void *text) {
  fnz_program *p = NULL, *to = NULL;
  fnz_origins *origins = NULL;
  fnz_findings *findings = NULL;
  fnz_status status = fnz_program_read(c, text, strlen(text), FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK && text == two_writes)
    status = explained(c, p, &to, &origins);
  if (status == FNZ_OK)
    status = fnz_lint(c, p, NULL, &findings);
  fnz_findings_destroy(findings);
  fnz_origins_destroy(origins);
  fnz_program_destroy(to);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory_is_an_error) {
  ck_assert_uint_gt(each_fault(explain_and_lint, two_writes), 40);
  ck_assert_uint_gt(each_fault(explain_and_lint, many), 40);
}
END_TEST

RUN_SUITE("explain", every_node_of_the_fixtures_has_an_origin,
          every_node_of_random_programs_has_an_origin,
          origins_name_the_write_the_view_and_the_reader,
          origins_of_long_programs_are_nodes_of_their_own, origins_of_sizes_are_their_nodes,
          lint_goes_on_behind_failures, lint_knows_what_costs, source_lines_are_the_users,
          out_of_memory_is_an_error)
