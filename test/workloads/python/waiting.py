"""Threads that wait, each in another way to get there. Nothing runs unless it is told to.

Prints "ready PID TID". Told "stacks", it prints what faulthandler says of all its threads, and the
numbers of those that wait, by their names. Told "wake", it has each of them go on a while, and wait
again at the same place. Ends when standard input ends.
"""

import asyncio
import concurrent.futures
import contextlib
import ctypes
import faulthandler
import functools
import json
import os
import re
import sys
import tempfile
import threading
import time

HERE, ARRIVED = os.pipe()
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
LIBC = ctypes.CDLL(None)
NUMBERS = {}
TIMES = 20


def wait_here(pipe):
    while True:
        os.write(ARRIVED, b"x")
        os.read(pipe, 1)


def decorated(function):
    @functools.wraps(function)
    def around(*args):
        return function(*args)

    return around


class Way:
    def __init__(self, pipe):
        self.enter(pipe)

    @decorated
    def enter(self, pipe):
        with self.context(pipe):
            pass

    @contextlib.contextmanager
    def context(self, pipe):
        yield (lambda: wait_here(pipe))()

    def __getattr__(self, name):
        return wait_here(int(name))


def by_generators(pipe):
    def inner():
        yield wait_here(pipe)

    def outer():
        yield from inner()

    next(outer())


def by_functions_of_c(pipe):
    def replaced(_):
        return functools.reduce(reduced, [1, 2])

    def reduced(_, number):
        return sorted([number], key=sorting)

    def sorting(_):
        return list(map(mapping, [1]))

    def mapping(_):
        return getattr(object.__new__(Way), str(pipe))

    re.sub("a", replaced, "a")


def by_ctypes(pipe):
    def compare(_left, _right):
        wait_here(pipe)
        return 0

    LIBC.qsort((ctypes.c_int * 2)(2, 1), 2, 4, COMPARE(compare))


def by_recursion(pipe, depth=25):
    return by_recursion(pipe, depth - 1) if depth else wait_here(pipe)


def by_lines(pipe, depth=6):
    if not depth:
        return wait_here(
            pipe,
        )
    if depth % 3:
        return by_lines(pipe, depth - 1)
    return [
        by_lines(
            pipe,
            depth=depth - 1,
        )
        for _ in range(1)
    ]


def by_classes(pipe):
    class Outer:
        class Inner:
            wait_here(pipe)


def by_code(pipe):
    exec("class Executed:\n    [wait_here(each) for each in pipes]", {**globals(), "pipes": [pipe]})


def by_coroutines(pipe):
    async def outer():
        async with context():
            pass

    @contextlib.asynccontextmanager
    async def context():
        async for each in generate():
            yield each

    async def generate():
        yield await asyncio.wait_for(inner(), 100_000)

    async def inner():
        await asyncio.sleep(0)
        wait_here(pipe)

    asyncio.run(outer())


def by_callbacks(pipe):
    async def main():
        asyncio.get_running_loop().call_soon(wait_here, pipe)
        await asyncio.sleep(100_000)

    asyncio.run(main())


def by_executor(pipe):
    async def main():
        loop = asyncio.get_running_loop()
        with concurrent.futures.ThreadPoolExecutor(initializer=named, initargs=["executor"]) as pool:
            await loop.run_in_executor(pool, wait_here, pipe)

    asyncio.run(main())


def sleep_in_loop(pipe):
    async def main():
        os.write(ARRIVED, b"x")
        await asyncio.gather(asyncio.sleep(100_000), asyncio.sleep(200_000))

    asyncio.run(main())


def wait_for_event(pipe):
    os.write(ARRIVED, b"x")
    threading.Event().wait()


def named(name):
    NUMBERS[name] = threading.get_native_id()


def in_thread(way, pipe):
    named(way.__name__)
    way(pipe)


WAYS = [
    *(Way, by_generators, by_functions_of_c, by_ctypes, by_recursion, by_lines),
    *(by_classes, by_code),
    *(by_coroutines, by_callbacks, by_executor, sleep_in_loop, wait_for_event),
]
PIPES = []


def wait_for_all(number):
    for _ in range(number):
        os.read(HERE, 1)


def wake():
    for _ in range(TIMES):
        for pipe in PIPES[:-2]:
            os.write(pipe, b"x")
        wait_for_all(len(PIPES) - 2)
        # Until they wait again.
        time.sleep(0.002)


def tell_stacks():
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        threads = {thread.native_id: thread.ident for thread in threading.enumerate()}
        numbers = {name: [tid, threads[tid]] for name, tid in NUMBERS.items()}
        print(json.dumps({"numbers": numbers, "told": file.read()}), flush=True)


for way in WAYS:
    read, written = os.pipe()
    PIPES.append(written)
    threading.Thread(target=in_thread, args=[way, read], daemon=True).start()
wait_for_all(len(WAYS))
print(f"ready {os.getpid()} {threading.get_native_id()}", flush=True)
for line in sys.stdin:
    if line.strip() == "wake":
        wake()
    tell_stacks()
os._exit(0)
