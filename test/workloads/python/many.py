"""Very many functions, each of which waits as often as its number says.

usage: many.py FILE

FILE has a list `functions` of functions that call what they are given, or wait (many() of
test/live/many.ts). Prints "ready PID TID" and begins at the first byte on standard input. Each
function calls the one that is half the list further, which waits, once to three times.
Then prints "done", and ends at the next byte.
"""
import builtins
import os
import sys
import time

WAIT_S = 0.0001


def wait_briefly():
    time.sleep(WAIT_S)


builtins.wait_briefly = wait_briefly
names = {}
with open(sys.argv[1]) as source:
    exec(compile(source.read(), sys.argv[1], "exec"), names)
functions = names["functions"]
print("ready", os.getpid(), os.getpid(), flush=True)
os.read(0, 1)
for i, outer in enumerate(functions):
    inner = functions[(i + len(functions) // 2) % len(functions)]
    for _ in range(i % 3 + 1):
        outer(inner)
print("done", flush=True)
os.read(0, 1)
