"""Python whose functions say in their names what they are.

Prints "ready PID TID"; runs, then waits, again and again, until standard input ends. Told "stacks",
it prints which functions each of its threads runs, as Python itself sees them.
"""

import ctypes
import json
import os
import sys
import threading
import time

LOCK = threading.Lock()
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
LIBC = ctypes.CDLL(None)


class Chain:
    def run_method(self):
        return self.run_in_sort()

    def run_in_sort(self):
        return sorted([1], key=self.run_key)

    @staticmethod
    def run_key(_):
        return run_generator()


def run_generator():
    return sum(generate())


def generate():
    yield from generate_inner()


def generate_inner():
    yield burn_inside()


def burn_inside():
    end = time.perf_counter() + 0.01
    total = 0
    while time.perf_counter() < end:
        for i in range(500):
            total += i * i
    return total


def call_through_c():
    numbers = (ctypes.c_int * 2)(2, 1)
    LIBC.qsort(numbers, 2, 4, COMPARE(compare_in_c))


def compare_in_c(left, right):
    burn_inside()
    return left[0] - right[0]


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    return burn_inside()


def wait_here():
    time.sleep(0.015)


def sleep_forever():
    wait_at_end()


def wait_at_end():
    time.sleep(100_000)


def wait_for_lock():
    with LOCK:
        pass


def größe():
    burn_inside()


def turn():
    Chain().run_method()
    call_through_c()
    recurse(20)
    größe()
    wait_here()


def turn_forever():
    while True:
        turn()


def functions_of(frame):
    found = []
    while frame:
        code = frame.f_code
        # Code has no other name before 3.11.
        name = getattr(code, "co_qualname", code.co_name)
        found.append(f"{name} ({code.co_filename}:{code.co_firstlineno})")
        frame = frame.f_back
    return found


def tell_stacks():
    for thread in threading.enumerate():
        frame = sys._current_frames()[thread.ident]
        print(json.dumps([thread.native_id, *functions_of(frame)]), flush=True)


LOCK.acquire()
for work in (turn_forever, sleep_forever, wait_for_lock):
    threading.Thread(target=work, name=work.__name__, daemon=True).start()
print(f"ready {os.getpid()} {threading.get_native_id()}", flush=True)
for line in sys.stdin:
    if line.strip() == "stacks":
        tell_stacks()
