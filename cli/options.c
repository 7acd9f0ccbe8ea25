/* options.c - reading the command line by the rows of cli.h: options in any place, `--name value`
 * or `--name=value`, `--` before operands that begin with a dash. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct option_row {
  const char *name, *value, *help;
} option_row;

static const option_row rows[] = {
#define OPTION_ROW(id, name, value, help) {name, value, help},
    CLI_OPTION_ROWS(OPTION_ROW)
#undef OPTION_ROW
};

/* Options that take one of a few words. */
typedef struct choice_row {
  const char *word;
  cli_option option;
} choice_row;

static const choice_row choices[] = {
#define FORMAT_CHOICE(id, name, extension, reads, writes)                                          \
  {name, writes ? CLI_TO : CLI_OPTION_COUNT},
    FNZ_FORMAT_ROWS(FORMAT_CHOICE)
#undef FORMAT_CHOICE
        {"tsv", CLI_TABLE},
    {"copy", CLI_VIEWS},
    {"keep", CLI_VIEWS},
    {"strided", CLI_VIEWS},
    {"outputs", CLI_STATE},
    {"epilogue", CLI_STATE},
    {"globals", CLI_STATE},
    {"io", CLI_STATE},
    {"buffers", CLI_STATE},
    {"refused", CLI_FAIL_ON},
    {"copy", CLI_FAIL_ON},
    {"never", CLI_FAIL_ON},
    {"auto", CLI_COLOR},
    {"always", CLI_COLOR},
    {"never", CLI_COLOR},
    {"interpreter", CLI_ENGINE},
    {"interpreter", CLI_AGAINST_RUN},
#define WEIGHTS_CHOICE(id, name) {name, CLI_WEIGHTS},
    FNZ_MLIR_WEIGHTS_ROWS(WEIGHTS_CHOICE)
#undef WEIGHTS_CHOICE
#define TARGET_CHOICE(name, check, set) {name, CLI_FOR},
        CLI_TARGET_ROWS(TARGET_CHOICE)
#undef TARGET_CHOICE
#define TARGET_CHOICE(id, name, set, format, views, state, words) {name, CLI_FOR},
            FNZ_TARGET_ROWS(TARGET_CHOICE)
#undef TARGET_CHOICE
                {"cpu", CLI_DEVICE},
    {"cuda", CLI_DEVICE},
    {"mpi", CLI_COLLECTIVES},
    {"one", CLI_COLLECTIVES},
    {"cpu", CLI_GENERATOR},
    {"cuda", CLI_GENERATOR},
    {"keep", CLI_AGAINST},
    {"strided", CLI_AGAINST},
    {"engine", CLI_AGAINST},
    {"cpu", CLI_AGAINST},
    {"functional", CLI_KIND},
    {"inplace", CLI_KIND},
    {"out", CLI_KIND},
    {"mutable", CLI_KIND},
    {"scratch", CLI_KIND},
    {"implicit", CLI_COMPOSITE},
    {"explicit", CLI_COMPOSITE},
    {"explicit_non_functional", CLI_COMPOSITE},
    {"kernel", CLI_COMPOSITE},
    {"cpu", CLI_KERNEL},
    {"meta", CLI_KERNEL},
    {"cuda", CLI_KERNEL},
    {"cpu", CLI_NO_KERNEL},
    {"meta", CLI_NO_KERNEL},
    {"cuda", CLI_NO_KERNEL},
};

enum { CHOICES = sizeof choices / sizeof *choices };

const char *cli_option_name(cli_option option) {
  return rows[option].name;
}

bool cli_has(const cli_call *call, cli_option option) {
  return call->options[option] != NULL;
}

bool cli_ends_with(const char *path, const char *end) {
  size_t length = strlen(path), tail = strlen(end);
  return length > tail && strcmp(path + length - tail, end) == 0;
}

enum { MOST_LEFT = 19 }; /* columns for a name; help of a longer one begins on the next line */

static bool is_among(const cli_option *options, int option) {
  while (*options != CLI_OPTION_COUNT && (int)*options != option)
    options++;
  return *options != CLI_OPTION_COUNT;
}

static bool takes(const cli_verb *verb, int option) {
  return is_among(CLI_TAKES(CLI_COLOR, CLI_QUIET, CLI_VERBOSE, CLI_HELP), option) ||
         is_among(verb->options, option);
}

void cli_print_options(const cli_verb *verb) {
  for (int i = 0; i < CLI_OPTION_COUNT; i++) {
    if (!takes(verb, i))
      continue;
    char left[32];
    int used =
        snprintf(left, sizeof left, "%s %s", rows[i].name, rows[i].value ? rows[i].value : "");
    bool fits = used <= MOST_LEFT;
    printf("  %-*s%s%*s%s\n", MOST_LEFT, left, fits ? " " : "\n", fits ? 0 : MOST_LEFT + 3, "",
           rows[i].help);
  }
}

/* A device of CUDA may have a number: "cuda:1" is the word cuda, and a generator's threads are one.
 * There is one CPU. */
static bool takes_number(cli_option option, const char *word) {
  return (option == CLI_DEVICE || option == CLI_GENERATOR) && strcmp(word, "cuda") == 0;
}

static bool is_word(cli_option option, const char *value, const char *word) {
  size_t length = takes_number(option, word) ? strcspn(value, ":") : strlen(value);
  const char *rest = value + length;
  if (*rest && (!rest[1] || strspn(rest + 1, "0123456789") != strlen(rest + 1)))
    return false;
  return strlen(word) == length && strncmp(value, word, length) == 0;
}

static int check_choice(const cli_call *call, cli_option option, const char *value) {
  char words[128] = "";
  for (int i = 0; i < CHOICES; i++) {
    if (choices[i].option != option)
      continue;
    if (is_word(option, value, choices[i].word))
      return CLI_DONE;
    /* Forms that --for of lint takes only are no targets. */
    if (option == CLI_FOR && !fnz_target_find(choices[i].word) && !takes(call->verb, CLI_FAIL_ON))
      continue;
    size_t used = strlen(words);
    snprintf(words + used, sizeof words - used, "%s%s%s", used ? ", " : "", choices[i].word,
             takes_number(option, choices[i].word) ? ", cuda:N" : "");
  }
  if (!*words)
    return CLI_DONE;
  char target[CLI_NEAR] = "";
  if (option == CLI_TO && fnz_target_find(value))
    snprintf(target, sizeof target, ", and --for %s prepares a program for that", value);
  return cli_usage(call, "%s takes %s%s, not %s%s", rows[option].name,
                   strchr(words, ',') ? "one of " : "", words, value, target);
}

static int find_option(const cli_call *call, const char *argument) {
  size_t length = strcspn(argument, "=");
  for (int i = 0; i < CLI_OPTION_COUNT; i++)
    if (takes(call->verb, i) && strlen(rows[i].name) == length &&
        strncmp(argument, rows[i].name, length) == 0)
      return i;
  return -1;
}

/* The list of values of an option that may be given again; NULL for others. */
static const char **options_words_of(cli_call *call, int option, int **count) {
  if (option == CLI_ALIAS)
    return *count = &call->naliases, call->aliases;
  if (option == CLI_SHARE)
    return *count = &call->nshares, call->shares;
  if (option == CLI_INPUTS)
    return *count = &call->ninput_files, call->input_files;
  if (option == CLI_GROUP)
    return *count = &call->ngroups, call->groups;
  return NULL;
}

static int set_value(cli_call *call, int option, const char *value) {
  int *count;
  const char **words = options_words_of(call, option, &count);
  if (!*value && strcmp(rows[option].value, "FILE") == 0)
    return cli_usage(call, "%s is given nothing; it takes FILE", rows[option].name);
  call->options[option] = value;
  if (option == CLI_COLOR)
    cli_color_choose(value);
  if (words && *count == CLI_MOST_WORDS)
    return cli_usage(call, "%s is given more than %d times", rows[option].name, CLI_MOST_WORDS);
  if (words)
    words[(*count)++] = value;
  return check_choice(call, (cli_option)option, value);
}

/* The names of verbs with their options. */
static const struct {
  const char *name;
  const cli_option *options;
} verbs[] = {
#define VERB_ROW(name, operands, least, most, compares, options, reading, summary, examples)       \
  {#name, options},
    CLI_VERB_ROWS(VERB_ROW)
#undef VERB_ROW
};

void cli_print_verbs(const char *gap) {
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    printf("%s%s", i ? gap : "", verbs[i].name);
}

void cli_print_options_of_verbs(void) {
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
    printf("    %s) words='--color --quiet --verbose --help", verbs[i].name);
    for (const cli_option *option = verbs[i].options; *option != CLI_OPTION_COUNT; option++)
      printf(" %s", rows[*option].name);
    printf("' ;;\n");
  }
}

static void print_choices_of(const char *verb, cli_option option) {
  const char *gap = "";
  for (int i = 0; i < CHOICES; i++)
    if (choices[i].option == option) {
      if (!*gap)
        printf("  %s:%s) words='", verb, rows[option].name);
      printf("%s%s", gap, choices[i].word);
      gap = " ";
    }
  if (*gap)
    printf("' ;;\n");
}

void cli_print_choices(void) {
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
    for (const cli_option *option = verbs[i].options; *option != CLI_OPTION_COUNT; option++)
      print_choices_of(verbs[i].name, *option);
  print_choices_of("*", CLI_COLOR);
}

static int refuse_option(const cli_call *call, const char *argument) {
  const char *names[CLI_OPTION_COUNT];
  char near[CLI_NEAR], word[64];
  size_t count = 0;
  snprintf(word, sizeof word, "%.*s", (int)strcspn(argument, "="), argument);
  for (int i = 0; i < CLI_OPTION_COUNT; i++)
    if (takes(call->verb, i))
      names[count++] = rows[i].name;
  /* The verbs that have an option of this name, with commas between them; false for none. */
  int option = 0;
  size_t used = 0;
  while (option < CLI_OPTION_COUNT && strcmp(rows[option].name, word) != 0)
    option++;
  for (size_t i = 0; option < CLI_OPTION_COUNT && i < sizeof verbs / sizeof *verbs; i++)
    if (is_among(verbs[i].options, option) && used < CLI_NEAR)
      used +=
          (size_t)snprintf(near + used, CLI_NEAR - used, "%s%s", used ? ", " : "", verbs[i].name);
  if (used > 0)
    return cli_usage(call, "there is no option %s, which is one of fnz %s", word, near);
  cli_near(word, names, count, near);
  if (takes(call->verb, CLI_OUTPUT) && strncmp(word, "--out", 5) == 0)
    snprintf(near, sizeof near, "; did you mean -o?");
  return cli_usage(call, "there is no option %s%s", argument, near);
}

static int set_option(cli_call *call, int argc, char **argv, int *at) {
  const char *argument = strcmp(argv[*at], "-h") == 0 ? "--help" : argv[*at];
  bool is_joined = strncmp(argument, "-o", 2) == 0 && argument[2] && argument[2] != '=';
  int option = is_joined ? find_option(call, "-o") : find_option(call, argument);
  if (option < 0)
    return refuse_option(call, argument);
  int *count;
  if (call->options[option] && !options_words_of(call, option, &count))
    return cli_usage(call, "%s is given twice", rows[option].name);
  const char *value = is_joined ? argument + 1 : strchr(argument, '=');
  if (!rows[option].value && value)
    return cli_usage(call, "%s takes no value", rows[option].name);
  if (!rows[option].value) {
    call->options[option] = "";
    return CLI_DONE;
  }
  if (!value && ++*at >= argc)
    return cli_usage(call, "%s needs a value: %s", rows[option].name, rows[option].value);
  return set_value(call, option, value ? value + 1 : argv[*at]);
}

static int split(const cli_call *call, cli_option option, cli_names *out) {
  const char *list = call->options[option];
  if (!list)
    return CLI_DONE;
  out->text = strdup(list);
  if (!out->text)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  for (char *name = out->text, *end; name; name = end) {
    name += strspn(name, " ");
    end = strchr(name, ',');
    if (end)
      *end++ = 0;
    name[strcspn(name, " ")] = 0;
    if (!*name)
      return cli_usage(call, "%s has an empty name among its operators", rows[option].name);
    if (out->count == CLI_MOST_WORDS)
      return cli_usage(call, "%s names more than %d operators", rows[option].name, CLI_MOST_WORDS);
    out->data[out->count++] = name;
  }
  return CLI_DONE;
}

int cli_split_names(cli_call *call) {
  CLI_TRY(split(call, CLI_DENY, &call->denied));
  CLI_TRY(split(call, CLI_DECOMPOSE, &call->apart));
  return split(call, CLI_KEEP, &call->kept);
}

int cli_parse(cli_call *call, int argc, char **argv) {
  bool options_over = false;
  for (int i = 0; i < argc; i++) {
    if (!options_over && strcmp(argv[i], "--") == 0)
      options_over = true;
    else if (options_over || argv[i][0] != '-' || argv[i][1] == 0) {
      const char *operand = argv[i];
      if (call->noperands == call->verb->most && cli_ends_with(operand, ".safetensors") &&
          takes(call->verb, CLI_INPUTS))
        return cli_usage(call, "%s is one operand too many; did you mean --inputs %s?", operand,
                         operand);
      if (call->noperands == call->verb->most)
        return cli_usage(call, "%s is one operand too many; it takes %s", operand,
                         *call->verb->operands ? call->verb->operands : "none");
      if (!*operand)
        return cli_usage(call, "an operand is empty; it takes %s", call->verb->operands);
      call->operands[call->noperands++] = operand;
    } else
      CLI_TRY(set_option(call, argc, argv, &i));
  }
  if (cli_has(call, CLI_HELP))
    return CLI_DONE;
  if (call->noperands < call->verb->least)
    return cli_usage(call, "it needs %s", call->verb->operands);
  return CLI_DONE;
}

int cli_seed(cli_call *call) {
  uint64_t seed = 0;
  /* All of 64 bits; strtoull() takes a sign, which a seed has not. */
  const char *text = call->options[CLI_DRAWS];
  char *end;
  if (text) {
    errno = 0;
    seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
      return cli_usage(call, "%s takes a number from 0 to 2^64 - 1, not %s", rows[CLI_DRAWS].name,
                       text);
  }
  const char *device = call->options[CLI_DEVICE], *kind = call->options[CLI_GENERATOR];
  const bool on_gpu = device && strcmp(device, "cpu") != 0;
  const char *threads = kind ? strchr(kind, ':') : NULL;
  CLI_TRY(cli_check(
      call,
      (kind ? strcmp(kind, "cpu") == 0 : !on_gpu)
          ? fnz_generator_create(call->ctx, seed, &call->generator)
      : threads
          ? fnz_philox_generator_create(call->ctx, seed, strtoll(threads + 1, NULL, 10),
                                        &call->generator)
          : fnz_cuda_generator_create(call->ctx, on_gpu ? device : NULL, seed, &call->generator),
      NULL));
  fnz_context_set_generator(call->ctx, call->generator);
  return CLI_DONE;
}

int cli_number(const cli_call *call, cli_option option, int fallback, int least, int most,
               int *out) {
  *out = fallback;
  const char *text = call->options[option];
  if (!text)
    return CLI_DONE;
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (end == text || *end || errno || value < least || value > most)
    return cli_usage(call, "%s takes a number from %d to %d, not %s", rows[option].name, least,
                     most, text);
  *out = (int)value;
  return CLI_DONE;
}
