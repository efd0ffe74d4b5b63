"""Inert stand-ins in the child for everything that a submission may mention and must not have.

    >>> install_sources({"flashlearn.kernels.delta": "…its source…"})
    >>> from flashlearn.kernels.delta import delta_preprocess           # made of that source
    >>> from flashlearn.lessons.lesson_02_softmax import pictures       # a stand-in: it does nothing
    >>> pictures.draw(x).show()

The course's modules cannot be read in the sandbox; an import of one gets a module made of a source that came
with the submission, or an inert module. Plotting libraries are inert too.
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

PLOTTING = frozenset({"matplotlib", "IPython", "ipywidgets", "seaborn", "plotly"})
COURSE = "flashlearn"
ASKS = ("check", "hint", "recall", "reset", "solution", "status", "trace")
"""What a cell calls to show something; in the child nothing is shown."""


DEEPEST = 8
EVALUATES = frozenset({
    "compile", "eval", "exec", "getattr", "globals", "lambdify", "open", "parse_expr", "setattr",
    "sympify", "vars",
})  # fmt: skip


class Inert:
    """Accepts every call, attribute and item, and does nothing.

    Attributes of attributes have a limited depth: there are loops that follow them.
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
    """A module in which every name is inert."""

    __path__: Sequence[str] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"{self.__name__}.{name}"
        if any(isinstance(one, ProvidedModules) and whole in one.sources for one in sys.meta_path):
            return importlib.import_module(whole)
        return Inert()


class ProvidedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the course's modules among the provided sources, and makes the others inert."""

    def __init__(self, sources: Mapping[str, str]):
        self.sources = dict(sources)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """A module of the course, or one that plots; others are left to the next finder."""
        first = name.partition(".")[0]
        if first != COURSE and first not in PLOTTING:
            return None
        is_package = name not in self.sources
        return importlib.machinery.ModuleSpec(name, self, origin=f"<{name}>", is_package=is_package)

    def create_module(self, spec: Any) -> types.ModuleType | None:
        """An ordinary module if there is a source."""
        return None if spec.name in self.sources else InertModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the source, if there is one."""
        source = self.sources.get(module.__name__)
        if source is None:
            return
        file = f"<{module.__name__}>"
        module.__file__ = str(
            Path(sys.modules[COURSE].__file__).parent.joinpath(*module.__name__.split(".")[1:])
        )
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        module.__dict__["__getattr__"] = _inert_name  # for names that were cut out
        exec(compile(source, file, "exec"), module.__dict__)


def no_code_in_formulas() -> None:
    """Have sympy, which evaluates texts as Python, accept nothing but formulas in them."""
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


def install_sources(sources: Mapping[str, str]) -> None:
    """From here on imports of the course's modules find these sources, or inert modules."""
    sys.meta_path.insert(0, ProvidedModules(sources))
    course = sys.modules[COURSE]
    nothing = Inert()
    for name in ASKS:
        setattr(course, name, nothing)
    course.use = lambda _name, function: function
    course.DEVICE = "cpu"
