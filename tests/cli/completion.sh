#!/usr/bin/env bash
# Asks the completion of fnz, in a shell, for words: completion.sh FNZ
set -euo pipefail
script=$("$1" --completion)
eval "$script"

# expect WANTED WORD...: the last word is under the cursor.
expect() {
  local wanted=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _fnz
  [ "${COMPREPLY[*]}" = "$wanted" ] || { echo "$*: ${COMPREPLY[*]}, wanted $wanted"; exit 1; }
}

expect "lint" fnz li
expect "show" fnz --quiet sh
expect "--views" fnz convert --vi
expect "keep" fnz convert model.pt2 --views k
expect "refused copy never" fnz lint --fail-on ""
expect "auto always never" fnz show model.pt2 --color ""
expect "" fnz run mod # a file: bash completes it
