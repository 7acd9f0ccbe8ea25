"""The command on a terminal: a line about a long step, Ctrl-C, colours.

    terminal.py FNZ"""
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../help"))
import large  # noqa: E402

ERASE = "\r\033[K"
WAIT_S = 60
SLOW = "fnz 1\nprogram(%x: f32[3000,3000]) {\n" + "".join(
    f"  %s{k}: f32[{3000 - k},3000] offset({3000 * k}) = slice.Tensor(%x, 0, {k}, 3000)\n"
    f"  %v{k}: f32[{3000 - k},3000] offset({3000 * k}) = add_.Scalar(%s{k}, 1)\n" for k in range(100)) + "  return %v99\n}\n"

# Command lines that work for a long time, and words that the line has.
LONG = [("fuzz --count 2000000000", ["fnz: fuzz 0 %, ", " of 2000000000 programs, "]),
        ("convert large.pt2 -o large.cbor", ["fnz: read ", " of 20.0 GB, "]),
        ("convert large.pt2 -o large.cbor --external-weights", ["fnz: read ", " of 20.0 GB, "]),
        ("hash large.pt2", ["fnz: ", " of 20.0 GB, "]),
        ("verify slow.fnz", ["fnz: verify ", " of 2 seeds, "])]


class Call:
    """A process that writes to a terminal or a pipe, and its output."""

    def __init__(self, fnz, line, folder, terminal=True, **environment):
        self.ours, theirs = pty.openpty() if terminal else os.pipe()
        env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.process = subprocess.Popen([fnz, *line.split()], cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                                        env={**env, "TERM": "xterm", **environment})
        os.close(theirs)
        self.text, self.is_open = "", True

    def read(self, seconds):
        """One more piece of its output, if there is one in time."""
        if not select.select([self.ours], [], [], seconds)[0]:
            return
        try:
            data = os.read(self.ours, 1 << 16)
        except OSError:  # the other side of a terminal is closed
            data = b""
        self.is_open = bool(data)
        self.text += data.decode()

    def read_until(self, word):
        end = time.monotonic() + WAIT_S
        while self.is_open and word not in self.text and time.monotonic() < end:
            self.read(1)

    def finish(self):
        end = time.monotonic() + WAIT_S
        while self.is_open and time.monotonic() < end:
            self.read(1)
        os.close(self.ours)
        return self.process.wait(WAIT_S)


def check_long(fnz, folder, line, words):
    call = Call(fnz, line, folder)
    call.read_until(" s")
    call.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    code = call.finish()
    wrong = [f"no `{word}`" for word in words if word not in call.text]
    if code != -signal.SIGINT or time.monotonic() - began > 10:
        wrong.append(f"exit {code} after {time.monotonic() - began:.1f} s")
    if not call.text.startswith(ERASE) or not call.text.endswith(ERASE):
        wrong.append("the line is not erased")
    if sorted(os.listdir(folder)) != ["large.pt2", "slow.fnz"]:
        wrong.append(f"files are left: {os.listdir(folder)}")
    return [f"{line}: {one}: {call.text!r}" for one in wrong]


def check_silence(fnz, folder):
    """No line, whatever is long, where standard error is no terminal, or one that cannot erase."""
    wrong = []
    for how, environment in ((False, {}), (True, {"TERM": "dumb"})):
        call = Call(fnz, "verify slow.fnz", folder, how, **environment)
        call.read(2.5)
        call.process.send_signal(signal.SIGINT)
        code = call.finish()
        if code != -signal.SIGINT or call.text:
            wrong.append(f"terminal {how}, {environment}: exit {code}: {call.text!r}")
    return wrong


def said(fnz, line, folder, terminal=True, **environment):
    call = Call(fnz, line, folder, terminal, **environment)
    call.finish()
    return call.text


def check_colors(fnz, folder):
    red, end = "\033[1;31m", "\033[0m"
    with open(os.path.join(folder, "a.fnz"), "w", encoding="utf-8") as file:
        file.write("fnz 1\nprogram(%x: f32[4]) {\n  %y: f32[4] = neg(%x)\n  return %y\n}\n")
    with open(os.path.join(folder, "b.fnz"), "w", encoding="utf-8") as file:
        file.write("fnz 1\nprogram(%x: f32[4]) {\n  %y: f32[4] = abs(%x)\n  return %y\n}\n")
    with open(os.path.join(folder, "c.fnz"), "w", encoding="utf-8") as file:
        file.write("fnz 1\nprogram(%x: f32[4]) {\n  %y: f32[4,4] = expand(%x, [4, 4])\n  %z: f32[4,4] = add_.Tensor(%y, %y)\n"
                   "  return %z\n}\n")
    colored = [("show nowhere", f"fnz: {red}IO{end}: "), ("diff a.fnz b.fnz", f"{red}different{end}: "),
               ("verify a.fnz", f"\033[32mequal{end} for"), ("lint c.fnz", f": {red}refused{end}, OVERLAP:")]
    wrong = []
    for line, words in colored:
        for how, environment, options in ((True, {}, ""), (False, {}, " --color=always"), (False, {"NO_COLOR": "1"}, " --color always")):
            text = said(fnz, line + options, folder, how, **environment)
            if words not in text:
                wrong.append(f"{line}{options}, terminal {how}: no {words!r} in {text!r}")
        for how, environment, options in ((False, {}, ""), (True, {"NO_COLOR": "1"}, ""), (True, {"TERM": "dumb"}, ""),
                                          (True, {}, " --color=never"), (False, {}, " --color auto")):
            text = said(fnz, line + options, folder, how, **environment)
            if "\033" in text or not text:
                wrong.append(f"{line}{options}, terminal {how}, {environment}: {text!r}")
    if "--color takes one of auto, always, never" not in said(fnz, "show a.fnz --color=red", folder):
        wrong.append("--color=red is taken")
    return wrong


def main():
    fnz = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        large.write(large.by_command(fnz), os.path.join(folder, "large.pt2"), 20 * 10 ** 9)
        with open(os.path.join(folder, "slow.fnz"), "w", encoding="utf-8") as file:
            file.write(SLOW)
        wrong = [one for line, words in LONG for one in check_long(fnz, folder, line, words)]
        wrong += check_silence(fnz, folder) + check_colors(fnz, folder)
    for one in wrong:
        print(one, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
