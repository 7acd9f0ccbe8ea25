#!/usr/bin/env python3
"""Mistakes in the use of the command, and the words that each answer has: the file, the fault, both values, the remedy.

    mistakes.py FNZ ROOT

docs/mistakes.md counts them. Each row: the command, its exit, words of standard error, in order, between bars."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

TEXT = "fnz 1\nprogram(%x: f32[2]) {{\n  {}\n}}\n"
PROGRAMS = {
    "operator.fnz": "%y: f32[2] = ad.Tensor(%x, %x)\n  return %y",
    "overload.fnz": "%y: f32[2] = add.Tensors(%x, %x)\n  return %y",
    "undefined.fnz": "%y: f32[2] = neg(%z)\n  return %y",
    "nearly.fnz": "%result: f32[2] = neg(%x)\n  return %resut",
    "twice.fnz": "%x: f32[2] = neg(%x)\n  return %x",
    "untyped.fnz": "%y = neg(%x)\n  return %y",
    "type.fnz": "%y: float32[2] = neg(%x)\n  return %y",
    "many.fnz": "%y: f32[2] = neg(%x, 1)\n  return %y",
    "keyword.fnz": "%y: f32[2] = add.Tensor(%x, %x, beta=1)\n  return %y",
    "kind.fnz": '%y: f32[2] = sum.dim_IntList(%x, "a")\n  return %y',
    "shape.fnz": "%y: f32[3] = neg(%x)\n  return %y",
    "dimension.fnz": "%y: f32[2] = select.int(%x, 3, 0)\n  return %y",
    "endless.fnz": "%y: f32[2] = neg(%x)",
    "list.fnz": "%y: f32[2] = cat([%x, 3])\n  return %y",
    "custom.fnz": "%y: f32[2] = mylib::foo(%x)\n  return %y",
    "overlap.fnz": '%e: f32[3,2] stride(0,1) = expand(%x, [3, 2])\n'
                   '  %a: f32[3,2] stride(0,1) = add_.Scalar(%e, 1)  at "model.py:7"\n  return %x',
}
X, P = ("F32", [1, 1, 16]), ("I64", [1])
ARRAYS = {
    "dtype": {"x": ("F64", [1, 1, 16]), "pos": P}, "shape": {"x": ("F32", [1, 2, 16]), "pos": P},
    "rank": {"x": ("F32", [16]), "pos": P}, "missing": {"x": X}, "extra": {"x": X, "pos": P, "mask": P},
    "misspelt": {"X": X, "pos": P}, "again": {"x": X, "input.x": X, "pos": P}, "weights": {"q.weight": ("F32", [16, 16])},
    "eleven": {"x": ("F32", [11, 3])},
}
BYTES = {"F32": 4, "F64": 8, "I64": 8}

# Commands that name no file of their own use model.pt2 and in.safetensors.
MISTAKES = """
show nowhere.pt2 | 3 | nowhere.pt2 | No such file | check the path
show folder | 3 | folder | it is a folder | name a file in it
show secret.pt2 | 3 | secret.pt2 | Permission denied | change its permissions
show empty.pt2 | 2 | empty.pt2 | empty | write it again
show words.pt2 | 2 | words.pt2 | neither a .pt2 archive | torch.export.save
show cut.pt2 | 2 | cut.pt2 | no end record | copy it again
show model.onnx | 2 | model.onnx | expected a program, this is an ONNX model | torch.export.save
show weights.pth | 2 | weights.pth | expected a program, this is a file of torch.save | torch.export.save
show script.pt | 2 | script.pt | expected a program, this is a TorchScript archive | torch.export.save
show old.pth | 2 | old.pth | this is a pickle | torch.export.save
show in.safetensors | 2 | in.safetensors | this is a safetensors file | fnz run --inputs
show table.npz | 2 | table.npz | arrays of NumPy | as a safetensors file
show - < empty.pt2 | 2 | standard input | empty | write it again
show '' | 64 | an operand is empty | it takes IN
shwo model.pt2 | 64 | shwo | did you mean show?
model.pt2 | 64 | model.pt2 is a file | fnz show model.pt2
--functional model.pt2 | 64 | no option --functional | fnz --help
show | 64 | show | it needs IN
show model.pt2 sym.fnz | 64 | sym.fnz is one operand too many | it takes IN
show model.pt2 --functionel | 64 | --functionel | did you mean --functional?
show model.pt2 --verify | 64 | --verify | one of fnz convert, view
convert model.pt2 --out x.cbor | 64 | --out | did you mean -o?
convert model.pt2 -o | 64 | -o needs a value: FILE
convert model.pt2 -o a.cbor -o b.cbor | 64 | -o is given twice
convert model.pt2 --sync=yes -o x.cbor | 64 | --sync takes no value
convert model.pt2 --to onnx | 64 | --to takes one of pt2, json | not onnx | --for onnx
convert model.pt2 -o x.onnx | 64 | x.onnx | add --to pt2, json
convert model.pt2 --to cbor -o x.fnz | 64 | cbor | x.fnz | leave --to out
convert model.pt2 --views copies | 64 | --views takes one of copy, keep | not copies
convert model.pt2 --state output | 64 | --state takes one of outputs | not output
convert model.pt2 --for tensorflow -o x.pt2 | 64 | --for takes one of executorch | not tensorflow
convert model.pt2 --for pt2 -o x.pt2 | 64 | --for pt2 | fnz lint
convert model.pt2 --for iree -o x.pt2 | 64 | iree reads mlir, not pt2
convert model.pt2 --decompose cores -o x.cbor | 64 | cores | did you mean core
convert model.pt2 --decompose lineer -o x.cbor | 2 | model.pt2 | "lineer" | did you mean linear
convert model.pt2 --keep liner --decompose core -o x.cbor | 2 | model.pt2 | "liner" | did you mean linear
convert model.pt2 --deny nosuch -o x.cbor | 2 | model.pt2 | "nosuch" | fnz ops lists all
convert model.pt2 --alias 'x=y[1:]' -o x.cbor | 2 | model.pt2 | y: | no tensor input of this name
convert model.pt2 --alias x -o x.cbor | 2 | expected '=' | is like x=y[1:]
convert model.pt2 --alias 'x=pos[0:1]' -o x.cbor | 2 | x: the program takes f32, the alias is i64
convert model.pt2 -o /nowhere/x.cbor | 3 | /nowhere/x.cbor | no folder /nowhere | make it first
convert model.pt2 --to cbor -o folder | 3 | folder | name a file in it
convert model.pt2 --to cbor -o /dev/full | 3 | /dev/full | no regular file | redirect that
convert model.pt2 --to cbor > /dev/full | 3 | standard output | No space left | free some space
run model.pt2 --inputs in.safetensors > /dev/full | 3 | standard output | No space left | free some space
convert model.pt2 -o locked/x.cbor | 3 | locked/x.cbor | Permission denied | change its permissions
convert model.pt2 -o model.pt2 | 64 | -o model.pt2 | what is read | name another file
convert model.pt2 --method decode -o x.cbor | 2 | model.pt2 | no method decode | there are: main
convert model.pt2 model.pt2 -o x.cbor | 64 | two methods are called model
convert model.pt2 sym.fnz -o x.pt2 | 64 | several programs | FILE.cbor or FILE.mlir
convert model.pt2 --external-weights -o x.pt2 | 64 | --external-weights is for CBOR | add -o FILE.cbor
convert model.pt2 --weights inline -o x.cbor | 64 | --weights says where weights of mlir are, not of cbor | --external-weights
convert model.pt2 --state globals -o x.cbor | 64 | --state globals is for mlir, not for cbor
draw model.pt2 -o x.png | 64 | .dot or .svg | x.png | dot -Tpng
view model.pt2 -o x.pdf | 64 | .html | x.pdf | fnz draw
run model.pt2 | 2 | model.pt2: x: no input of this name was given | inputs are x: f32[1,1,16], pos: i64[1]
bench model.pt2 | 2 | model.pt2: x: no input of this name was given | inputs are x: f32[1,1,16], pos: i64[1]
run model.pt2 --inputs nowhere.safetensors | 3 | nowhere.safetensors | No such file | check the path
run model.pt2 --inputs model.pt2 | 2 | model.pt2 | expected a safetensors file, this is a zip archive | save_file
run model.pt2 --inputs cut.safetensors | 2 | cut.safetensors | header of | in a file of 100 bytes | copy it again
run model.pt2 --inputs missing.safetensors | 2 | pos: no input of this name was given | inputs are
run model.pt2 --inputs extra.safetensors | 2 | mask: no input has this name | inputs are
run model.pt2 --inputs misspelt.safetensors | 2 | X: no input has this name | inputs are x
run model.pt2 --inputs weights.safetensors | 2 | q.weight: no input has this name | did you mean parameter.q.weight?
run model.pt2 --inputs dtype.safetensors | 2 | model.pt2: x: the program takes f32 | f64 | cast it before
run model.pt2 --inputs shape.safetensors | 2 | model.pt2: x: size 1 of dimension 1 | has 2 | dimension dynamic
run model.pt2 --inputs rank.safetensors | 2 | model.pt2: x: the program takes 3 dimensions | has 1 | reshape it
run model.pt2 --inputs again.safetensors | 2 | x: this input is given twice, as x and as input.x | leave one out
run sym.fnz --inputs eleven.safetensors | 2 | sym.fnz | s0 from 0 to 10 (its range) | s0 = 11 | give other inputs
run model.pt2 --inputs in.safetensors --steps many | 64 | --steps takes a number from 1 | not many
run model.pt2 --inputs in.safetensors --threads -1 | 64 | --threads takes a number from 1 to 4096 | not -1
run model.pt2 --inputs in.safetensors --device gpu | 64 | --device takes one of cpu, cuda, cuda:N | not gpu
run model.pt2 --inputs in.safetensors --engine fast | 64 | --engine takes interpreter | not fast
run model.pt2 --inputs in.safetensors --outputs out.npz | 64 | safetensors, not as .npz | name out.safetensors
run model.pt2 --inputs in.safetensors --state weights.safetensors | 2 | q.weight | the state has nothing | it has buffer.kc
run model.pt2 --inputs in.safetensors --group tp=0,1 | 64 | --group | add --collectives mpi
run - --inputs - < model.pt2 | 64 | two files cannot both come from standard input
verify model.pt2 nowhere.cbor | 3 | nowhere.cbor | No such file | check the path
verify model.pt2 --engine | 64 | --engine | give --inputs
diff model.pt2 | 64 | it needs A B
explain model.pt2 nosuch | 64 | nosuch | as fnz show prints them
explain model.pt2 --plan --inputs misspelt.safetensors | 2 | X: no input has this name | inputs are x
explain model.pt2 --plan --inputs shape.safetensors | 2 | model.pt2: x: size 1 of dimension 1 | has 2 | dimension dynamic
explain model.pt2 --stage arange | 64 | --stage takes one of tape | not arange
explain model.pt2 --plan --device cuda --arch sm90 | 64 | sm90 | sm_80, sm_90
lint model.pt2 --fail-on error | 64 | --fail-on takes one of refused, copy, never | not error
lint model.pt2 --sarif --json | 64 | two forms of the same | give one
ops ad.Tensor | 2 | ad.Tensor | did you mean add.Tensor
ops --kind inplac | 64 | --kind takes one of functional, inplace | not inplac
fuzz model.pt2 | 64 | with --plant it takes files, such as model.pt2
show headless.fnz | 2 | headless.fnz | without its first line | put `fnz 1`
show version.fnz | 2 | version.fnz: line 2 | text form 2; this release reads 1
show operator.fnz | 2 | operator.fnz: line 3, column 16 | ad.Tensor | did you mean add.Tensor
show overload.fnz | 2 | overload.fnz: line 3 | add.Tensors | did you mean add.Tensor
show undefined.fnz | 2 | undefined.fnz: line 3 | %z is not defined | define it first
show nearly.fnz | 2 | nearly.fnz: line 4 | %resut is not defined | did you mean result?
show twice.fnz | 2 | twice.fnz: line 3 | %x is defined twice | give it another name
show untyped.fnz | 2 | untyped.fnz: line 3 | expected the type | such as ": f32[4,3]" | found "="
show type.fnz | 2 | type.fnz: line 3 | expected a type such as f32[4,3] | found "float32"
show many.fnz | 2 | many.fnz: line 3 | only 1 arguments without name | neg(Tensor self)
show keyword.fnz | 2 | keyword.fnz: line 3 | no argument "beta" | its schema is add.Tensor(
show kind.fnz | 2 | kind.fnz: node 0 (sum.dim_IntList): argument "dim" wants int[1]? | the str 'a' was given | the schema is sum
show shape.fnz | 2 | shape.fnz: node 0 (neg) | recorded as f32[3], but neg gives f32[2] | correct the file
convert dimension.fnz -o x.cbor | 2 | dimension.fnz: node 0 (select.int) | dimension 3 is outside [-1, 0] | the tensor has 1 dimension
show endless.fnz | 2 | endless.fnz: line 4 | without return | add it before }
convert overlap.fnz -o x.cbor | 2 | overlap.fnz | model.py:7 | elements share memory | clone() it first
show custom.fnz | 2 | custom.fnz: line 3 | no operator mylib::foo | --ops
run model.pt2 in.safetensors | 64 | in.safetensors is one operand too many | did you mean --inputs in.safetensors?
run model.pt2 --input in.safetensors | 64 | --input; did you mean --inputs?
convert model.pt2 out.onnx | 64 | out.onnx is no file to read | -o out.onnx
convert model.pt2 --functional -o x.pt2 | 64 | --functional | one of fnz show, draw
convert model.pt2 -o '' | 64 | -o is given nothing | it takes FILE
convert model.pt2 --verify --trials 3 -o x.cbor | 64 | --trials | one of fnz verify
convert model.pt2 --alias 'x=x' -o x.cbor | 2 | x: an input aliases itself in any case
convert model.pt2 -o x.mlir --external-weights | 64 | --external-weights is for CBOR | beside it already
show https://example.com/model.pt2 | 3 | https://example.com/model.pt2 | this is a URL | download it
diff model.pt2 in.safetensors | 2 | in.safetensors | this is a safetensors file | fnz run --inputs
run model.pt2 --inputs in.safetensors --outputs /nowhere/o.safetensors | 3 | no folder /nowhere | make it first
run model.pt2 --inputs in.safetensors --threads 0.5 | 64 | --threads takes a number from 1 to 4096 | not 0.5
explain model.pt2 --sizes s0=3 | 2 | sizes: the program has fixed sizes | leave this out
explain model.pt2 --min-bytes 1kb | 64 | --min-bytes takes a number from 0 | not 1kb
hash model.pt2 --structure=yes | 64 | --structure takes no value
ops aten.add.Tensor | 2 | aten.add.Tensor | did you mean add.Tensor
ops torch.ops.aten.add.Tensor | 2 | did you mean add.Tensor
ops add.tensor | 2 | add.tensor | did you mean add.Tensor
show again.fnz | 2 | again.fnz: line 2, column 21 | %x is defined twice | another name
show list.fnz | 2 | list.fnz: node 0 (cat) | argument tensors must be a tensor | the int 3 was given
show custom.fnz --ops schemas.txt | 2 | schemas.txt:1 | column 12 | expected a type before 'Tenso x)
"""


def write_arrays(path, arrays):
    head, size = {}, 0
    for name, (dtype, shape) in arrays.items():
        count = BYTES[dtype]
        for dim in shape:
            count *= dim
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [size, size + count]}
        size += count
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + bytes(size))


def write_zip(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "\x80\x02.")


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def set_up(root):
    """The files of the rows, in the folder that is current."""
    shutil.copy(os.path.join(root, "fixtures/pt2/kv_cache.pt2"), "model.pt2")
    shutil.copy(os.path.join(root, "fixtures/pt2/kv_cache.inputs.safetensors"), "in.safetensors")
    for name, body in PROGRAMS.items():
        write(name, TEXT.format(body))
    for name, arrays in ARRAYS.items():
        write_arrays(f"{name}.safetensors", arrays)
    with open("model.pt2", "rb") as file:
        write("cut.pt2", file.read(5000))
    with open("in.safetensors", "rb") as file:
        write("cut.safetensors", file.read(100))
    write_zip("weights.pth", "weights/data.pkl", "weights/version")
    write_zip("script.pt", "script/code/__torch__.py", "script/data.pkl")
    write_zip("table.npz", "x.npy")
    write("old.pth", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.")
    write("model.onnx", b"\x08\x07\x12\x07pytorch\x1a\x051.0")
    write("empty.pt2", b"")
    write("words.pt2", "hello\n")
    write("headless.fnz", "program(%x: f32[2]) { return %x }\n")
    write("version.fnz", "fnz 2\nprogram() { return }\n")
    write("sym.fnz", "fnz 1\nsymbol s0 = 4\nrange s0 2..10\nprogram(%x: f32[{s0},3]) {\n  return %x\n}\n")
    write("again.fnz", "fnz 1\nprogram(%x: f32[2], %x: f32[2]) { return %x }\n")
    write("schemas.txt", "mylib::foo(Tenso x) -> Tensor\n")
    write("secret.pt2", "")
    os.mkdir("folder")
    os.mkdir("locked")
    os.chmod("secret.pt2", 0)
    os.chmod("locked", 0o555)


def as_nobody():
    """Permissions do not bind root."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


def faults(fnz, line):
    command, code, *words = [part.strip() for part in line.split(" | ")]
    needs_rights = "Permission denied" in words
    done = subprocess.run(f"exec {fnz} {command}", shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          preexec_fn=as_nobody if needs_rights else None)
    if needs_rights and done.returncode in (126, 127):
        print(f"not tried, because another user cannot run {fnz}: {command}")
        return []
    at, found = 0, done.returncode == int(code) and done.stderr.count("\n") == 1
    for word in words:
        at = done.stderr.find(word, at) + 1
        found = found and at > 0
    return [] if found else [f"{command}\n  expected exit {code}: {' ... '.join(words)}\n  got exit {done.returncode}: {done.stderr}"]


def main():
    fnz, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    rows = MISTAKES.strip().splitlines()
    wrong = [] if len(set(rows)) == len(rows) else ["a row is there twice"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.chmod(folder, 0o755)
        set_up(root)
        for line in rows:
            wrong += faults(fnz, line)
        os.chdir(root)
    print("\n".join(wrong) or f"{len(rows)} mistakes have good answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
