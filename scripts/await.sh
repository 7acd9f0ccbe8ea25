# await.sh - sourced by scripts whose traps end their children.

# await PID: the status of a child. A signal ends the waiting, not the child.
await() {
  local status
  while :; do
    status=0
    wait "$1" || status=$?
    kill -0 "$1" 2> /dev/null || return "$status"
  done
}
