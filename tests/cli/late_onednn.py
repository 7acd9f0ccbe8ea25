"""late_onednn.py FNZ NO_ONEDNN - the command starts without oneDNN and opens it for a convolution.

If it cannot (NO_ONEDNN, loaded before), a convolution is refused and everything else works."""
import json
import os
import struct
import subprocess
import sys
import tempfile

fnz, without = sys.argv[1:]
PROGRAM = """fnz 1
program(
  %x: f32[1, 3, 8, 8], %w: f32[4, 3, 3, 3])
{
  %y: f32[1, 4, 6, 6] = conv2d(%x, %w)
  return %y
}
"""


def call(*arguments, **environment):
    done = subprocess.run([fnz, *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout + done.stderr


def must(holds, what):
    if not holds:
        sys.exit(what)


def ones(path, **shapes):
    head, at = {}, 0
    for name, (sizes, count) in shapes.items():
        head[name] = {"dtype": "F32", "shape": sizes, "data_offsets": [at, at + 4 * count]}
        at += 4 * count
    text = json.dumps(head).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + struct.pack("<f", 1) * (at // 4))


needed = subprocess.run(["readelf", "-d", fnz], check=True, stdout=subprocess.PIPE, text=True).stdout
must("NEEDED" in needed and "dnnl" not in needed, f"it is linked with oneDNN, or with nothing:\n{needed}")
with tempfile.TemporaryDirectory() as folder:
    program, inputs = os.path.join(folder, "convolution.fnz"), os.path.join(folder, "in.safetensors")
    with open(program, "w") as out:
        out.write(PROGRAM)
    ones(inputs, x=([1, 3, 8, 8], 192), w=([4, 3, 3, 3], 108))
    run = ["run", program, "--inputs", inputs]
    code, said = call(*run)
    must(code == 0 and "27, 27" in said, f"exit {code}: {said}")
    code, said = call(*run, LD_PRELOAD=without)
    must(code == 3 and said == "fnz: IO: oneDNN, which computes convolutions and matrix products, cannot be opened: no such library\n",
         f"without oneDNN: exit {code}: {said}")
    code, said = call("show", program, "--functional", LD_PRELOAD=without)
    must(code == 0 and "conv2d" in said, f"show without oneDNN: exit {code}: {said}")
