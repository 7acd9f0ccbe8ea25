"""late_onednn.py FNZ NO_ONEDNN - the command starts without oneDNN and opens it for a convolution, the gradient of its
weight, and a large product.

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
GRADIENT = """fnz 1
program(
  %g: f32[1, 4, 6, 6], %x: f32[1, 3, 8, 8], %w: f32[4, 3, 3, 3])
{
  None, %d: f32[4, 3, 3, 3], None = convolution_backward(
    %g, %x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, True, False])
  return %d
}
"""
LARGE = """fnz 1
program(
  %x: f32[600, 700], %y: f32[700, 512])
{
  %z: f32[600, 512] = mm(%x, %y)
  return %z
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
    for text, wanted, shapes in (
            (GRADIENT, "36, 36", {"g": ([1, 4, 6, 6], 144), "x": ([1, 3, 8, 8], 192), "w": ([4, 3, 3, 3], 108)}),
            (LARGE, "700, 700", {"x": ([600, 700], 420000), "y": ([700, 512], 358400)})):
        with open(program, "w") as out:
            out.write(text)
        ones(inputs, **shapes)
        code, said = call(*run)
        must(code == 0 and wanted in said, f"exit {code}: {said}")
        code, said = call(*run, LD_PRELOAD=without)
        must(code == 3 and "cannot be opened" in said, f"without oneDNN: exit {code}: {said}")
