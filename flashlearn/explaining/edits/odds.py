"""The odds that an edit repairs a wrong answer: figures from `odds.json`, which says where they come from.

`python -m tests.corpus.fit_odds` counts most of them anew on the corpus.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Odds:
    """The odds by kind and variant, and factors of these odds.

    `tags` apply if only cases with one tag are wrong, `cases` if all are ("everywhere") or an access is out
    of bounds or races ("out of bounds"), `about` by what an edit is about, `factors` by where it is.
    """

    kinds: Mapping[str, Sequence[float]]
    tags: Mapping[str, Mapping[str, float]]
    cases: Mapping[str, Mapping[str, float]]
    about: Mapping[str, Mapping[str, float]]
    factors: Mapping[str, float]

    def of(self, kind: str, variant: int) -> float:
        """The odds of a kind's variant; after the last one with a figure they decrease like 1, 1/2, 1/3."""
        known = self.kinds[kind]
        return known[min(variant, len(known) - 1)] / (1 + max(0, variant - len(known) + 1))


def parsed(text: str) -> Odds:
    """The odds in the text of such a file."""
    data = json.loads(text)
    kinds = {name: tuple(entry["odds"]) for name, entry in data["kinds"].items()}
    return Odds(kinds, data["tags"], data["cases"], data["about"], data["factors"])


@functools.cache
def odds() -> Odds:
    """The odds that ship with the package, read once."""
    return parsed(files(__package__).joinpath("odds.json").read_text(encoding="utf-8"))
