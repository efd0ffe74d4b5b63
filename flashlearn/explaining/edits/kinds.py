"""What the search knows of a kind of edit: its name, its words, and what such an edit can and cannot do.

Each kind is declared once, beside the generator that makes its edits. Only its odds are elsewhere, in
`odds.json`, since they are data.

>>> kind_named("comparison").moves_access
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

WHY = "Why?"
"""The next step of a kind that suggests no better question."""

Evidence = Literal["", "nan", "race", "access slice"]


@dataclass(frozen=True, eq=False)
class EditKind:
    """A kind of edit. There is one object of each, so kinds are compared by identity.

    The `sentence` is a template with `{line}`, `{old}` and `{new}`: what the line has, and then the beginning
    of a sentence that the result of the edit completes. The `question` is the learner's next step. The flags
    say what is true of every edit of the kind.
    """

    name: str
    sentence: str = "Line {line} has `{old}`. With `{new}`"
    question: str = WHY

    quotes_both: bool = True
    """The sentence quotes the old text and the new one; of two long texts it shows where they differ."""

    moves_access: bool = False
    """It can move an access to memory, or mask a part of it."""

    changes_values: bool = False
    """It changes what is computed, and not where it is stored."""

    changes_dtype: bool = False
    """It changes the type in which a number is held."""

    mixes_names: bool = False
    """It puts one name in the place of another."""

    lengthens_loop: bool = False
    """It can make a loop longer: a kernel whose masks are right then only does superfluous work."""

    fills_absence: bool = False
    """It changes what is read where nothing is stored: every mistake that ends in NaN looks like that."""

    by_chance: bool = False
    """It may repair a single case by chance: at least two wrong cases are needed to believe it."""

    by_chance_in_integers: bool = False
    """The same in a formula of integers."""

    whole_expression: bool = False
    """It concerns every name in the expression, not only those that it changes."""

    often_repeated: bool = False
    """Learners make this mistake in several lines as readily as in one."""

    inserts_statement: bool = False
    """It adds a statement, so the line of the edit itself says nothing about it."""

    in_gluon: bool = True
    """It applies to Gluon kernels too, whose loads have no masks and which convert no types implicitly."""

    requires: Evidence = ""
    """It is tried only if an output holds NaN, if programs race, or if the lines of an access are known."""

    repeats_as: str = ""
    """The name of a kind whose edits may be the same mistake in other lines; else its own name."""

    def __reduce__(self) -> tuple[Any, ...]:
        return kind_named, (self.name,)


EDIT_KINDS: dict[str, EditKind] = {}
"""Every kind by its name. Complete once `flashlearn.explaining.edits` is imported."""


def edit_kind(name: str, **traits: Any) -> EditKind:
    """Declare a kind; `traits` are the fields of `EditKind`. Raises ValueError for a name that is taken."""
    if name in EDIT_KINDS:
        raise ValueError(f"two kinds of edit are named {name!r}")
    EDIT_KINDS[name] = EditKind(name, **traits)
    return EDIT_KINDS[name]


def kind_named(name: str) -> EditKind:
    """The kind of that name. Raises KeyError if there is none."""
    return EDIT_KINDS[name]
