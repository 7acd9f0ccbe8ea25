/* checks: 9
 * page_test.c - the page of a program: the same bytes each time, safe for any name, linear in
 * nodes; the windows, writes and plan that its document has. */
#include "program/formats/json.h"
#include "program/program.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>

#include <stdio.h>

#define WINDOWS FNZ_SOURCE_DIR "/fixtures/page/windows.fnz"
#define HOSTILE FNZ_SOURCE_DIR "/fixtures/page/hostile.fnz"

static fnz_context *ctx;

static fnz_program *load(const char *path) {
  fnz_program *p;
  OK(ctx, fnz_context_create(NULL, &ctx));
  OK(ctx, fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &p));
  return p;
}

static fnz_buffer page_of(const fnz_program *p, const fnz_page_options *options) {
  fnz_buffer page = {.data = NULL};
  OK(ctx, fnz_page_write(ctx, p, options, &page));
  return page;
}

static void end(fnz_program *p, fnz_buffer *page) {
  fnz_buffer_free(ctx, page);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}

static size_t count_in(const fnz_buffer *page, const char *words) {
  size_t count = 0;
  for (const char *at = (const char *)page->data; (at = strstr(at, words)) != NULL; at++)
    count++;
  return count;
}

START_TEST(gives_the_same_bytes) {
  fnz_program *p = load(WINDOWS);
  fnz_buffer first = page_of(p, NULL), second = page_of(p, NULL);
  ck_assert_uint_eq(first.size, second.size);
  ck_assert_mem_eq(first.data, second.data, first.size);
  fnz_buffer_free(ctx, &second);
  end(p, &first);
}
END_TEST

/* A browser would take any of these as an address to load from. */
START_TEST(names_nothing_to_load) {
  static const char *const words[] = {"http:",          "https:",    "url(",  "@import", "fetch(",
                                      "XMLHttpRequest", "innerHTML", "<link", "<img",    " src="};
  fnz_program *p = load(WINDOWS);
  fnz_buffer page = page_of(p, NULL);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    for (const char *at = strstr((const char *)page.data, words[i]); at;
         at = strstr(at + 1, words[i]))
      ck_assert_msg(strncmp(at, "http://www.w3.org/2000/svg", 26) == 0, "the page has %s",
                    words[i]);
  ck_assert_uint_eq(count_in(&page, "default-src 'none'"), 1);
  end(p, &page);
}
END_TEST

/* Two scripts begin and two end, whatever names, sources, modules and the title are. */
START_TEST(takes_no_name_for_markup) {
  const fnz_page_options options = {.size = sizeof options, .title = "</title><script>&"};
  fnz_program *p = load(HOSTILE);
  fnz_buffer page = page_of(p, &options);
  ck_assert_uint_eq(count_in(&page, "<script"), 2);
  ck_assert_uint_eq(count_in(&page, "</script>"), 2);
  ck_assert_uint_eq(count_in(&page, "</title>"), 1);
  ck_assert_uint_eq(count_in(&page, "&lt;/title&gt;&lt;script&gt;&amp;"), 1);
  ck_assert_uint_eq(count_in(&page, "<!--"), 0);
  ck_assert_uint_eq(count_in(&page, "\\u003c!--"), 2 * count_in(&page, "buffer_mutation") + 1);
  end(p, &page);
}
END_TEST

/* `json` gives the document alone. */
START_TEST(has_a_document_that_parses) {
  const fnz_page_options options = {.size = sizeof options, .json = true};
  fnz_program *p = load(HOSTILE);
  fnz_buffer text = page_of(p, &options);
  fnzi_arena arena;
  fnzi_json_doc doc;
  fnzi_arena_init(&arena, ctx);
  OK(ctx, fnzi_json_parse(&arena, "document", (const char *)text.data, text.size, &doc));
  ck_assert_int_eq(fnzi_json_find(doc.root, "version")->u.i, 1);
  ck_assert_str_eq(fnzi_json_find(doc.root, "title")->u.s, "program");
  ck_assert_uint_eq(fnzi_json_find(doc.root, "traced")->count, 1);
  fnzi_arena_free(&arena);
  end(p, &text);
}
END_TEST

START_TEST(says_that_both_forms_are_equal) {
  const fnz_page_options options = {.size = sizeof options, .json = true, .verify = true};
  fnz_program *p = load(WINDOWS);
  fnz_buffer with = page_of(p, &options), without = page_of(p, NULL);
  ck_assert_uint_eq(count_in(&with, "\"equal\": 0"), 1);
  ck_assert_uint_eq(count_in(&without, "\"equal\": null"), 1);
  fnz_buffer_free(ctx, &without);
  end(p, &with);
}
END_TEST

START_TEST(has_the_reason_in_place_of_a_plan) {
  const fnz_page_options options = {.size = sizeof options, .json = true};
  fnz_program *p = load(FNZ_SOURCE_DIR "/fixtures/pt2_write/ranges.fnz");
  fnz_buffer text = page_of(p, &options);
  ck_assert_uint_eq(count_in(&text, "\"plan\": null"), 1);
  ck_assert_uint_eq(count_in(&text, "\"no_plan\": \"a size of this input is a symbol"), 1);
  end(p, &text);
}
END_TEST

/* The exporter lifts the buffers of a static cache as constants too, and writes those. */
START_TEST(names_a_memory_by_its_first_input) {
  fnz_program *p = load(FNZ_SOURCE_DIR "/fixtures/state/static_cache.pt2");
  fnz_buffer page = page_of(p, NULL);
  ck_assert_uint_eq(count_in(&page, "{\"name\": \"%b_key_cache_0\""), 1);
  ck_assert_uint_eq(count_in(&page, "{\"name\": \"%c_lifted_tensor"), 0);
  end(p, &page);
}
END_TEST

START_TEST(fails_as_functionalizing_does) {
  static const char text[] = "fnz 1\nprogram(%x: f32[2])\n{\n"
                             "  %e: f32[2,2] stride(0,1) = expand(%x, [2, 2])\n"
                             "  %w: f32[2,2] stride(0,1) = add_.Scalar(%e, 1)\n  return %w\n}\n";
  fnz_buffer page = {.data = NULL};
  fnz_program *p;
  OK(ctx, fnz_context_create(NULL, &ctx));
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  FAILS(ctx, "OVERLAP", fnz_page_write(ctx, p, NULL, &page));
  ck_assert_uint_eq(page.size, 0);
  end(p, &page);
}
END_TEST

/* Layers that write into a cache and read it. */
static fnz_program *many(size_t nodes) {
  fnz_buffer text = {.data = NULL};
  fnz_program *p;
  OK(ctx, fnz_context_create(NULL, &ctx));
  OK(ctx, fnzi_put_text(ctx, &text, "fnz 1\nprogram(%x0: f32[4], %c: f32[8,4] buffer \"c\")\n{\n"));
  for (size_t k = 0; k < nodes / 4; k++)
    OK(ctx, fnzi_printf(ctx, &text,
                        "  %%r%zu: f32[4] offset(%zu) = select.int(%%c, 0, %zu)\n"
                        "  %%w%zu: f32[4] offset(%zu) = copy_(%%r%zu, %%x%zu)\n"
                        "  %%s%zu: f32[4] = sum.dim_IntList(%%c, [0])\n"
                        "  %%x%zu: f32[4] = exp(%%s%zu)\n",
                        k, k % 8 * 4, k % 8, k, k % 8 * 4, k, k, k, k + 1, k));
  OK(ctx, fnzi_printf(ctx, &text, "  return %%x%zu\n}\n", nodes / 4));
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p));
  fnz_buffer_free(ctx, &text);
  return p;
}

START_TEST(grows_with_nodes) {
  enum { FEW = 10000, MANY = 100000, MOST_BYTES = 360, SHELL = 100000 };
  fnz_program *p = many(FEW);
  fnz_buffer few = page_of(p, NULL);
  ck_assert_uint_lt(few.size, SHELL + (size_t)FEW * MOST_BYTES);
  end(p, &few);
  p = many(MANY);
  fnz_buffer page = page_of(p, NULL);
  ck_assert_uint_lt(page.size, SHELL + (size_t)MANY * MOST_BYTES);
  end(p, &page);
}
END_TEST

RUN_SUITE("page", names_a_memory_by_its_first_input, gives_the_same_bytes, names_nothing_to_load,
          takes_no_name_for_markup, has_a_document_that_parses, says_that_both_forms_are_equal,
          has_the_reason_in_place_of_a_plan, fails_as_functionalizing_does, grows_with_nodes)
