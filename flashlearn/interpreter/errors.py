"""What can go wrong inside a kernel, as exceptions that a learner can read.

Each carries a `Place` and one sentence. In Jupyter they render as that sentence and the line it
speaks of, without the forty frames of the interpreter below it.
"""

from __future__ import annotations

from flashlearn.observation import Place

LONGEST = 400  # characters of a learner's own message


class LaunchError(RuntimeError):
    """A kernel launch that could not be completed. `place` is the learner's line, if there is one."""

    def __init__(self, sentence: str, place: Place | None = None):
        super().__init__(sentence)
        self.sentence = sentence
        self.place = place

    def __str__(self) -> str:
        if self.place is None:
            return self.sentence
        return f"{self.sentence}\n  line {self.place.line}:  {self.place.text.strip()}"

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class OutOfBounds(LaunchError):
    """A load, store or atomic outside the tensors that the launch was given.

    `fault` is (kind of access, whether it had a mask, first offending index), and "gaps" where that index
    lies between the tensor's elements; "steps", the tile's and the tensor's strides where these differ, and
    "exchanged" where two strides, or two indices, are in each other's place. "below" says that the index is
    negative, "size" that no larger one than the size of its dimension is outside, "far" that larger ones are.
    ("cause", key) comes last where the kernel's text shows what is wrong.
    """

    def __init__(self, sentence: str, place: Place | None = None, fault: tuple = ()):
        super().__init__(sentence, place)
        self.fault = fault


class KernelCrash(LaunchError):
    """The kernel's own code raised; `cause` is what it raised."""

    def __init__(self, sentence: str, place: Place | None = None, cause: BaseException | None = None):
        super().__init__(sentence, place)
        self.cause = cause


class Todo(LaunchError):
    """The kernel is still a stub."""


class NeedsGpu(LaunchError):
    """The kernel does what only a GPU can do, and none is here."""


class TimeLimit(BaseException):
    """Raised in the learner's code when its time is over; not an Exception, so that nothing swallows it."""


def todo_message(text: str) -> str | None:
    """The words after TODO if `text` is a stub's message, else None."""
    head, mark, rest = text.partition("TODO")
    if not mark or head.strip(" \"'(") not in ("", "AssertionError", "NotImplementedError"):
        return None
    return rest.strip(" \"'):")


NO_MESSAGE = "no message"
"""What stands for the message of an exception that has none."""


def message_of(error: BaseException) -> str:
    """The first line of an exception's message, of a bearable length; whatever its `__str__` does."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:
        return "its message cannot be shown"
    line = "".join(c for c in lines[0][:LONGEST] if c.isprintable()) if lines else ""
    return line or NO_MESSAGE
