/* complete.c - a completion of bash, made from the rows of verbs and options: `fnz --completion`.
 */
#include "cli/cli.h"

/* The shell asks for the word under the cursor. A value is completed where an option takes one of a
 * few words; everywhere else files are. */
int cli_print_completion(void) {
  printf(
      "# Completion of fnz %s for bash.\n"
      "_fnz() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb= i words=\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n    ",
      fnz_version());
  cli_print_verbs("|");
  printf(") verb=${COMP_WORDS[i]} && break ;;\n    esac\n  done\n"
         "  case $verb:$before in\n");
  cli_print_choices();
  printf("  esac\n"
         "  if [ -z \"$words\" ] && [[ -z $verb || $word == -* ]]; then\n"
         "    case $verb in\n    '') words='");
  cli_print_verbs(" ");
  printf(" --help --version' ;;\n");
  cli_print_options_of_verbs();
  printf("    esac\n  fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}\n"
         "complete -o default -F _fnz fnz\n");
  return cli_flush();
}
