"""one_thread.py FNZ - the command has not started a thread when it reads its input.

A library below it would start one for each processor before main; see cli/main.c."""
import os
import subprocess
import sys
import time

environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
command = subprocess.Popen([sys.argv[1], "show", "-"], stdin=subprocess.PIPE, env=environment,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def status():
    lines = open(f"/proc/{command.pid}/status").read().splitlines()
    return {key: value.split()[0] for key, value in (line.split(":", 1) for line in lines) if value.split()}


asleep = 0
for _ in range(600):
    asleep = asleep + 1 if status()["State"] == "S" else 0
    if asleep == 3:  # it waits for more than the disk
        break
    time.sleep(0.1)
threads = int(status()["Threads"])
command.stdin.close()
command.wait()
if threads != 1:
    sys.exit(f"{threads} threads are there before the input is read")
