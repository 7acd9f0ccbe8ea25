#!/bin/sh
# bench/engine/device.py, told to end while a program is measured, tells of those before it, and has saved them.
# Without packages of Python: torch takes seconds to begin.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/bench" << 'END'
#!/bin/sh
printf '{"name": "chain_f32_64M", "bytes": 100, "flops": 0, "call_us": 3, "cpu_us": 2, "stream_us": 4, "issue_us": 1, "copy_us": 3}\n'
echo 'sum_f32_512M: no luck' >&2
exec sleep 60
END
chmod +x "$work/bench"
python3 -S bench/engine/device.py --bench "$work/bench" --save "$work/saved.json" > "$work/told.md" &
for _ in $(seq 600); do
  [ -e "$work/saved.json" ] && break
  sleep 0.1
done
kill -TERM $!
wait $!
cat "$work/told.md"
grep -q '"stream_us": 4' "$work/saved.json"
grep -q '^| chain_f32_64M | 0.0 | 4.0 | 0 | 0.75 | 1.0 | - | - |$' "$work/told.md"
grep -q '^sum_f32_512M: no luck$' "$work/told.md"
grep -q '^No time was left for the rest.$' "$work/told.md"
