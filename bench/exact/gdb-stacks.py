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
    """gdb knows nothing of code that V8 made: at run time, or when node was built (its builtins, which
    have no unwind tables, and which V8 maps a second time beside its other code). All of it keeps
    frame pointers."""

    def __init__(self):
        super().__init__("made at run time")
        self.ranges = []
        self.own = []
        self.is_builtin = {}

    def read(self, pid):
        self.ranges = []
        self.own = []
        program = os.readlink("/proc/%d/exe" % pid)
        with open("/proc/%d/maps" % pid) as maps:
            for line in maps:
                fields = line.split()
                limits = [int(end, 16) for end in fields[0].split("-")]
                if "x" in fields[1] and len(fields) == 5:
                    self.ranges.append(limits)
                elif "x" in fields[1] and fields[5] == program:
                    self.own.append(limits)

    def knows(self, pc):
        if any(start <= pc < end for start, end in self.ranges):
            return True
        if not any(start <= pc < end for start, end in self.own):
            return False
        if pc not in self.is_builtin:
            # The address before: behind a call that does not return another function begins.
            name = gdb.execute("info symbol %d" % (pc - 1), to_string=True)
            self.is_builtin[pc] = name.startswith(("Builtins_", "No symbol matches"))
        return self.is_builtin[pc]

    def __call__(self, frame):
        pc, sp, fp = (frame.read_register(name) for name in NAMES["x86_64"])
        if not self.knows(int(pc)):
            return None
        try:
            at, caller_fp = self.caller(int(pc), int(sp), int(fp), frame.level() == 0)
            saved = (word(at), at + 8, caller_fp)
        except gdb.MemoryError:
            return None
        unwound = frame.create_unwind_info(FrameId(gdb.Value(at + 8), pc))
        for name, value in zip(NAMES["x86_64"], saved):
            kind = frame.read_register(name).type
            unwound.add_saved_register(name, gdb.Value(value).cast(kind))
        return unwound

    @staticmethod
    def caller(pc, sp, fp, is_leaf):
        """Where the return address is, and the caller's frame pointer. Only a leaf can be about to
        make its frame (push %rbp; mov %rsp,%rbp), or have taken it down (ret)."""
        code = bytes(gdb.selected_inferior().read_memory(pc - 1, 4)) if is_leaf else b"    "
        if code[1] in (0x55, 0xC2, 0xC3):
            return sp, fp
        if code == b"\x55\x48\x89\xe5":
            return sp + 8, fp
        return fp + 8, word(fp)


def word(address):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, 8)), "little")


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
            # Behind the first function of Go's and of some other stacks: gdb calls that a frame, too.
            if frame is not None and frame.pc() == 0:
                break
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
