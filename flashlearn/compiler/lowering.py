"""Launches taken to Triton's own IR: does the compiler's front end accept what was interpreted?

    >>> with Lowering([specialised]) as lowering:
    ...     lowering.refusals()     # (FrontEndRefusal(0, "A compiled kernel has no `break`: …", place),)

The interpreter runs Python; a GPU runs the part of it that triton compiles. From source to IR takes
milliseconds and needs no GPU. A forked process does it, beside whatever else there is to do: it has the
kernels as they are, and an assertion that fails in the compiler, or a loop unrolled without end, is its own.
Whatever is not plainly a refusal of the learner's kernel is logged, and decides nothing.
"""

from __future__ import annotations

import ast
import linecache
import logging
import mmap
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.code_generator import CodeGenerator
from triton.compiler.errors import CompilationError
from triton.runtime.jit import JITFunction

from flashlearn.compiler import constructs, explain
from flashlearn.compiler.definition import place_of_definition
from flashlearn.interpreter.language import put_back
from flashlearn.interpreter.specialization import TARGET, Specialization, backend, is_gluon, source_of
from flashlearn.outcome import Place
from flashlearn.processes.forked import Forked, Send

SECONDS = 5
"""So much of a processor the front end may take for all launches of a check."""
WAIT_SECONDS = 60.0
"""So long anybody waits for it by the clock: a busy machine is no reason to let a kernel pass."""
GPU = "NVIDIA GPU"
RECURSION_LIMIT = 4000  # frames: the front end takes some ten of them for each level of an expression
UNSUPPORTED = "Unsupported function referenced"
MALFORMED = "error encountered during parsing"
REACHED = 1024  # bytes for a file, a line and a function
CRASH_SIGNALS = {
    -getattr(signal, name, 0) for name in ("SIGABRT", "SIGSEGV", "SIGILL", "SIGBUS", "SIGFPE")
} - {0}
ASSERTION_SENTENCE = (
    "Triton's compiler fails an assertion of its own at this line, and compiles this kernel for no GPU. In "
    "Gluon the usual cause is a layout that does not fit: its sizes must be powers of two, its warps as "
    "many as the launch has, and the columns of `instr_shape` must divide the tile's."
)
DIAGNOSTIC = re.compile(r"^(.+?):(\d+):\d+: error: (.+)$", re.MULTILINE)

_log = logging.getLogger("flashlearn.lowering")


@dataclass(frozen=True)
class FrontEndRefusal:
    """What triton's front end refuses: the launch, by its number, the sentence, and the learner's line."""

    variant: int
    sentence: str
    place: Place | None = None


class Lowering:
    """The front end at work on several launches. To be closed, or used as a context manager."""

    def __init__(self, launches: Sequence[Specialization]):
        self.launches = tuple(launches)
        self.forked: Forked | None = None
        self.accepted: tuple[int, ...] = ()  # numbers of launches with which all is well, once that is known
        self.reached = mmap.mmap(-1, REACHED)  # the line that the other process is at
        if not self.launches:
            return
        try:
            self.forked = Forked(self._work, SECONDS)
        except OSError as error:
            _log.warning("no process for the front end: %s", error)

    def refusals(self) -> tuple[FrontEndRefusal, ...]:
        """Waits until all is lowered; what was refused of it, in the order of the launches."""
        if self.forked is None:
            return ()
        answers = list(self.forked.answers(WAIT_SECONDS))
        if self.forked.ended is not None and len(answers) < len(self.launches):
            answers += self._retry(len(answers))
        if self.forked.ended != 0 or len(answers) < len(self.launches):
            words = f"{len(answers)} of {len(self.launches)} launches were lowered"
            _log.warning("the front end ended with %s: %s", self.forked.ended, words)
            if self.forked.ended in CRASH_SIGNALS and is_gluon(self.launches[len(answers)].kernel):
                answers.append(self._crash_refusal())
        self.accepted = tuple(number for number, answer in enumerate(answers) if not answer)
        return self.found(answers)

    @staticmethod
    def found(answers: Sequence[dict[str, Any]]) -> tuple[FrontEndRefusal, ...]:
        """What `attempt` said of launches, in their order, as refusals."""
        found = []
        for number, answer in enumerate(answers):
            if "internal" in answer:
                _log.warning("the front end failed: %s", answer["internal"])
            elif answer:
                found.append(FrontEndRefusal(number, answer["sentence"], _place(answer)))
        return tuple(found)

    def _retry(self, done: int) -> list[dict[str, Any]]:
        """Answers for the launches that a process which died did not come to, from a fresh one."""
        _log.warning("the front end ended with %s after %s launches: once more", self.forked.ended, done)
        self.forked.close()
        self.forked = Forked(lambda send: self._work(send, done), SECONDS)
        return list(self.forked.answers(WAIT_SECONDS))

    def _crash_refusal(self) -> dict[str, Any]:
        """The words for a Gluon kernel on which the front end died twice."""
        file, line, function = (self.reached[:].rstrip(b"\0").decode().split("\n") + [""] * 3)[:3]
        where = {"file": file, "line": int(line), "function": function} if line else {}
        return {"sentence": ASSERTION_SENTENCE, **where}

    def _work(self, send: Send, first: int = 0) -> None:
        """In the forked process."""
        sys.setrecursionlimit(RECURSION_LIMIT)
        put_back()  # there may have been a launch in another thread, or one that was cut short
        if any(is_gluon(launch.kernel) for launch in self.launches):
            _note_positions(self.reached)
        diagnostics = os.memfd_create("diagnostics")
        os.dup2(diagnostics, 2)  # what the IR's verifier finds is said there, and nowhere else
        for launch in self.launches[first:]:
            started = os.lseek(diagnostics, 0, os.SEEK_END)
            answer = attempt(launch)
            if MALFORMED in answer.get("internal", ""):
                words = os.pread(diagnostics, 1 << 16, started).decode(errors="replace")
                answer = _malformed(launch.kernel, words) or answer
            send(answer)

    def close(self) -> None:
        """End the process."""
        if self.forked is not None:
            self.forked.close()

    def __enter__(self) -> Lowering:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _note_positions(reached: mmap.mmap) -> None:
    """Have each of the learner's lines noted before it is lowered: it is known where this process died."""
    visit = getattr(CodeGenerator.visit, "unnoted", CodeGenerator.visit)

    def noting(self: Any, node: ast.AST) -> Any:
        line, own = getattr(node, "lineno", 0), not self.jit_fn.fn.__module__.startswith("triton.")
        if line and own:
            file, first = place_of_definition(self.jit_fn)
            words = f"{file}\n{first + line - 1}\n{self.jit_fn.fn.__name__}".encode()[:REACHED]
            reached[:] = words.ljust(REACHED, b"\0")
        return visit(self, node)

    noting.unnoted = visit
    CodeGenerator.visit = noting


def attempt(launch: Specialization) -> dict[str, Any]:
    """Nothing if the front end takes a launch; a "sentence" and the line if not; "internal" if it failed."""
    try:
        lower(launch)
    except CompilationError as error:
        return _refusal(error)
    except RuntimeError as error:
        if UNSUPPORTED in str(error):
            return _foreign_call(launch.kernel, str(error))
        return {"internal": f"{type(error).__name__}: {error}"}
    except Exception as error:
        return {"internal": f"{type(error).__name__}: {error}"}
    return {}


def lower(launch: Specialization) -> Any:
    """The module in Triton's IR that a launch's source becomes. Raises what triton raises."""
    nvidia, target = backend(), GPUTarget("cuda", TARGET, 32)
    source = source_of(launch.kernel, launch.signature, launch.constexprs, launch.attributes)
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    made = nvidia.get_codegen_implementation(launch.options), nvidia.get_module_map()
    module = source.make_ir(target, launch.options, *made, context)
    source.hash()  # looks at what the source refers to, and refuses plain functions; it names no line
    return module


def _refusal(error: CompilationError) -> dict[str, Any]:
    """The words for the innermost message, with the innermost line that is not triton's own."""
    functions = {function.src: function for function in _functions(error)}
    words, where, own = error, None, None
    for link in _links(error):
        if not isinstance(link, CompilationError):
            continue
        words = link if link.error_message else words
        function = functions.get(link.src)
        if function is not None and not (function.fn.__module__ or "").startswith("triton."):
            own, where = function, link.node
    message = str(words.error_message or "")
    if UNSUPPORTED in message and own is not None:
        return _foreign_call(own, message)
    theirs = own is not None and words.node is where
    known = (where, own.parse(), own.get_capture_scope()) if theirs else (None, None, {})
    sentence = constructs.sentence(explain.first_line(message), *known)
    sentence = sentence or explain.sentence(type(words).__name__, message, GPU, {})
    return {"sentence": sentence, **(_line_of(own, where) if own is not None else {})}


def _malformed(kernel: JITFunction, diagnostics: str) -> dict[str, Any]:
    """The words for what the verifier says of a kernel's IR; nothing if it says nothing."""
    found = DIAGNOSTIC.search(diagnostics)
    if found is None:
        return {}
    file, line, message = found.groups()
    sentence = constructs.sentence(message, None, None, {})
    sentence = sentence or explain.sentence("VerifierError", message, GPU, {})
    return {"sentence": sentence, "file": file, "line": int(line), "function": kernel.fn.__name__}


def _links(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _functions(error: BaseException) -> Iterator[JITFunction]:
    """The jitted functions that were being lowered, from the outermost inwards: the frames know them."""
    for link in _links(error):
        for frame, _ in traceback.walk_tb(link.__traceback__):
            function = getattr(frame.f_locals.get("self"), "jit_fn", None)
            if isinstance(function, JITFunction):
                yield function


def _line_of(function: JITFunction, node: ast.AST | None) -> dict[str, Any]:
    file, first = place_of_definition(function)
    line = first + getattr(node, "lineno", 1) - 1
    return {"file": file, "line": line, "function": function.fn.__name__}


def _foreign_call(kernel: JITFunction, message: str) -> dict[str, Any]:
    """A plain function that the kernel, or a helper of it, refers to: by name, with the line that does."""
    functions = [kernel]
    for function in functions:
        scope = function.get_capture_scope()
        for node in ast.walk(function.parse()):
            value = _value(node, scope)
            if isinstance(value, JITFunction) and all(value is not f for f in functions):
                functions.append(value)
            elif callable(value) and f"{value}" in message:
                sentence = constructs.outside_value(ast.unparse(node), value)
                return {"sentence": sentence, **_line_of(function, node)}
    return {"internal": message}


def _value(node: ast.AST, scope: dict[str, Any]) -> Any:
    """What a name, or an attribute of a module, stands for; None for all else."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, scope), node.attr, None)
    return None


def _place(answer: dict[str, Any]) -> Place | None:
    if "line" not in answer:
        return None
    text = linecache.getline(answer["file"], answer["line"]).rstrip()
    return Place(answer["file"], answer["line"], text, answer["function"])
