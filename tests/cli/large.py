"""The command on archives that are larger than memory, or than a limit on memory.

    large.py FNZ

A verb that prints structure takes 50 MB and 0.1 s for 20 GB of weights. A conversion or a run has all weights in pages of the
file: with RLIMIT_DATA it gets less memory of its own than they take."""
import os
import resource
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../help"))
import large  # noqa: E402

SKIPPED = 77
GB = 10 ** 9
STRUCTURE = ["show", "stats", "lint", "explain", "hash --structure", "hash --structure --json", "show --functional"]
CPU_SECONDS, KB, TRIES = 0.1, 50_000, 5

# 192 MB of weights, and 80 MB of memory.
WEIGHTS, ROOM = 192 << 20, 80 << 20
STREAMED = ["convert model.pt2 -o a.cbor --verify", "convert model.pt2 -o b.cbor --external-weights", "convert model.pt2 -o c.pt2",
            "convert model.pt2 -o d.mlir", "convert model.pt2 -o e.pt2 --state io", "convert model.pt2 -o f.pt2 --for onnx",
            "convert a.cbor -o g.pt2", "convert b.cbor -o h.pt2", "convert c.pt2 -o i.pt2 --decompose core",
            "convert model.pt2 c.pt2 -o j.cbor", "convert j.cbor --method model -o k.pt2", "diff a.cbor b.cbor", "hash c.pt2",
            "verify model.pt2 c.pt2", "run model.pt2 --inputs in.safetensors --threads 1",
            "run b.cbor --inputs in.safetensors --threads 1"]


def measured(words, folder):
    """Exit code, standard error, seconds of the processor, kB that were resident at most."""
    with open(os.path.join(folder, ".err"), "w+", encoding="utf-8") as err:
        child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=err)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return child.returncode, err.read(), used.ru_utime + used.ru_stime, used.ru_maxrss


def check_structure(fnz, folder):
    wrong = []
    for verb in STRUCTURE:
        name, *options = verb.split()
        tries = [measured([fnz, name, "large.pt2", *options], folder) for _ in range(TRIES)]
        code, said, _, kb = tries[0]
        seconds = min(one[2] for one in tries)
        if code not in (0, 1) or said or seconds > CPU_SECONDS or kb > KB:
            wrong.append(f"{verb}: exit {code}, {seconds:.3f} s, {kb} kB: {said}")
    return wrong


def check_streamed(fnz, folder):
    wrong = []
    for line in STREAMED:
        done = subprocess.run([fnz, *line.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (ROOM, ROOM)))
        if done.returncode:
            wrong.append(f"{line}: exit {done.returncode}: {done.stderr}")
    return wrong


def check_written_over(fnz, folder):
    """The first program is mapped when the command waits for the second one. Then the file changes, or loses a page that is
    read, which is the signal alone here."""
    path, wrong = os.path.join(folder, "over.pt2"), []
    for change, said in ((lambda child: os.truncate(path, 0), "over.pt2: the file was written over"),
                         (lambda child: child.send_signal(signal.SIGBUS), "over.pt2 or -: the file became shorter")):
        large.write(large.by_command(fnz), path, WEIGHTS // 100)
        with open(path, "rb") as file:
            whole = file.read()
        child = subprocess.Popen([fnz, "diff", "over.pt2", "-"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        child.stdin.write(whole[:1 << 17])  # more than a pipe holds: the command reads already
        child.stdin.flush()
        change(child)
        try:
            _, answer = child.communicate(whole[1 << 17:])
        except BrokenPipeError:
            answer = child.stderr.read()
        if child.wait() != 3 or said not in answer.decode():
            wrong.append(f"diff of a file that changes: exit {child.returncode}: {answer}")
    return wrong


def main():
    fnz = os.path.abspath(sys.argv[1])
    json_of = large.by_command(fnz)
    with tempfile.TemporaryDirectory() as folder:
        try:
            large.write(json_of, os.path.join(folder, "large.pt2"), 20 * GB)
        except OSError as error:
            print(f"no file of 20 GB with holes: {error}")
            return SKIPPED
        large.write(json_of, os.path.join(folder, "model.pt2"), WEIGHTS)
        large.write_inputs(os.path.join(folder, "in.safetensors"))
        wrong = check_structure(fnz, folder) + check_streamed(fnz, folder) + check_written_over(fnz, folder)
    for one in wrong:
        print(one, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
