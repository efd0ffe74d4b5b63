"""Answers as learners hand them in, labelled by hand: what the grader's diagnosis is measured with.

Every wrong entry carries what a good teacher would say, and the names of findings that would say it.
Right entries are written in unusual styles. Modules `tests/lessons/*/answers/*.py` hold both; nothing is
imported before `wrong_entries()` or `right_entries()` asks for it.

    >>> @wrong("row_sum", "Lanes beyond the row are added too.", "no mask", "out_of_bounds")
    ... def everything_at_once(x): ...

Several wrong answers may share a right one that differs by a line: `written` turns the text of a module
section into its launcher, `edited` does the same after replacing lines.

    >>> LOOP = '''
    ... @triton.jit
    ... def loop_kernel(x_ptr, n, BLOCK: tl.constexpr): ...
    ...
    ... def launcher(x): ...
    ... '''
    >>> right("row_sum", "a loop over the columns")(written(LOOP))
    >>> wrong("row_sum", "The last block is left out.", "last tile missing")(
    ...     edited(LOOP, ("tl.cdiv(n, BLOCK)", "n // BLOCK"))
    ... )

`python -m tests.corpus` checks all entries and prints what the grader said of them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import linecache
import textwrap
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashlearn.interpreter.gluon import sync_sentences

TESTS = Path(__file__).parents[1]

STATUS_NAMES = frozenset({"out_of_bounds", "race", "not_yours", "crashed", "timeout"})

VAGUE_NAMES = frozenset(
    {
        "some rows",
        "not finite",
        "some programs",
        "some heads",
        "ragged tail",
        "diagonal tiles",
        "shape",
        "explained",
        "first divergence",
    }
)
"""Findings that say where or what was observed; as a diagnosis they count only where an entry lists them."""

GENERIC_NAMES = (
    STATUS_NAMES
    | VAGUE_NAMES
    | frozenset(
        {
            # of the launcher
            "launcher",
            "changed input",
            "returned input",
            "stale answer",
            "outputs exchanged",
            # of memory
            "never written",
            "masked load without other",
            "uninitialised memory",
            "written twice",
            "changes from run to run",
            # of the values
            "inf minus inf",
            "zero over zero",
            "overflow",
            "sign",
            "zero everywhere",
            "nothing launched",
            "constant factor",
            "added constant",
            "transposed",
            "stored with other strides",
            "permuted heads",
            "shifted",
            "precision",
            "rows do not sum to 1",
            # of the place
            "leak from the future",
            "first tile missing",
            "last tile missing",
            "not rescaled",
            # of symbolic answers
            "swapped",
            "arguments exchanged",
            "wrong type",
            "wrong shape",
            "unevaluated",
            "unknown symbol",
            "undefined",
            "zero",
            "factor",
            "index range",
            "constant offset",
            "missing diagonal",
            "missing off-diagonal",
            "transposed and sign",
            # of what was read, and kept
            "never read",
            "only the first tile",
            "only the last tile",
            "tiles counted twice",
            "kept between calls",
            # births of a NaN or an infinity
            "inf over inf",
            "zero times inf",
            "division by zero",
            "outside the domain",
            "log of zero",
            "review",
            # a change that was tried, and mends everything
            "one edit",
        }
    )
)
"""What the grader may name besides an exercise's declared mistakes; "A + B" combines any two."""

WANTED_NAMES = frozenset({"state not reset", "LSE of empty rows is 0", "the change of unit is upside down"})
"""What a teacher would call some mistakes of the corpus, and neither an exercise nor a rule does yet."""

GENERIC_NAMES |= WANTED_NAMES | frozenset(sync_sentences.KINDS)  # faults of time, in Gluon kernels

PREAMBLE = (
    "import math\nimport numpy as np\nimport sympy as sp\nimport torch\nimport triton\n"
    "import triton.language as tl\nfrom triton.tools.tensor_descriptor import TensorDescriptor\n"
)
"""What every written section finds imported."""


@dataclass(frozen=True)
class Entry:
    """One answer to an exercise.

    `says` is what a teacher would say of a wrong answer, or the style of a right one; `names` are the
    findings that would say it (none: the answer is right).
    """

    exercise: str
    title: str
    function: Callable[..., Any]
    says: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.exercise}: {self.title}"

    def accepts(self, names: Iterable[str]) -> bool:
        """Whether a finding's `names` are one of the label's, or a combination that adds others of them.

        The order of a combination does not matter.
        """
        found, listed = frozenset(names), [parts(known) for known in self.names]
        return any(one <= found for one in listed) and found <= frozenset().union(*listed)


def parts(name: str) -> frozenset[str]:
    """The names of a combination as a label writes it: "A + B" → {A, B}."""
    name = name.replace("LSE is m + l", "LSE is m, plus l")  # one name, which has a plus of its own
    return frozenset(part.strip().replace(", plus ", " + ") for part in name.split(" + "))


_wrong: list[Entry] = []
_right: list[Entry] = []


def wrong(exercise: str, says: str, *names: str, title: str = "") -> Callable[[Callable], Callable]:
    """Register the decorated launcher as a wrong answer. Raises ValueError without a sentence and a name."""
    if not says or not names:
        raise ValueError(f"{exercise}: a wrong answer needs a sentence and the names that would say it")

    def keep(function: Callable) -> Callable:
        if not _loaded:  # afterwards it is an edited text of the same answer that is run
            _wrong.append(Entry(exercise, title or _title(function), function, says, names))
        return function

    return keep


def right(exercise: str, style: str, *, title: str = "") -> Callable[[Callable], Callable]:
    """Register the decorated launcher as a right answer in an unusual style."""

    def keep(function: Callable) -> Callable:
        if not _loaded:
            _right.append(Entry(exercise, title or style, function, style))
        return function

    return keep


def _title(function: Callable) -> str:
    return getattr(function, "corpus_title", function.__name__.replace("_", " "))


_numbers = itertools.count(1)


def written(source: str, launcher: str = "", *, title: str = "", context: dict | None = None) -> Callable:
    """The launcher of a module section given as text: the last plain function it defines, or `launcher`.

    The text is registered with linecache, so that triton and tracebacks find its lines. `context` holds
    further names that the text uses. Raises ValueError if there is no launcher.
    """
    filename = f"<corpus {next(_numbers)}>"
    text = PREAMBLE + source.strip("\n") + "\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module = types.ModuleType(f"corpus_{filename[8:-1]}")
    module.__file__ = filename
    namespace = module.__dict__
    namespace.update(context or {})
    exec(compile(text, filename, "exec"), namespace)
    names = [launcher] if launcher else [n for n in reversed(_functions(text)) if _is_plain(namespace.get(n))]
    if not names or names[0] not in namespace:
        raise ValueError(f"no launcher {launcher} in\n{source}")
    function = namespace[names[0]]
    if title:
        function.corpus_title = title
    return function


def _functions(text: str) -> list[str]:
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def _is_plain(value: Any) -> bool:
    return isinstance(value, types.FunctionType)


def edited(base: str | Callable, *changes: tuple[str, str], title: str = "", launcher: str = "") -> Callable:
    """A new launcher: `base` with each (old, new) replaced once.

    `base` is the text of a module section (as for `written`) or a right launcher of a module, which is
    taken with the functions and kernels that it uses. Raises ValueError if an `old` does not occur exactly
    once.
    """
    context: dict[str, Any] = {}
    if not isinstance(base, str):
        launcher = launcher or base.__name__
        base, context = section_of(base)
    text = base
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times, not once, in\n{text}")
        text = text.replace(old, new)
    name = title or " / ".join(
        " ".join(new.split()) or f"without {' '.join(old.split())}" for old, new in changes
    )
    return written(text, launcher, title=name, context=context)


def section_of(function: Callable) -> tuple[str, dict[str, Any]]:
    """The text of a function and of the functions and kernels of its module that it uses, and its globals."""
    namespace = dict(function.__globals__)
    pieces: dict[int, str] = {}
    _collect(function, namespace, pieces)
    unregistered = {"right": _unregistered, "wrong": _unregistered}
    return "\n\n".join(text for _, text in sorted(pieces.items())), namespace | unregistered


def _unregistered(*_: Any, **__: Any) -> Callable:
    return lambda function: function


def _collect(function: Any, namespace: dict[str, Any], pieces: dict[int, str]) -> None:
    while not _is_plain(function):  # a JITFunction, or an autotuner or heuristics around one
        function = function.fn
    line = function.__code__.co_firstlineno
    if line in pieces:
        return
    pieces[line] = textwrap.dedent(inspect.getsource(function)) + "\n"
    for name in _names(function.__code__):
        used = namespace.get(name)
        if _is_plain(used) or hasattr(used, "fn"):
            inner = used
            while not _is_plain(inner) and hasattr(inner, "fn"):
                inner = inner.fn
            if _is_plain(inner) and inner.__module__ == namespace.get("__name__"):
                _collect(inner, namespace, pieces)


def _names(code: types.CodeType) -> list[str]:
    inner = [name for c in code.co_consts if isinstance(c, types.CodeType) for name in _names(c)]
    return [*code.co_names, *inner]


_loaded = False


def _load() -> None:
    global _loaded
    if _loaded:
        return
    importlib.import_module("flashlearn")  # before triton: routes launches to the observed interpreter
    for path in sorted(TESTS.glob("lessons/lesson_*/answers/*.py")):
        importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))
    _loaded = True


def wrong_entries() -> tuple[Entry, ...]:
    """All wrong answers, in the order of the modules and of their declaration."""
    _load()
    return tuple(_wrong)


def right_entries() -> tuple[Entry, ...]:
    """All right answers."""
    _load()
    return tuple(_right)


def function_of(number: int) -> Callable[..., Any]:
    """The function of an entry by its number, wrong ones first: for a process that has only the number."""
    return (*wrong_entries(), *right_entries())[number].function
