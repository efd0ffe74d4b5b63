"""Checks in a web page: the text of an answer goes in, JSON comes out. It runs in Pyodide, in a web worker.

>>> json.loads(check("softmax_vjp", "def softmax_vjp(p, dp):\n    return p\n"))
{'passed': False, 'report': '<div class="flashlearn">…', 'problem': '', 'printed': ''}
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import json
import linecache
import math
import os
import traceback

os.environ["FLASHLEARN_HOME"] = "/home/pyodide/.flashlearn"  # in memory: the page keeps what is to stay

import sympy as sp

import flashlearn
from flashlearn.course.check import check as checked
from flashlearn.lessons import all_exercises

all_exercises()  # imports them

_runs = itertools.count(1)


def check(name: str, text: str) -> str:
    """Run the answer's text as a cell, and check the function that it defines.

    `report` is a card in HTML. Where the text cannot be run or defines no such function, `problem` says why,
    and there is no report. `printed` is what the answer wrote.
    """
    file = f"<cell {next(_runs)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"__name__": "__main__", "flashlearn": flashlearn, "math": math, "sp": sp, "sympy": sp}
    passed, report, problem = False, "", ""
    written = io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(compile(text, file, "exec"), names)
        except BaseException as error:
            problem = _without_our_frames(error)
        else:
            if not callable(names.get(name)):
                problem = f"There is no function called {name} here: keep the name in the line with def."
            else:
                found = checked(name, names[name])
                passed = found.passed
                report = dataclasses.replace(found, follows="")._repr_html_()
    return json.dumps({"passed": passed, "report": report, "problem": problem, "printed": written.getvalue()})


def _without_our_frames(error: BaseException) -> str:
    """The error as Python prints it, from the cell's own lines on."""
    own = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, own)).strip()
