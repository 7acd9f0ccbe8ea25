#!/usr/bin/env python3
"""How long programs take on a GPU: fnz beside copies, cuBLASLt's own calls, eager PyTorch and Inductor, as Markdown.

    bench/engine/device.py --bench build/bench/bench_device [--small] [--seconds S] [--torch-seconds S] [--save FILE]
                           [--programs NAME,...] [NAME ...]

bench_device (device.c explains its figures) measures the programs of device_programs.h, or the named ones. If
torch with a GPU is installed, the same programs run there, eager first, then by Inductor as far as the seconds go; and
programs of programs.py are exported, measured by both, and left out with a word where that fails. --save keeps all
figures as JSON, anew with each one. A caller that ends the script (SIGTERM, SIGINT) gets the figures so far. With
FNZ_STANDIN in the environment, times mean nothing, which the output says.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CALLS = 50  # at most, that follow each other without a wait
PROGRAMS = "llama_decode1,llama_prefill64,adam50_1e5,bert_small,resnet18_b4"

try:
    import torch
    from torch.nn import functional as F
    TORCH = torch.cuda.is_available()
    WHY = "" if TORCH else "torch finds no GPU"
except ImportError as e:
    TORCH, WHY = False, str(e)


# --- fnz ------------------------------------------------------------------------------------------

class Ended(BaseException):
    """The caller ends the script: this is no failure of a measured program."""


def end(number, frame):
    raise Ended


def save(args, rows):
    if not args.save:
        return
    kept = {name: {k: v for k, v in row.items() if k != "made"} for name, row in rows.items()}
    new = args.save + ".new"
    with open(new, "w") as f:
        json.dump(kept, f, indent=1)
    os.replace(new, args.save)


def measure_fnz(args, names, rows, said, known=lambda row: row):
    """Puts figures into `rows`, by name and as they come, and error texts of failed programs into `said`."""
    words = [args.bench, *(["--small"] if args.small else []), "--seconds", str(args.seconds), *names]
    with tempfile.TemporaryFile("w+") as errors:
        bench = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            for line in bench.stdout:
                if line.startswith("{"):
                    row = known(json.loads(line))
                    rows[row["name"]] = row
                    save(args, rows)
        finally:
            bench.kill()
            status = bench.wait()
            errors.seek(0)
            said += [line for line in errors.read().splitlines() if line]
    if status:
        said.append(f"{args.bench} ended with {status}")


# --- PyTorch --------------------------------------------------------------------------------------

def chain(x, y):
    for _ in range(3):
        x = (x + y) * 0.5
    return x


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def in_place(m, x):
    return m.add_(x)[:1].clone()


# The same as in device_programs.h: the function, and the sizes of the operands from rows and columns.
SAME = [("chain_", chain, lambda r, c: [(r, c), (r, c)]),
        ("functions_", lambda x: torch.exp(torch.tanh(x)), lambda r, c: [(r, c)]),
        ("bias_", lambda x, y: torch.relu(x + y), lambda r, c: [(r, c), (c,)]),
        ("cast_", lambda x: x.float() * 2, lambda r, c: [(r, c)]),
        ("turned_", lambda x, y: x.t() + y, lambda r, c: [(c, r), (r, c)]),
        ("softmax_", lambda x: torch.softmax(x, -1), lambda r, c: [(r, c)]),
        ("layer_norm_", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), lambda r, c: [(r, c), (c,), (c,)]),
        ("rms_norm_", lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-5), lambda r, c: [(r, c), (c,)]),
        ("sum_f", lambda x: x.sum(), lambda r, c: [(r, c)]),
        ("mean_rows_", lambda x: x.mean(-1), lambda r, c: [(r, c)]),
        ("sum_columns_", lambda x: x.sum(0), lambda r, c: [(r, c)]),
        ("cumsum_", lambda x: x.cumsum(-1), lambda r, c: [(r, c)]),
        ("in_place_", in_place, lambda r, c: [(r, c), (r, c)]),
        ("mm_", lambda x, y: x @ y, lambda r, c: [(r, c), (c, r)]),
        ("mv_", lambda x, y: x @ y.t(), lambda r, c: [(1, c), (r, c)]),
        ("attention_", attend, lambda r, c: [(1, 16, r, c)] * 3)]


def sizes():
    """Rows and columns by name, as device_programs.h has them."""
    found = {}
    for line in (HERE / "device_programs.h").read_text().replace("\n     ", " ").splitlines():
        words = line.strip().split(",")
        if line.strip().startswith('{"') and len(words) > 4:
            found[words[0].strip(' {"')] = (words[1].strip(' "'), int(words[2]), int(words[3]))
    return found


def figures(call, seconds):
    """(us a call, us until it returns), of many that follow each other."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    count = max(2, min(CALLS, int(seconds / max(1e-6, time.perf_counter() - began))))
    best = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(count):
            call()
        issued = time.perf_counter() - began
        torch.cuda.synchronize()
        best.append(((time.perf_counter() - began) / count * 1e6, issued / count * 1e6))
    return sorted(best)[2]


def operands(name, small):
    dtype, rows, columns = sizes()[name]
    same = next((s for s in SAME if name.startswith(s[0])), None)
    if not same:
        return None, None
    rows, columns = (min(rows, 64), min(columns, 64)) if small else (rows, columns)
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    return same[1], [torch.rand(s, device="cuda", dtype=kind) * 2 - 1 for s in same[2](rows, columns)]


def measure_torch(args, rows, way, ends):
    for name, row in rows.items():
        if time.monotonic() > ends:
            row.setdefault("left", []).append(f"{way}: no time was left")
            continue
        try:
            function, inputs = row["made"]() if "made" in row else operands(name, args.small)
            if function is None:
                continue
            if way == "inductor":
                torch._dynamo.reset()
                function = torch.compile(function)
            row[way + "_us"], row[way + "_issue_us"] = figures(lambda: function(*inputs), args.seconds)
        except Exception as e:
            row.setdefault("left", []).append(f"{way}: {type(e).__name__}: {str(e).strip().splitlines()[0][:120]}")
        save(args, rows)
        inputs = function = None
        torch.cuda.empty_cache()


def export(folder, names):
    """Programs of programs.py, as files; and what makes them on the GPU."""
    sys.path.append(str(HERE))
    import programs
    found, said = {}, []
    for name in names:
        try:
            programs.write(name, folder)
        except Exception as e:
            said.append(f"{name}: {type(e).__name__}: {str(e).strip().splitlines()[0][:120]}")
            continue

        def made(name=name):
            model, inputs = programs.make(name)
            given = {k: v.cuda() for k, v in inputs.items()}
            model = model.cuda()
            return (lambda: model(**given)), ()
        found[os.path.join(folder, name, "program.pt2")] = (name, made)
    return found, said


def measure_programs(args, rows, said):
    with tempfile.TemporaryDirectory() as folder:
        files, more = export(folder, [n for n in args.programs.split(",") if n])
        said += more
        if files:
            measure_fnz(args, list(files), rows, said,
                        lambda row: dict(row, name=files[row["name"]][0], made=files[row["name"]][1]))


# --- Telling --------------------------------------------------------------------------------------

def cell(value, digits=2):
    return f"{value:.{digits}f}" if value is not None else "-"


def ratio(row, way):
    return row["stream_us"] / row[way] if row.get(way) else None


def print_machine():
    said = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout if shutil.which("nvidia-smi") else ""
    print(f"{said.strip() or 'no nvidia-smi'}; {platform.machine()}, Python {platform.python_version()}, "
          f"{'torch ' + torch.__version__ if TORCH else 'no PyTorch: ' + WHY}\n")
    if os.environ.get("FNZ_STANDIN"):
        print("**On the stand-in for a GPU: times mean nothing.**\n")


def print_tables(rows):
    print("us of a call among many, and beside it: share = time of a copy that moves as many bytes / time; ratios are "
          "fnz's time / the other's, below 1 where fnz is faster.\n")
    print("| program | MB | us | GB/s | share of a copy | CPU us | eager | Inductor |\n|---|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        if row["flops"] or "copy_us" not in row:
            continue
        print(f"| {name} | {row['bytes'] / 1e6:.1f} | {row['stream_us']:.1f} | {row['bytes'] / row['stream_us'] / 1e3:.0f} "
              f"| {cell(row['copy_us'] / row['stream_us'])} | {row['issue_us']:.1f} | {cell(ratio(row, 'eager_us'))} "
              f"| {cell(ratio(row, 'inductor_us'))} |")
    print("\n| product or attention | us | TFLOP/s | cuBLASLt's call alone | CPU us | eager | Inductor |\n|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        if row["flops"]:
            print(f"| {name} | {row['stream_us']:.1f} | {row['flops'] / row['stream_us'] / 1e6:.1f} | {cell(ratio(row, 'direct_us'))} "
                  f"| {row['issue_us']:.1f} | {cell(ratio(row, 'eager_us'))} | {cell(ratio(row, 'inductor_us'))} |")
    print("\n| whole program | a call us | CPU us of it | among many us | CPU us until it returns | eager | its CPU us | Inductor |"
          "\n|---|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        if not row["flops"] and "copy_us" not in row:
            print(f"| {name} | {row['call_us']:.1f} | {row['cpu_us']:.1f} | {row['stream_us']:.1f} | {row['issue_us']:.1f} "
                  f"| {cell(ratio(row, 'eager_us'))} | {cell(row.get('eager_issue_us'), 1)} | {cell(ratio(row, 'inductor_us'))} |")
    for name, row in rows.items():
        for word in row.get("left", []):
            print(f"\n{name}, {word}")


def measure(args, rows, said):
    measure_fnz(args, args.names, rows, said)
    if not TORCH:
        return
    torch.backends.cudnn.allow_tf32 = False
    ends = time.monotonic() + args.torch_seconds
    measure_programs(args, rows, said)
    with torch.inference_mode():
        measure_torch(args, rows, "eager", ends)
        measure_torch(args, rows, "inductor", ends)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--torch-seconds", type=float, default=90)
    parser.add_argument("--programs", default=PROGRAMS)
    parser.add_argument("--save")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    rows, said = {}, []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    try:
        measure(args, rows, said)
    except Ended:
        said.append("No time was left for the rest.")
    save(args, rows)
    print_machine()
    print_tables(rows)
    for line in said:
        print(f"\n{line}")
    sys.exit(0 if rows else 1)


if __name__ == "__main__":
    main()
