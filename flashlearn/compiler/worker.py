"""The process that compiles: reads a job from stdin, writes one line of JSON per target.

Run as a script, not as a module, so that it imports triton and nothing else: no torch, no flashlearn.
Whatever the compiler prints, and whatever kills it, stays in here.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import json
import linecache
import operator
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = ("wgmma.", "mma.sync", "cp.async.bulk.tensor", "setmaxnreg")  # instructions that tell something
WGMMA = re.compile(r"wgmma\.mma_async\S*?\.m\d+n\d+k\d+\.\w+\.(\w+)\.(\w+)")
"""The types of what is multiplied (PTX ISA, "wgmma.mma_async")."""

PLENTY = 96 * 1024  # bytes of shared memory that every GPU of the course has


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    log = tempfile.TemporaryFile()  # noqa: SIM115
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    job = json.load(sys.stdin)
    _limit(job["timeout"], job["wall"])
    _settle_cache()
    _name(job["renamed"])
    made = Shipment(job["functions"], job.get("aggregates", ()))
    for target in job["targets"]:
        started = time.perf_counter()
        at = log.seek(0, os.SEEK_END)
        try:
            answer = _compile(made, job, target)
        except Exception as error:
            log.seek(at)
            answer = _describe(error, made.first_lines(), log.read(200_000).decode(errors="replace"))
        answer |= {"target": target, "seconds": time.perf_counter() - started}
        print(json.dumps(answer), file=answers, flush=True)


def _limit(seconds: float, wall: float) -> None:
    """Die at the time limit even if no parent is left to enforce it; ptxas inherits the CPU limit."""
    signal.alarm(int(wall) + 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 2, int(seconds) + 4))


def _settle_cache() -> None:
    """Share triton's usual cache, so that a kernel seen before is read, not compiled; else a private one."""
    from triton import knobs

    try:
        os.makedirs(knobs.cache.dir, exist_ok=True)
        writable = os.access(knobs.cache.dir, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()


def _name(renamed: Sequence[Sequence[str]]) -> None:
    """Give what a newer triton renamed its older names: see `flashlearn.interpreter.newer_triton`."""
    for module, kind, older, newer in renamed:
        owner = importlib.import_module(module)
        owner = getattr(owner, kind) if kind else owner
        if hasattr(owner, newer):
            setattr(owner, older, getattr(owner, newer))


class Shipment(dict):
    """The shipped functions by index, each made when it is first asked for: a default may name another.

    `runs` says whether kernels' bodies run in Python, `file` what their text is called in tracebacks.
    """

    runs, file = False, "<shipped {}>"

    def __init__(self, packed: list[dict[str, Any]], aggregates: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__()
        self.packed = packed
        self.aggregates = aggregates
        self.classes: dict[int, Any] = {}
        for index, function in enumerate(packed):
            names = {name: unpack(value, self) for name, value in function["names"].items()}
            inspect.unwrap(getattr(self[index], "fn", self[index])).__globals__.update(names)

    def __missing__(self, index: int) -> Any:
        self[index] = _function(index, self.packed[index], self)
        return self[index]

    def aggregate(self, index: int) -> Any:
        """A class of values that travel together, made anew."""
        if index not in self.classes:
            from triton.language import core

            packed = self.aggregates[index]
            members = {name: self[number] for name, number in packed["members"].items()}
            init = self[packed["init"]]
            fields = {name: unpack(what, self) for name, what in packed["fields"].items()}
            written = {"__init__": init, "__annotations__": fields, "__module__": "learner", **members}
            self.classes[index] = core._aggregate(type(packed["name"], (), written))
        return self.classes[index]

    def first_lines(self) -> dict[str, tuple[int, int]]:
        """For each function's text, as triton holds it, its index and the learner's number of its `def`."""
        return {
            self[index].src: (index, function["line"] + _lines_before_def(function["source"]))
            for index, function in enumerate(self.packed)
            if hasattr(self[index], "src")
        }


def _function(index: int, packed: dict[str, Any], made: Shipment) -> Any:
    """A jitted function from text. Where no kernel's body runs in Python, a stand-in has its signature."""
    import triton
    from triton.runtime import jit

    tree = ast.parse(textwrap.dedent(packed["source"]))
    node = tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list, node.returns = [], None
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
    if packed["kind"] in ("jit", "gluon") and not made.runs:
        node.body = [ast.Pass()]
    file = made.file.format(index)
    scope: dict[str, Any] = {"__name__": "learner"}
    exec(compile(ast.fix_missing_locations(tree), file, "exec"), scope)
    fn = scope[node.name]
    fn.__code__ = fn.__code__.replace(co_firstlineno=packed["line"])
    fn.__annotations__ = {p["name"]: p["annotation"] for p in packed["parameters"] if p["annotation"]}
    defaults = {p["name"]: unpack(p["default"], made) for p in packed["parameters"] if "default" in p}
    by_keyword = {argument.arg for argument in node.args.kwonlyargs}
    fn.__defaults__ = tuple(value for name, value in defaults.items() if name not in by_keyword)
    fn.__kwdefaults__ = {name: value for name, value in defaults.items() if name in by_keyword}
    text = ["\n"] * (packed["line"] - 1) + packed["source"].splitlines(keepends=True)
    linecache.cache[file] = (1, None, text, file)
    if packed["kind"] == "plain":
        return fn
    if packed["kind"] == "builtin":
        from triton.experimental.gluon.language._core import builtin

        return builtin(fn)
    if packed["kind"] == "constexpr":
        return jit.ConstexprFunction(fn)
    kind = triton.JITFunction
    if packed["kind"] == "gluon":
        from triton.experimental.gluon._runtime import GluonJITFunction as kind
    return kind(fn, noinline=packed["noinline"] or None)


def _lines_before_def(source: str) -> int:
    """How many lines of decorators stand above the line with `def`."""
    found = re.search(r"^\s*def\s", source, re.MULTILINE)
    return source[: found.end()].count("\n") if found else 0


def _module(name: str) -> Any:
    """A module by name; one that is made by a library in C is found in its parent."""
    try:
        return importlib.import_module(name)
    except ImportError:
        parent, _, leaf = name.rpartition(".")
        return getattr(_module(parent), leaf)


def unpack(value: Any, made: Shipment) -> Any:
    """A value as it was before it was packed."""
    from triton import language as tl

    if not isinstance(value, dict):
        return value
    ((kind, what),) = value.items()
    if kind == "constexpr":
        return tl.constexpr(unpack(what, made))
    if kind == "dtype":
        return tl.dtype(what)
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](unpack(item, made) for item in what)
    if kind == "record":
        home, name, fields = what
        given = {field: unpack(part, made) for field, part in fields.items()}
        return getattr(importlib.import_module(home), name)(**given)
    if kind == "aggregate":
        return made.aggregate(what)
    if kind == "union":
        return functools.reduce(operator.or_, (unpack(part, made) for part in what))
    if kind == "module":
        return _module(what)
    if kind == "member":
        return getattr(importlib.import_module(what[0]), what[1])
    return made[what]


def _compile(made: Shipment, job: dict[str, Any], target: int) -> dict[str, Any]:
    """Compile for one target and read off what the kernel needs there."""
    import triton
    from triton.backends.compiler import BaseBackend, GPUTarget
    from triton.compiler import ASTSource

    kernel = made[job["kernel"]]
    constexprs = {name: unpack(value, made) for name, value in job["constexprs"].items()}
    signature, attributes = {}, {}
    for index, name in enumerate(kernel.arg_names):
        signature[name] = "constexpr" if name in constexprs else job["signature"][name]
        if name in job["divisible"] and name not in constexprs:
            attributes[(index,)] = BaseBackend.parse_attr("D")
    constants = {(kernel.arg_names.index(k),): v for k, v in constexprs.items()}
    for name, parts in job.get("tuples", {}).items():
        index = kernel.arg_names.index(name)
        signature[name] = _types(parts["types"])
        constants |= {(index, *path): unpack(value, made) for path, value in parts["constants"]}
        attributes |= {(index, *path): BaseBackend.parse_attr("D") for path in parts["divisible"]}
    if job.get("gluon"):
        from triton.experimental.gluon._runtime import GluonASTSource as ASTSource
    source = ASTSource(kernel, signature, constants, attributes)
    compiled = triton.compile(source, target=GPUTarget("cuda", target, 32), options=dict(job["options"]))
    usage = _usage(compiled.asm["cubin"])
    scarce = compiled.metadata.shared > PLENTY or re.search(r"\bREG:255|\bSTACK:[1-9]", usage)
    return {
        "shared": compiled.metadata.shared,
        "warps": compiled.metadata.num_warps,
        "ttgir": compiled.asm["ttgir"] if scarce else "",
        "operands": sorted({kind for pair in WGMMA.findall(compiled.asm["ptx"]) for kind in pair}),
        "ptx": [
            word
            for word in ("wgmma.", "mma.sync", "cp.async.bulk.tensor", "setmaxnreg")
            if word in compiled.asm["ptx"]
        ],
        "usage": usage,
    }


def _types(kinds: Any) -> Any:
    """The types inside a tuple, which JSON has made a list."""
    return tuple(map(_types, kinds)) if isinstance(kinds, list) else kinds


def _usage(cubin: bytes) -> str:
    """The compiler wheel's own disassembler on registers and stack, such as «REG:222 STACK:272 …»."""
    import triton.backends.nvidia

    tool = Path(triton.backends.nvidia.__file__).parent / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run(
            [tool, "--dump-resource-usage", file.name], capture_output=True, text=True, check=True
        ).stdout


def _describe(error: BaseException, known: dict[str, tuple[int, int]], log: str) -> dict[str, Any]:
    """The innermost message, and the innermost line that is the learner's and not the library's."""
    from triton.compiler.errors import CompilationError

    answer = {
        "error": type(error).__name__,
        "message": str(error),
        "log": log,
        "function": None,
        "line": None,
    }
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, CompilationError):
            if link.error_message:
                answer |= {"error": type(link).__name__, "message": link.error_message}
            if link.src in known and hasattr(link.node, "lineno"):
                index, first = known[link.src]
                answer |= {"function": index, "line": first + link.node.lineno - 1}
        link = link.__cause__ or link.__context__
    if answer["line"] is None and (found := re.search(r"<shipped (\d+)>\"?:(\d+):\d+\)?: error", log)):
        answer |= {"function": int(found[1]), "line": int(found[2])}
    return answer


if __name__ == "__main__":
    main()
