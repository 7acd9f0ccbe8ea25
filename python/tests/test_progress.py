"""Long calls: how far they are, and exceptions that end them."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import fnz
from fnz.quick import module as quick

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "help"))
import large  # noqa: E402

LINES = 100
SLOW = ("fnz 1\nprogram(%x: f32[3000,3000]) {\n" + "".join(
    f"  %s{k}: f32[{3000 - k},3000] offset({3000 * k}) = slice.Tensor(%x, 0, {k}, 3000)\n"
    f"  %v{k}: f32[{3000 - k},3000] offset({3000 * k}) = add_.Scalar(%s{k}, 1)\n" for k in range(LINES))
        + f"  return %v{LINES - 1}\n}}\n").encode()
# Products of matrices: a run of seconds, in steps of 0.1 s.
LONG_RUN = ("fnz 1\nprogram(%x: f32[1500,1500]) {\n" + "".join(
    f"  %v{k}: f32[1500,1500] = mm(%{f'v{k - 1}' if k else 'x'}, %x)\n" for k in range(400)) + "  return %v399\n}\n").encode()
# A run that cannot be cancelled, because it has written its input: it ends before the exception is raised.
WRITES_FIRST = LONG_RUN.split(b"  %v9:")[0].replace(
    b"{\n", b"{\n  %w: f32[1500,1500] = add_.Scalar(%x, 1)\n", 1) + b"  return %v8\n}\n"


class Stop(Exception):
    pass


def interrupt(after):
    """Ctrl-C, in so many seconds."""
    thread = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    thread.start()
    return thread


class Long(unittest.TestCase):
    def follow(self, call):
        """The one report that `call` makes to a function that raises. Returning False ends the call, too."""
        heard = []
        began = time.monotonic()

        def stop(progress):
            heard.append(progress)
            raise Stop
        with self.assertRaises(Stop):
            call(stop)
        self.assertEqual(len(heard), 1)
        with self.assertRaisesRegex(fnz.Error, "CANCELLED: .*the caller has cancelled it"):
            call(lambda progress: False)
        self.assertLess(time.monotonic() - began, 20)
        self.assertIsInstance(heard[0], fnz.Progress)
        return heard[0]

    def test_verify_is_followed_and_cancelled(self):
        program = fnz.load(SLOW)
        functional = program.functionalize()
        heard = self.follow(lambda progress: functional.verify(program, progress=progress))
        self.assertEqual((heard.what, heard.unit, heard.of), ("verify", "seeds", 2))
        self.assertTrue(0 <= heard.share < 0.5)
        counted, began = [], time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            thread = interrupt(0.7)
            functional.verify(program, progress=lambda one: counted.append(one))
        thread.join()
        self.assertLessEqual(len(counted), 10 * (time.monotonic() - began) + 1)
        self.assertTrue(fnz.load(b"fnz 1\nprogram(%x: f32[4]) {\n  return %x\n}\n").verify(fnz.load(
            b"fnz 1\nprogram(%x: f32[4]) {\n  return %x\n}\n")))

    def test_files_are_followed(self):
        with tempfile.TemporaryDirectory() as folder:
            path, to = os.path.join(folder, "model.pt2"), os.path.join(folder, "out.cbor")
            large.write(lambda text: fnz.load(text).write("json"), path, 20 * 10 ** 9)
            heard = self.follow(lambda progress: fnz.load(path, progress=progress))
            self.assertEqual((heard.what, heard.unit), ("read", "bytes"))
            program = fnz.load(path, reading="map_late")
            heard = self.follow(lambda progress: program.save(to, progress=progress))
            self.assertEqual((heard.what, heard.unit), ("write", "bytes"))
            self.assertEqual(os.listdir(folder), ["model.pt2"])

    def test_short_calls_are_not(self):
        def never(progress):
            raise Stop
        program = fnz.load(b"fnz 1\nprogram(%x: f32[4]) {\n  %y: f32[4] = neg(%x)\n  return %y\n}\n", progress=never)
        functional = program.functionalize(progress=never)
        self.assertTrue(functional.verify(program, progress=never))
        self.assertEqual(functional.decompose("core", progress=never).stats.nodes, 1)

    def interrupted(self, source, setting):
        """The exception of a call in a process of its own, and everything it prints."""
        code = ("import fnz, os, signal, threading\n"
                f"program = fnz.load({source!r})\n"
                "threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
                "try:\n    while True:\n"
                f"        {setting}\n"
                "except KeyboardInterrupt:\n    print('interrupted')\n")
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual((done.stdout, done.stderr), ("interrupted\n", ""))

    def test_keyboard_interrupts(self):
        self.interrupted(SLOW, "program.verify(program, progress=lambda _: None)")
        if quick is None:
            return  # other calls end first
        self.interrupted(SLOW, "program.verify(program)")
        numbers = "(memoryview(bytearray(4 * 1500 * 1500)).cast('B').cast('f', [1500, 1500]))"
        self.interrupted(WRITES_FIRST, "program.compile(threads=1, in_place=True)" + numbers)
        self.interrupted(LONG_RUN, "program.compile(threads=1)" + numbers)


if __name__ == "__main__":
    unittest.main()
