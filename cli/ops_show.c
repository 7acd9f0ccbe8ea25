/* ops_show.c - one operator for a person: labelled lines of at most 80 columns. */
#include "cli/ops.h"

#include <stdarg.h>
#include <string.h>

enum { LABEL = 12, WIDTH = 80 };

const char *cli_ops_name(const fnz_op *op) {
  return op ? fnz_op_name(op) : NULL;
}

static const cli_option filters[] = {CLI_KIND,    CLI_TAG,     CLI_COMPOSITE, CLI_VIEW,
                                     CLI_NO_VIEW, CLI_NO_RULE, CLI_KERNEL,    CLI_NO_KERNEL};

bool cli_ops_filtered(const cli_call *call) {
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
    if (cli_has(call, filters[i]))
      return true;
  return false;
}

/* --- Lines ------------------------------------------------------------------------------------ */
/* The current position in a line. */
typedef struct layout {
  int indent, at;
} layout;

/* A word goes to the next line when it does not fit; one that never fits sticks out. */
static void put_word(layout *l, const char *word, size_t size) {
  if (l->at > l->indent && l->at + 1 + (int)size > WIDTH) {
    printf("\n%*s", l->indent, "");
    l->at = l->indent;
  } else if (l->at > l->indent)
    l->at += printf(" ");
  l->at += printf("%.*s", (int)size, word);
}

static layout put_label(const char *label) {
  layout l = {.indent = 2 + LABEL};
  l.at = printf("  %-*s", LABEL, label);
  return l;
}

/* "a,b" as "a, b". */
static void put_list(const char *label, const char *text) {
  if (!*text)
    return;
  layout l = put_label(label);
  while (*text) {
    size_t size = strcspn(text, ",");
    put_word(&l, text, size + (text[size] == ','));
    text += size + (text[size] == ',');
  }
  putchar('\n');
}

/* Nothing when the text is NULL or empty. */
static void put_field(const char *label, const char *text) {
  if (!text || !*text)
    return;
  layout l = put_label(label);
  while (*text) {
    size_t size = strcspn(text, " ");
    put_word(&l, text, size);
    text += size + (text[size] == ' ');
  }
  putchar('\n');
}

static void put_line(const char *label, const char *format, ...) CLI_PRINTF(2, 3);
static void put_line(const char *label, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  put_field(label, text);
}

/* --- Sections --------------------------------------------------------------------------------- */
typedef struct wording {
  const char *name, *words;
} wording;

static const char *show_words_of(const wording *rows, const char *name, const char *otherwise) {
  for (; rows->name; rows++)
    if (strcmp(name, rows->name) == 0)
      return rows->words;
  return otherwise;
}

/* The members of the group but the operator itself. */
static void show_group(const fnz_op *op) {
  const char *label = "group";
  const fnz_op *copy = fnz_op_member(op, FNZ_MEMBER_VIEW_COPY);
  for (int i = 0; i < FNZ_MEMBER_COUNT; i++) {
    const fnz_op *member = fnz_op_member(op, (fnz_member)i);
    if (!member || member == op || (i == FNZ_MEMBER_FUNCTIONAL && member == copy))
      continue;
    put_line(label, "%-12s %s", fnz_member_name((fnz_member)i), fnz_op_name(member));
    label = "";
  }
  if (fnz_op_element(op))
    put_line(label, "%-12s %s", "element", fnz_op_name(fnz_op_element(op)));
}

/* "by `reshape`: view, view_copy" */
static void show_steps(const fnz_rule *rule) {
  char text[256];
  int used = snprintf(text, sizeof text, "by `%s`:", rule->view);
  const char *gap = " ";
  if (rule->may_be_itself) {
    used += snprintf(text + used, sizeof text - (size_t)used, " its argument");
    gap = ", ";
  }
  for (size_t i = 0; i < rule->nsteps; i++) {
    used +=
        snprintf(text + used, sizeof text - (size_t)used, "%s%s", gap, fnz_op_name(rule->steps[i]));
    gap = ", ";
  }
  snprintf(text + used, sizeof text - (size_t)used, "%s",
           rule->may_compute ? " or a new value" : "");
  put_field("", text);
}

static void show_rule(const fnz_rule *rule, const fnz_op *op) {
  bool writes = rule->action == FNZ_ACTION_WRITE;
  put_line("rule", "%s: %s", writes ? rule->write : rule->name,
           writes ? rule->write_words : rule->words);
  if (rule->remedy)
    put_line("", "instead: %s", rule->remedy);
  if (rule->reverse)
    put_line("", "window by `%s`", rule->view);
  else if (rule->view)
    show_steps(rule);
  if (rule->becomes && rule->becomes != op)
    put_line("", "becomes %s", fnz_op_name(rule->becomes));
  if (rule->reverse)
    put_line("", "written through by `%s`: %s%s", rule->reverse,
             rule->through ? fnz_op_name(rule->through) : "the value itself",
             rule->needs_base ? " into the old base" : "");
}

static bool same_text(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_kernel(const fnz_kernel_facts *a, const fnz_kernel_facts *b) {
  return same_text(a->way, b->way) && a->via == b->via && same_text(a->accepts, b->accepts) &&
         same_text(a->memory, b->memory);
}

/* Backends that serve it alike share a line. */
static void show_kernels(const cli_ops_call *ops, const cli_facts *f) {
  char names[64] = "";
  const char *label = "kernel";
  for (int i = 0; i < CLI_BACKENDS; i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", ops->names[i]);
    if (i + 1 < CLI_BACKENDS && same_kernel(&f->kernels[i], &f->kernels[i + 1]))
      continue;
    const fnz_kernel_facts *k = &f->kernels[i];
    if (!k->way) {
      put_line(label, "%s: none", names);
    } else {
      put_line(label, "%s: %s%s%s%s", names, k->way, k->via == f->op ? "" : ", by ",
               k->via == f->op ? "" : fnz_op_name(k->via), k->registered ? " (registered)" : "");
      if (k->accepts) {
        static const wording rows[] = {
            {"new", "new memory"},
            {"point", "new memory, or that of an argument at its last use"},
            {"base", "the first argument's memory at its last use"},
            {"view", "its argument's memory"},
            {NULL, NULL},
        };
        put_line("", "element types: %s; results: %s", k->accepts,
                 show_words_of(rows, k->memory, k->memory));
      }
    }
    label = "";
    *names = 0;
  }
}

void cli_ops_show(const cli_ops_call *ops, const cli_facts *f) {
  puts(fnz_op_name(f->op));
  put_field("schema", fnz_op_schema(f->op));
  put_line("kind", "%s%s%s", fnz_op_kind(f->op), fnz_op_is_view(f->op) ? ", view" : "",
           fnz_op_is_mutating(f->op) ? ", writes" : "");
  static const wording rows[] = {
      {"implicit", "composed of other operators, which a trace has in its place"},
      {"explicit", "composed of other operators, but kept in a trace"},
      {"explicit_non_functional", "composed of operators that write, but kept in a trace"},
      {NULL, NULL},
  };
  put_line("class", "%s: %s", fnz_op_composite(f->op),
           show_words_of(rows, fnz_op_composite(f->op), "dispatched to a kernel of the device"));
  if (fnz_op_canonical(f->op) != f->op)
    put_line("alias", "another name of %s", fnz_op_name(fnz_op_canonical(f->op)));
  put_list("tags", fnz_op_tags(f->op));
  put_field("promotion", fnz_op_promotion(f->op));
  show_group(f->op);
  show_rule(&f->rule, f->op);
  show_kernels(ops, f);
  put_list("PyTorch", fnz_op_model(f->op));
  const char *text = fnz_op_dispatch(f->op);
  /* "CPU: a; CUDA: b" one under the other. */
  const char *label = "dispatch";
  while (*text) {
    size_t size = strcspn(text, ";");
    put_line(label, "%.*s", (int)size, text);
    text += size + strspn(text + size, "; ");
    label = "";
  }
  put_field("example", f->example);
}
