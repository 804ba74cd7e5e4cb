"""One thread has the interpreter's lock (GIL) for long, another one wants it often.

Prints "ready PID TID": of the thread that has it. Runs until standard input ends.
"""

import os
import sys
import threading
import time

NUMBERS = list(range(1_000_000))


def keep_lock():
    while True:
        # In C, which gives the lock to nobody meanwhile.
        sum(NUMBERS)


def want_lock():
    while True:
        time.sleep(0.001)


keeper = threading.Thread(target=keep_lock, daemon=True)
keeper.start()
threading.Thread(target=want_lock, daemon=True).start()
print(f"ready {os.getpid()} {keeper.native_id}", flush=True)
sys.stdin.read()
