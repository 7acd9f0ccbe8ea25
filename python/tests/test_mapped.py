"""Files that are mapped: weights are pages of the file, which processes share."""

import gc
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import fnz

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "help"))
import large  # noqa: E402

MB = 1 << 20
WEIGHTS, CHILDREN = 64 * MB, 3

# Prints two figures of the file's pages after a line of input: resident, and its own share of them.
CHILD = """
import re, sys, fnz
program = fnz.load(sys.argv[1])
run = program.compile(threads=1)
index = memoryview(bytearray(b"\\1" + bytes(15))).cast("B").cast("q", [2])
run(index)
print("ready", flush=True)
sys.stdin.readline()
sizes = {"Rss": 0, "Pss": 0}
with open("/proc/self/smaps", encoding="utf-8", errors="replace") as file:
    inside = False
    for line in file:
        if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.rstrip().endswith(sys.argv[1])
        elif inside and line.split(":")[0] in sizes:
            sizes[line.split(":")[0]] += int(line.split()[1])
print(sizes["Rss"], sizes["Pss"], flush=True)
sys.stdin.readline()
"""


def own_memory() -> int:
    """Bytes that are resident and in no file."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1)) * 1024


@unittest.skipUnless(os.path.exists("/proc/self/smaps"), "no /proc/PID/smaps here")
class Mapped(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.path = os.path.join(self._folder.name, "model.pt2")

    def write(self, size):
        large.write(lambda text: fnz.load(text).write("json"), self.path, size)

    def test_weights_are_not_copied(self):
        self.write(WEIGHTS)
        before = own_memory()
        mapped = fnz.load(self.path)
        self.assertLess(own_memory() - before, WEIGHTS / 4)
        copied = fnz.load(self.path, reading="copy")
        self.assertGreater(own_memory() - before, WEIGHTS / 2)
        self.assertEqual(mapped.hash(), copied.hash())
        with self.assertRaisesRegex(fnz.Error, "reading is one of copy, map, map_late"):
            fnz.load(self.path, reading="slowly")

    def test_structure_of_any_size_is_there_at_once(self):
        self.write(20 * 10 ** 9)
        began = time.process_time()
        program = fnz.load(self.path, reading="map_late")
        self.assertEqual(program.stats.weight_bytes, 20 * 10 ** 9 // 4096 * 4096)
        self.assertEqual(len(program.hash(weights=False)), 64)
        self.assertLess(time.process_time() - began, 0.1)

    def test_a_file_that_is_written_over(self):
        """As torch.export.save() does it: the same file is made empty, then gets new bytes."""
        self.write(2 * MB)
        index = memoryview(bytearray(b"\1" + bytes(15))).cast("B").cast("q", [2])
        program = fnz.load(self.path)
        executable, copied = program.compile(threads=1), fnz.load(self.path, reading="copy")
        wanted = executable(index).tobytes()
        uses = {"call": lambda: executable(index), "another": lambda: executable.another()(index),
                "compile": program.compile, "run": lambda: program.run(index), "hash": program.hash,
                "write": lambda: program.write("cbor"), "pt2": lambda: program.functionalize().write("pt2"),
                "compare": lambda: program.diff(copied),
                "save": lambda: program.save(os.path.join(self._folder.name, "other.cbor"), external_weights=True)}
        for change in (lambda: os.truncate(self.path, 0), lambda: self.write(2 * MB)):
            change()
            for name, use in uses.items():
                with self.subTest(name), self.assertRaisesRegex(fnz.Error, "written over after it was loaded.*reading=") as it:
                    use()
                self.assertEqual((it.exception.status, it.exception.where), ("IO", self.path))
        self.assertIn("embedding", str(program))
        self.assertEqual(copied.compile(threads=1)(index).tobytes(), wanted)
        self.assertEqual(fnz.load(self.path).compile(threads=1)(index).tobytes(), wanted)

    def test_a_file_that_is_replaced(self):
        self.write(2 * MB)
        program = fnz.load(self.path)
        wanted = program.hash()
        os.rename(self.path, self.path + ".old")
        self.write(3 * MB)
        self.assertEqual(program.hash(), wanted)

    def test_descriptors_that_the_process_has_closed(self):
        """As daemons do. The number may be another file's by then, which stays open."""
        self.write(2 * MB)
        program = fnz.load(self.path)
        wanted = program.hash()
        number = next(int(one) for one in os.listdir("/proc/self/fd")
                      if os.path.realpath(f"/proc/self/fd/{one}") == os.path.realpath(self.path))
        os.close(number)
        self.assertEqual(program.hash(), wanted)
        other = os.open(os.devnull, os.O_RDONLY)
        self.addCleanup(os.close, other)
        self.assertEqual(other, number)
        self.assertEqual(program.hash(), wanted)
        del program
        gc.collect()
        os.fstat(other)

    def test_small_files_are_read(self):
        self.write(MB // 2)
        program = fnz.load(self.path)
        os.truncate(self.path, 0)
        self.assertEqual(len(program.hash()), 64)

    def test_processes_share_weights(self):
        self.write(WEIGHTS)
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
        children = [subprocess.Popen([sys.executable, "-c", CHILD, self.path], env=environment, text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(CHILDREN)]
        try:
            self.assertEqual([child.stdout.readline() for child in children], ["ready\n"] * CHILDREN)
            sizes = []
            for child in children:
                child.stdin.write("tell\n")
                child.stdin.flush()
                sizes.append([int(figure) * 1024 for figure in child.stdout.readline().split()])
        finally:
            for child in children:
                child.communicate("end\n")
        for resident, share in sizes:
            self.assertGreater(resident, WEIGHTS * 0.9)
            self.assertLess(share, WEIGHTS / CHILDREN * 1.2)


if __name__ == "__main__":
    unittest.main()
