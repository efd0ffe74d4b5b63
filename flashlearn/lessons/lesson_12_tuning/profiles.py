"""A profiler's counters of three kernels without their names, and what can be read from them.

>>> print("\\n".join(counters(profiles)))
>>> print("\\n".join(read(profiles, {"fastest": "A", "A waits for": "memory", ...})))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Profiles = dict[str, Any]
LETTERS = "ABC"
WAITS = "waits: "
KINDS = {"memory": "memory", "barrier": "barrier", "fixed latency": "fixed latency", "wgmma": "wgmma"}
"""What a learner may write of a wait, and what the counter's name holds."""


def lettered(profiles: Profiles) -> dict[str, Profiles]:
    """The kernels as A, B and C, the last of the file first."""
    return dict(zip(LETTERS, reversed(profiles["rungs"]), strict=False))


def counters(profiles: Profiles) -> Iterator[str]:
    """The table, without the kernels' names, times and configurations."""
    kernels = lettered(profiles)
    yield f"{profiles['device']:46}" + "".join(f"{letter:>10}" for letter in kernels)
    for counter in next(iter(kernels.values()))["counters"]:
        if counter != "milliseconds":
            values = (kernel["counters"][counter] for kernel in kernels.values())
            yield f"{counter:46}" + "".join(f"{value:>10}" for value in values)


def largest_wait(kernel: Profiles) -> tuple[str, float]:
    """What a kernel's warps wait for most, in KINDS, and how long per instruction issued."""
    waits = {name: value for name, value in kernel["counters"].items() if name.startswith(WAITS)}
    name = max(waits, key=waits.get)
    return next(kind for kind, part in KINDS.items() if part in name), waits[name]


def truths(profiles: Profiles) -> dict[str, tuple[str, str]]:
    """For each question its answer, and a sentence with the figures."""
    kernels = lettered(profiles)
    fastest = min(kernels, key=lambda letter: kernels[letter]["counters"]["milliseconds"])
    times = ", ".join(f"{letter} {one['counters']['milliseconds']} ms" for letter, one in kernels.items())
    found = {"fastest": (fastest, f"{times}.")}
    for letter, kernel in kernels.items():
        kind, value = largest_wait(kernel)
        found[f"{letter} waits for"] = (kind, f"{value} per instruction issued.")
    return found


def read(profiles: Profiles, answers: Mapping[str, str]) -> Iterator[str]:
    """Each answer, whether it is right, and the figures; what the kernels were, once all are answered."""
    known = truths(profiles)
    open_questions = [question for question in known if not answers.get(question)]
    for question, (truth, figures) in known.items():
        if given := answers.get(question, ""):
            right = given.strip().lower() == truth.lower()
            yield f"{question}: {given}. {'Right' if right else 'Not so: look again'}" + (
                f": {figures}" if right else "."
            )
    if open_questions:
        yield f"Still open: {', '.join(open_questions)}. Waits are one of {', '.join(KINDS)}."
    elif all(answers[q].strip().lower() == truth.lower() for q, (truth, _) in known.items()):
        for letter, kernel in lettered(profiles).items():
            yield f"{letter} is {kernel['name']}: {kernel['what']}"
