"""asyncio: coroutines that compute, each reached in another way, while others wait.

Prints "ready PID TID" and runs until standard input ends. Then it prints by which functions each way
led to `burn_inside`, as Python itself sees them there, innermost first.
"""

import asyncio
import contextlib
import json
import os
import sys
import threading
import time

WAYS = {}
BURN_S = 0.01
has_ended = False


def functions_of(frame):
    found = []
    while frame:
        code = frame.f_code
        # Code has no other name before 3.11.
        name = getattr(code, "co_qualname", code.co_name)
        found.append(f"{name} ({code.co_filename}:{code.co_firstlineno})")
        frame = frame.f_back
    return found


def burn_inside(way):
    if way not in WAYS:
        WAYS[way] = functions_of(sys._getframe())
    end = time.thread_time() + BURN_S
    total = 0
    while time.thread_time() < end:
        for i in range(500):
            total += i * i
    return total


class Service:
    async def __aenter__(self):
        await self.connect()

    async def __aexit__(self, *_):
        pass

    async def connect(self):
        await asyncio.sleep(0.001)
        burn_inside("context")


async def awaited(depth):
    if depth:
        return await awaited(depth - 1)
    await asyncio.sleep(0.001)
    burn_inside("awaited")


async def generate():
    yield burn_inside("generator")


async def task():
    await asyncio.sleep(0.001)
    burn_inside("task")


async def limited():
    burn_inside("limited")


def called():
    burn_inside("called")


def in_pool():
    burn_inside("pool")


async def turn():
    asyncio.get_running_loop().call_soon(called)
    await awaited(3)
    async for _ in generate():
        pass
    async with Service():
        pass
    await asyncio.gather(task(), task())
    await asyncio.wait_for(limited(), 100_000)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.sleep(100_000), 0.005)
    await asyncio.get_running_loop().run_in_executor(None, in_pool)


async def turn_forever():
    while not has_ended:
        await turn()


def run_loop():
    asyncio.run(turn_forever())


loop = threading.Thread(target=run_loop)
loop.start()
print(f"ready {os.getpid()} {loop.native_id}", flush=True)
sys.stdin.read()
has_ended = True
loop.join()
print(json.dumps(WAYS), flush=True)
