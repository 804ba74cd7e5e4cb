"""Threads in two interpreters of one process.

Prints "ready PID TID", and then the threads that wait: by what each of them is, its number, and by
which functions it came there, innermost first, as Python itself sees them. At each line on standard
input, each of them goes on a while, TIMES times, waits again at the same place, and "done" is
printed. Ends when standard input ends.
"""

import json
import os
import sys
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

TIMES = 20
HERE, ARRIVED = os.pipe()
NUMBERS = {}
PIPES = []

# What a thread runs in the other interpreter, with functions of its own.
INSIDE = """
import json, os, sys

def wait_inside():
    frame, found = sys._getframe(), []
    while frame:
        code = frame.f_code
        found.append(f"{getattr(code, 'co_qualname', code.co_name)} ({code.co_filename}:{code.co_firstlineno})")
        frame = frame.f_back
    os.write(told, json.dumps(found).encode())
    while True:
        os.write(arrived, b"x")
        os.read(pipe, 1)

def call_inside():
    wait_inside()

call_inside()
"""


def wait_here(pipe):
    while True:
        os.write(ARRIVED, b"x")
        os.read(pipe, 1)


def make_interpreter():
    # With the lock that all others have, where there is a choice.
    if hasattr(interpreters, "new_config"):
        return interpreters.create("legacy")
    return interpreters.create()


def run_inside(pipe):
    numbers = f"arrived, told, pipe = {ARRIVED}, {TOLD_TO}, {pipe}\n"
    interpreters.run_string(make_interpreter(), numbers + INSIDE)


def beside_idle(pipe):
    # There is a thread of CPython's for each now, and one of them runs nothing.
    IDLE.append(make_interpreter())
    wait_here(pipe)


def in_thread(way, pipe):
    NUMBERS[way.__name__] = threading.get_native_id()
    way(pipe)


def functions_of(frame):
    found = []
    while frame:
        code = frame.f_code
        # Code has no other name before 3.11.
        name = getattr(code, "co_qualname", code.co_name)
        found.append(f"{name} ({code.co_filename}:{code.co_firstlineno})")
        frame = frame.f_back
    return found


def stacks():
    idents = {thread.native_id: thread.ident for thread in threading.enumerate()}
    found = {}
    for name, tid in NUMBERS.items():
        frame = sys._current_frames()[idents[tid]]
        found[name] = {"tid": tid, "functions": functions_of(frame)}
    found["run_inside"]["functions"] = inside + found["run_inside"]["functions"]
    return found


IDLE = []
TOLD, TOLD_TO = os.pipe()
WAYS = [run_inside, beside_idle, wait_here]
for way in WAYS:
    read, written = os.pipe()
    PIPES.append(written)
    threading.Thread(target=in_thread, args=[way, read], daemon=True).start()
    os.read(HERE, 1)
inside = json.loads(os.read(TOLD, 1 << 16))
print(f"ready {os.getpid()} {threading.get_native_id()}", flush=True)
print(json.dumps(stacks()), flush=True)
for line in sys.stdin:
    for _ in range(TIMES):
        for pipe in PIPES:
            os.write(pipe, b"x")
        for _ in PIPES:
            os.read(HERE, 1)
        # Until they wait again.
        time.sleep(0.002)
    print("done", flush=True)
os._exit(0)
