"""Turn an exception in a learner's code into a status, a sentence and a place in their own code."""

from __future__ import annotations

import dis
import re
import sysconfig
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import (
    KernelCrash,
    LaunchError,
    NeedsGpu,
    OutOfBounds,
    TimeLimit,
    Todo,
    message_of,
    todo_message,
)
from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.learner_code import LEARNER_CODE, place_of
from flashlearn.later import types_of
from flashlearn.machine import memory
from flashlearn.outcome import Place, Status
from flashlearn.running.endless_loops import endless_loop, stopped_at
from flashlearn.running.error_advice import advice_sentence
from flashlearn.running.evidence import Raised

if TYPE_CHECKING:
    from flashlearn.running.guard_zones import Request

MAX_MESSAGE_LENGTH = 4000
MESSAGE = 0.2
"""Seconds for an exception's `__str__`, which is called several times in each case."""
RAISES = dis.opmap["RAISE_VARARGS"]
_LIBRARIES = tuple(
    "/" + path.lstrip("/")  # Pyodide says //lib/…, and has the standard library in an archive
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
        str(Path(traceback.__file__).parent),
    }
)
_OURS = str(Path(__file__).parents[1])
_KERNELS = str(Path(__file__).parents[1] / "kernels")


def describe_exception(
    error: BaseException, limit: float, function: Callable, launches: bool = True
) -> Raised:
    """The exception that ended a call, as plain data. A formula `launches` nothing."""
    status, sentence, place = failure(error, limit, function, launches)
    request = _request(error)
    return Raised(
        type(error).__name__,
        _full_message(error),
        status,
        sentence,
        place,
        fault_of(error, status),
        wanted=request.held + request.bytes if request is not None else 0,
    )


def _request(error: BaseException) -> Request | None:
    """What asked for more memory than a GPU has, if that is known."""
    request = getattr(error, "request", None)
    return request if isinstance(request, types_of("flashlearn.running.guard_zones", "Request")) else None


def is_user_interrupt(error: BaseException) -> bool:
    """True for a KeyboardInterrupt from the keyboard, not from a `raise` statement."""
    return isinstance(error, KeyboardInterrupt) and not is_explicit_raise(error)


def is_explicit_raise(error: BaseException) -> bool:
    """True for an exception from a `raise` statement outside the grader."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None or step.tb_lasti < 0:
        return False
    code = step.tb_frame.f_code
    return code.co_code[step.tb_lasti] == RAISES and not code.co_filename.startswith(_OURS)


def _full_message(error: BaseException) -> str:
    """The exception's own message, cut to a readable length."""
    try:
        with deadline(MESSAGE):
            return str(error)[:MAX_MESSAGE_LENGTH]
    except (Exception, TimeLimit):  # a learner's __str__ may be anything
        return ""


def failure(
    error: BaseException, limit: float, function: Callable, launches: bool = True
) -> tuple[Status, str, Place | None]:
    """Status, sentence and place for an exception that left the launcher."""
    if isinstance(error, LaunchError):
        place = error.place or learner_line(error, function)
        if isinstance(error, NeedsGpu) and is_explicit_raise(error):
            return Status.CRASHED, "Your code raised NeedsGpu, which only the grader may raise.", place
        statuses = {OutOfBounds: Status.OUT_OF_BOUNDS, Todo: Status.TODO, NeedsGpu: Status.NEEDS_GPU}
        return statuses.get(type(error), Status.CRASHED), _sentence(error), place
    if isinstance(error, TimeLimit):
        place = _line_of_stop(error, function)
        endless = endless_loop(place)
        if endless is None:
            return Status.TIMEOUT, _too_long(limit, place), place
        return Status.TIMEOUT, f"{_too_long(limit, None, '')}{endless[1]}", endless[0]
    place = learner_line(error, function)
    text = _message(error)
    if isinstance(error, NotImplementedError) and (todo := todo_message(text)) is not None:
        return Status.TODO, todo, place
    if isinstance(error, MemoryError) or "can't allocate memory" in text:
        return Status.CRASHED, "The launcher asked for more memory than is available.", place
    if memory.is_out_of_memory(error):
        return Status.CRASHED, _out_of_gpu_memory(error, text), place
    if isinstance(error, KeyboardInterrupt):
        sentence = "The launcher raised KeyboardInterrupt, which is reserved for the user's Ctrl-C."
        return Status.CRASHED, sentence, place
    if isinstance(error, SystemExit):
        return Status.CRASHED, "The launcher called sys.exit; it should return its result.", place
    return Status.CRASHED, _advised(error, f"{type(error).__name__}: {text}", function, launches), place


def _out_of_gpu_memory(error: BaseException, text: str) -> str:
    """What the launcher asked for, and how much of it there was, as far as torch says it."""
    request, asked = _request(error), re.search(r"allocate ([\d.]+ [KMG]iB)", text)
    free = re.search(r"of which ([\d.]+ [KMG]iB) is free", text)
    left = free[1] if free else "less"
    if request is not None and request.free:
        left = memory.in_gib(request.free)  # torch's message does not know a limit on this process
    what = f"{asked[1]} of GPU memory" if asked else "more GPU memory"
    if request is not None and request.shape:
        what += f", for a tensor of shape {request.shape} in {request.dtype}"
    return f"The launcher asked for {what}, and {left} was free."


def fault_of(error: BaseException, status: Status) -> tuple:
    """What went wrong, as data for `Outcome.fault`: a wild access, a stub's task, a crash."""
    if status is Status.TODO:
        return "todo", *_task(error.sentence if isinstance(error, LaunchError) else _message(error))
    if status is not Status.CRASHED or isinstance(error, SyncError):
        return getattr(error, "fault", ())
    if isinstance(error, LaunchError):
        return "crash", type(getattr(error, "cause", None) or error).__name__, error.sentence
    return "crash", type(error).__name__, _message(error)


def _task(text: str) -> tuple[str, str]:
    """The stub's exercise and its task, from its message «TODO name: what»."""
    message = todo_message(text)
    words = text if message is None else message
    whose, _, task = (part.strip(" :.") for part in words.partition(":"))
    return (whose, task) if whose.isidentifier() else ("", words.strip(" :."))


def _message(error: BaseException) -> str:
    try:
        with deadline(MESSAGE):  # a learner's __str__ may be anything
            return message_of(error)
    except TimeLimit:
        return "its message cannot be shown"


def _advised(error: BaseException, message: str, function: Callable, launches: bool) -> str:
    """The message with advice for a beginner, if there is any."""
    known = explain(message, _ADVICE_OUTSIDE_KERNELS)
    if known != message:
        return known
    frame, line = _learner_frame(error, function)
    if frame is not None and launches:
        from flashlearn.running.advice import launcher_words  # needs triton, which a formula does without

        if words := launcher_words(error, frame):
            return words
    if frame is not None and _is_library(frame.f_code.co_filename) and frame.f_code not in LEARNER_CODE:
        frame = None  # a wrapper of the lesson's around the answer: none of its lines is marked
    try:
        return advice_sentence(error, message, frame, place_of(frame.f_code, line).text if frame else "")
    except Exception:  # it looks at a learner's objects, which may answer anything
        return message


def _sentence(error: LaunchError) -> str:
    if isinstance(error, KernelCrash) and error.cause is not None:
        from flashlearn.running.advice import kernel_words

        return kernel_words(error.cause) or explain(error.sentence)
    return error.sentence


def explain(sentence: str, advice_for: Mapping[str, str] | None = None) -> str:
    """Add advice for a beginner to triton's best-known messages, or to those of `advice_for`."""
    for part, advice in (_ADVICE if advice_for is None else advice_for).items():
        if part in sentence:
            return f"{sentence.rstrip('.')}. {advice}"
    return sentence


_ADVICE = {
    "arange's arguments must be of type tl.constexpr": (
        "A tile's size must be known when the kernel is compiled: a parameter BLOCK: tl.constexpr, or a "
        "variable declared with half: tl.constexpr = BLOCK // 2."
    ),
    "Did you forget to add @triton.jit": "Functions called from a kernel need @triton.jit too.",
    "'NoneType' object": "Does a helper function lack a return statement?",
    "'warpgroup_mma_accumulator_type' object": (
        "An asynchronous product has no value yet: `acc = warpgroup_mma_wait(…, deps=[acc])` waits for it, "
        "and returns it."
    ),
    "and 'tensor'": "Is one of the operands a tile and the other a Python object?",
    "'tensor' and": "Is one of the operands a tile and the other a Python object?",
}
_ADVICE_OUTSIDE_KERNELS = {
    "Cannot convert expression to float": (
        "A symbol has no value yet, and functions of Python's math need one: use sympy's, such as "
        "sp.ceiling, sp.sqrt or sp.Max."
    ),
    "cannot determine truth value of Relational": (
        "Symbols have no value yet, so neither `if` nor max and min can compare them: use sp.Max, sp.Min or "
        "sp.Piecewise."
    ),
}


def with_duration(ended: Raised, seconds: float) -> Raised:
    """The same; for a call that was stopped, with its duration in seconds of wall time."""
    if ended.status is not Status.TIMEOUT:
        return ended
    endless = endless_loop(ended.place)
    if endless is not None:
        return replace(ended, sentence=f"{_too_long(seconds, None, '')}{endless[1]}")
    return replace(ended, sentence=_too_long(seconds, ended.place))


def _too_long(
    seconds: float, place: Place | None, question: str = "Does a loop's condition ever become false?"
) -> str:
    where = f" It was in line {place.line} when it was stopped." if place is not None else ""
    return f"Still running after {float(f'{seconds:.2g}'):g} s, so it was stopped. {question}{where}"


def _line_of_stop(error: BaseException, function: Callable) -> Place | None:
    """Where a time limit met the learner's code: not in a kernel of the course that one of their lines runs.

    Of several such lines it is the innermost one in a loop that cannot end, if there is one.
    """
    place = stopped_at(error) or learner_line(error, function)
    if place is None or not place.file.startswith(_KERNELS):
        return place
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [place_of(code, line or code.co_firstlineno) for code, line in frames if _is_own(code, function)]
    own.reverse()
    return next((one for one in own if endless_loop(one)), own[0] if own else place)


def _is_own(code: CodeType, function: Callable) -> bool:
    """Whether code is the learner's: neither a library's nor the course's."""
    named = code.co_filename == getattr(getattr(function, "__code__", None), "co_filename", None)
    lent = code.co_filename.startswith(_KERNELS)
    return named or not (lent or _is_library(code.co_filename))


def learner_line(error: BaseException, function: Callable) -> Place | None:
    """The innermost line of the learner's own code, whether it ran interpreted or not.

    If no line is the learner's, a line of one of the course's kernels counts: the caller looks at the call.
    """
    frame, line = _learner_frame(error, function)
    return place_of(frame.f_code, line) if frame is not None else None


def _learner_frame(error: BaseException, function: Callable) -> tuple[FrameType | None, int]:
    found, at = None, 0
    own = getattr(getattr(function, "__code__", None), "co_filename", None)
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        theirs = code in LEARNER_CODE or code.co_filename == own
        lent = code.co_filename.startswith(_KERNELS) and found is not None
        if theirs or not (lent or _is_library(code.co_filename)):
            found, at = frame, line or code.co_firstlineno  # what stops a loop may meet no line of it
    return found, at


def _is_library(file: str) -> bool:
    if file.startswith(_OURS):
        return not file.startswith(_KERNELS)
    return file.startswith(_LIBRARIES) or file.startswith("<")
