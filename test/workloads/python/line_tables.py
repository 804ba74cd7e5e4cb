"""What CPython itself says of lines, of all code of these files.

Prints a line for each code object, as JSON: its name, its first line, its table of lines, and the
lines of its instructions, from the first on: how many are of the same one, and which; null: of none.
"""

import ctypes
import json
import sys

LINE_OF = ctypes.pythonapi.PyCode_Addr2Line
LINE_OF.argtypes = [ctypes.py_object, ctypes.c_int]


def code_in(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from code_in(constant)


def told(code):
    table = code.co_lnotab if sys.version_info < (3, 10) else code.co_linetable
    runs = []
    for offset in range(0, len(code.co_code), 2):
        line = LINE_OF(code, offset)
        line = None if line == -1 else line
        if runs and runs[-1][1] == line:
            runs[-1][0] += 1
        else:
            runs.append([1, line])
    name = getattr(code, "co_qualname", code.co_name)
    return {"name": name, "first": code.co_firstlineno, "table": table.hex(), "runs": runs}


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for code in code_in(compile(file.read(), path, "exec")):
            print(json.dumps(told(code)))
