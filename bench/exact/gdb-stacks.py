"""For gdb -x. For each line of standard input that is a process's number: attaches to it, and prints
each thread's number, its registers, and the addresses of its frames. The next line lets it go on."""

import os
import platform

import gdb
from gdb.unwinder import Unwinder

NAMES = {"x86_64": ("rip", "rsp", "rbp"), "aarch64": ("pc", "sp", "x29", "x30")}
MOST = 1000
# gdb adds them, of debug information: no return address is behind them.
INVENTED = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class MadeAtRunTime(Unwinder):
    """gdb knows nothing of code that no file is behind. Where its compiler keeps frame pointers, as
    V8 does, these lead on."""

    def __init__(self):
        super().__init__("made at run time")
        self.ranges = []

    def read(self, pid):
        self.ranges = []
        with open("/proc/%d/maps" % pid) as maps:
            for line in maps:
                fields = line.split()
                if "x" in fields[1] and len(fields) == 5:
                    self.ranges.append([int(end, 16) for end in fields[0].split("-")])

    def __call__(self, frame):
        pc, sp, fp = (frame.read_register(name) for name in NAMES["x86_64"])
        if not any(start <= int(pc) < end for start, end in self.ranges):
            return None
        words = fp.cast(gdb.lookup_type("unsigned long").pointer())
        unwound = frame.create_unwind_info(FrameId(fp + 16, pc))
        try:
            saved = (words[1], fp + 16, words[0])
            for name, value in zip(NAMES["x86_64"], saved):
                value.fetch_lazy()
                unwound.add_saved_register(name, value.cast(frame.read_register(name).type))
        except gdb.MemoryError:
            return None
        return unwound


def stack():
    frame = gdb.newest_frame()
    addresses = []
    while frame is not None and len(addresses) < MOST:
        if frame.type() not in INVENTED:
            # tstrace makes what a signal interrupted look like a return address.
            newer = frame.newer()
            exact = newer is not None and newer.type() == gdb.SIGTRAMP_FRAME
            addresses.append(frame.pc() + exact)
        try:
            frame = frame.older()
        except gdb.error:
            break
    return addresses


def hexadecimal(numbers):
    return " ".join("%x" % (int(number) & (2**64 - 1)) for number in numbers)


def print_threads():
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        newest = gdb.newest_frame()
        registers = [newest.read_register(name) for name in NAMES[platform.machine()]]
        print("THREAD", thread.ptid[1], "/", hexadecimal(registers), "/", hexadecimal(stack()))


def lines():
    """Of standard input, byte by byte: gdb must not find any of it read ahead."""
    line = b""
    while byte := os.read(0, 1):
        if byte == b"\n":
            yield line.decode()
            line = b""
        else:
            line += byte


made_at_run_time = None
if os.environ.get("FRAME_POINTERS"):
    made_at_run_time = MadeAtRunTime()
    gdb.unwinder.register_unwinder(None, made_at_run_time)

asked = lines()
for pid in asked:
    if made_at_run_time:
        made_at_run_time.read(int(pid))
    gdb.execute("attach " + pid, to_string=True)
    print_threads()
    print("HELD", flush=True)
    next(asked, None)
    gdb.execute("detach", to_string=True)
    print("RELEASED", flush=True)
