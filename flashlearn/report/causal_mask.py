"""What a causal mask says about the rows and columns of an output's map."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.exercise import Case, Exercise
from flashlearn.report.panels import KEYS, PAIRS, QUERIES, Split


@dataclass(frozen=True)
class CausalMask:
    """What a causal mask, aligned bottom-right, says: query i sees key j where j ≤ i + S_k − S_q.

    `about` is what the map's `axis` counts: "queries" or "keys"; "pairs" has queries down, keys across.
    """

    S_q: int
    S_k: int
    about: str
    axis: int = 0

    @property
    def offset(self) -> int:
        return self.S_k - self.S_q

    @property
    def blind(self) -> int:
        """How many of the first queries see no key."""
        return max(-self.offset, 0)

    @property
    def marked(self) -> int:
        """Where along the axis the queries that see no key end; 0 where there is nothing to mark."""
        return self.blind if self.about in ("queries", "pairs") else 0

    def hidden(self, rows: slice, columns: slice) -> bool:
        """Whether the mask hides every element of a group of a queries × keys matrix."""
        return self.about == "pairs" and columns.start > rows.stop - 1 + self.offset

    def words(self, start: int, stop: int) -> str:
        """What is true of positions `start` to `stop − 1` along the axis; empty if all is seen."""
        last = stop - 1 + self.offset
        several = stop - start > 1
        if self.about == "keys":
            first = start - self.offset
            keys = "see none of these keys" if several else "do not see this key"
            return f"queries before {first} {keys}" * (first > 0)
        who = "these queries see" if several else "this query sees"
        return f"{who} no key" if last < 0 else f"{who} no key after {last}" * (last < self.S_k - 1)

    @property
    def note(self) -> str:
        """The sentence under the map."""
        if not self.marked:
            return ""
        who = "query 0 sees" if self.blind == 1 else f"queries 0 to {self.blind - 1} see"
        return f"Causal with S_q > S_k: {who} no key."


def causal_mask_of(exercise: Exercise, case: Case, output: str, parts: Split) -> CausalMask | None:
    """The mask's boundary on this output; None without a mask, or where an axis cannot be identified."""
    sizes = case.sizes
    if not {"S_q", "S_k"} <= set(sizes) or not _is_causal(exercise, case):
        return None
    S_q, S_k = sizes["S_q"], sizes["S_k"]
    one_line = bool(parts.strip or parts.down)
    if output in PAIRS and not one_line and (parts.rows, parts.columns) == (S_q, S_k):
        return CausalMask(S_q, S_k, "pairs")
    length = parts.columns if one_line else parts.rows
    for names, about, size in ((QUERIES, "queries", S_q), (KEYS, "keys", S_k)):
        if output in names and length == size:
            return CausalMask(S_q, S_k, about, int(one_line))
    return None


def _is_causal(exercise: Exercise, case: Case) -> bool:
    if exercise.judged.causal:
        return True
    if "causal" not in exercise.parameters() or case.gpu:
        return False
    return exercise.inputs(case, case.generator()).get("causal") is True
