"""Python 3.11 that forges what tells of the functions of one of its threads.

Prints "ready PID TID"; told which forgery ("none" for none), it forges, prints "forged TID", and goes on
until standard input ends. The thread is called by `waits_outside`, and sleeps in `waits_inside`.
Where things are: CPython 3.11's Include/internal/pycore_frame.h, Include/cpython/pystate.h, code.h, unicodeobject.h.
"""

import ctypes
import os
import sys
import threading
import time

NAP_S = 0.002
THREADS = {}
KEPT = []


def word(address):
    return ctypes.c_uint64.from_address(address)


def waits_inside():
    while True:
        time.sleep(NAP_S)


def waits_outside():
    waits_inside()


def decoy():
    THREADS["decoy"] = thread_state()
    waits_outside()


def named():
    THREADS["named"] = threading.get_native_id()
    waits_outside()


def thread_state():
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    return get()


def start(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    # It never leaves waits_inside(), so nothing but tstrace reads the frames around that.
    while innermost(thread) is None:
        time.sleep(NAP_S)
    return innermost(thread)


def innermost(thread):
    """Its frame (_PyInterpreterFrame), once it is in waits_inside()."""
    frame = sys._current_frames().get(thread.ident)
    if frame is None or frame.f_code is not waits_inside.__code__:
        return None
    return word(id(frame) + 24).value


def copy_of(thing, size):
    copy = ctypes.create_string_buffer(ctypes.string_at(id(thing), size), size)
    KEPT.append(copy)
    return ctypes.addressof(copy)


def endless_name():
    """A code object like that of waits_outside(), with a name that has 2^60 characters."""
    name = ctypes.create_string_buffer(ctypes.string_at(id("a"), 48) + b"\x1b[2J;<b>" * 100_000)
    KEPT.append(name)
    word(ctypes.addressof(name) + 16).value = 1 << 60
    code = copy_of(waits_outside.__code__, sys.getsizeof(waits_outside.__code__))
    word(code + 128).value = ctypes.addressof(name)
    return code


def forge(what, inner):
    outer = word(inner + 48).value
    if what == "circle":
        word(outer + 48).value = inner
    elif what == "itself":
        word(outer + 48).value = outer
    elif what == "nowhere":
        word(outer + 32).value = 0xDEAD0000
    elif what == "frame-nowhere":
        word(inner + 48).value = 0x7FFF00000000
    elif what == "kernel":
        word(outer + 48).value = 0xFFFFFFFF81000000
    elif what == "name":
        word(outer + 32).value = endless_name()
    elif what == "threads":
        start(decoy)
        # The newest is the first in the list, and says that it is followed by itself.
        word(THREADS["decoy"] + 8).value = THREADS["decoy"]


print("ready", os.getpid(), os.getpid(), flush=True)
wanted = sys.stdin.readline().strip()
forge(wanted, start(named))
print("forged", THREADS["named"], flush=True)
# Whatever Python would tidy up may be forged.
sys.stdin.readline()
os._exit(0)
