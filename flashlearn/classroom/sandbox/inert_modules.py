"""What stands in the child for everything that a submission may mention and must not have.

    >>> bring_in({"flashlearn.kernels.delta": "…its source…"})
    >>> from flashlearn.kernels.delta import delta_preprocess           # made of that source
    >>> from flashlearn.lessons.lesson_02_softmax import pictures       # a stand-in: it does nothing
    >>> pictures.draw(x).show()

The course's modules are not there to be read; where one is asked for, it is made of a source that came with
the submission, or stands in for itself and does nothing. So is what draws.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import linecache
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sympy.parsing import sympy_parser

DRAWS = frozenset({"matplotlib", "IPython", "ipywidgets", "seaborn", "plotly"})
COURSE = "flashlearn"
ASKS = ("check", "hint", "recall", "reset", "solution", "status", "trace")
"""What a cell calls to learn something; nobody is there to be told."""


DEEPEST = 8
EVALUATES = frozenset({
    "compile", "eval", "exec", "getattr", "globals", "lambdify", "open", "parse_expr", "setattr",
    "sympify", "vars",
})  # fmt: skip


class Inert:
    """Takes every call, every attribute and every item, and does nothing.

    Attributes of attributes come to an end: there are loops that follow them.
    """

    def __init__(self, deep: int = 0):
        self.__dict__["deep"] = deep

    def __call__(self, *_given: Any, **_named: Any) -> Inert:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.deep >= DEEPEST:
            raise AttributeError(name)
        return Inert(self.deep + 1)

    def __getitem__(self, _key: Any) -> Inert:
        return self

    def __setitem__(self, _key: Any, _value: Any) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "nothing: this does not run while your work is graded"


class InertModule(types.ModuleType):
    """A module whose every name is inert."""

    __path__: Sequence[str] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"{self.__name__}.{name}"
        if any(isinstance(one, Provided) and whole in one.sources for one in sys.meta_path):
            return importlib.import_module(whole)
        return Inert()


class Provided(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the course's modules among the sources that were provided, and stands in for the others."""

    def __init__(self, sources: Mapping[str, str]):
        self.sources = dict(sources)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """A module of the course, or one that draws; all others are not for this finder."""
        first = name.partition(".")[0]
        if first != COURSE and first not in DRAWS:
            return None
        is_package = name not in self.sources
        return importlib.machinery.ModuleSpec(name, self, origin=f"<{name}>", is_package=is_package)

    def create_module(self, spec: Any) -> types.ModuleType | None:
        """An ordinary module for what has a source."""
        return None if spec.name in self.sources else InertModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the source, where there is one."""
        source = self.sources.get(module.__name__)
        if source is None:
            return
        file = f"<{module.__name__}>"
        module.__file__ = str(
            Path(sys.modules[COURSE].__file__).parent.joinpath(*module.__name__.split(".")[1:])
        )
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        module.__dict__["__getattr__"] = _inert_name  # for what was cut out of it
        exec(compile(source, file, "exec"), module.__dict__)


def no_code_in_formulas() -> None:
    """Have sympy, which evaluates texts to make formulas of them, take nothing in them but a formula."""
    own = sympy_parser.eval_expr

    def evaluated(code: str, local_dict: Any, global_dict: Any) -> Any:
        for node in ast.walk(ast.parse(code, mode="eval")):
            name = getattr(node, "attr", getattr(node, "id", ""))
            if isinstance(node, ast.Lambda | ast.NamedExpr) or name.startswith("_") or name in EVALUATES:
                raise ValueError("this text is more than a formula")
        return own(code, local_dict, global_dict)

    sympy_parser.eval_expr = evaluated


def _inert_name(name: str) -> Inert:
    if name.startswith("__"):
        raise AttributeError(name)
    return Inert()


def bring_in(sources: Mapping[str, str]) -> None:
    """From here on imports of the course's modules find these sources, or what is inert."""
    sys.meta_path.insert(0, Provided(sources))
    course = sys.modules[COURSE]
    nothing = Inert()
    for name in ASKS:
        setattr(course, name, nothing)
    course.use = lambda _name, function: function
    course.DEVICE = "cpu"
