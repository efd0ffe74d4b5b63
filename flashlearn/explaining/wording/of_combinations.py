"""Findings made of findings: two mistakes at once, a fault beside a mistake, outputs one by one, a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flashlearn.explaining.scope import Scope
from flashlearn.explaining.wording.kinds import Wording, joined, kind, said
from flashlearn.explaining.wording.of_mistakes import where
from flashlearn.explaining.wording.of_reading import OF_INPUTS
from flashlearn.outcome import Finding

EXAMPLES = ("example", "alone")
"""Facts that illustrate a finding: two outputs may share what they illustrate."""

FIGURES = {
    **dict.fromkeys(("factor", "constant"), ".4g"),
    **dict.fromkeys(("span", "factors", "sums", "expected"), ".3g"),
    **dict.fromkeys(("error", "allowed"), ".2g"),
    "rms_ratio": ".2f",
    "times": ".0f",
}
"""To how many figures a number is told: what differs beyond them is the same to a reader."""

INSTEAD = {
    "meaning": ("factor", "constant", "span"),
    "span": ("factor", "constant"),
    "sums": ("factors",),
    "rms_ratio": ("error", "allowed"),
}
"""Facts that are told in place of others, where they are known."""

Parts = Sequence[Finding]


@kind("at once")
def at_once(parts: Parts, scope: Scope | None) -> Wording:
    """Two mistakes that are made together, or each in its part."""
    first, second = (said(part).sentence for part in parts)
    return Wording(
        joined(f"Two things at once. First: {first} Second: {second}", where(scope)), _steps(parts)
    )


@kind("by precision")
def by_precision(parts: Parts) -> Wording:
    """One mistake that the fp32 cases show, and another that those of half precision show."""
    full, half = (said(part).sentence for part in parts)
    return Wording(f"Two things at once. In fp32: {full} In half precision: {half}", _steps(parts))


@kind("in fp32")
def in_fp32(parts: Parts) -> Wording:
    """A mistake that explains the fp32 cases; what those of half precision show is not known."""
    (finding,) = map(said, parts)
    return Wording(f"In the fp32 cases: {finding.sentence}", finding.next_step)


@kind("besides")
def besides(parts: Parts) -> Wording:
    """A fault of memory, and the mistake that the other cases show."""
    fault, other = map(said, parts)
    more = f"Besides, the cases that do run are wrong: {other.sentence}"
    steps = joined(fault.next_step, other.next_step)
    return Wording(f"{fault.sentence} {more}", steps, fault.quotes, joined(fault.more, more))


@kind("partly written")
def partly_written(parts: Parts, output: str, case: str, count: int, total: int) -> Wording:
    """Elements that no program writes, and what is wrong with the others."""
    (other,) = map(said, parts)
    return Wording(
        f"Two things at once. First: no program writes {count} of {total} elements of {output} (case "
        f"{case}). Second, in what is written: {other.sentence}",
        joined("Do the grid and the store's mask cover the whole output?", other.next_step),
    )


@kind("with its line")
def with_its_line(parts: Parts) -> Wording:
    """A finding, and the statement that departs first."""
    finding, departure = map(said, parts)
    return Wording(f"{finding.sentence} {departure.sentence}", finding.next_step)


@kind("departure and place")
def departure_and_place(parts: Parts) -> Wording:
    """The statement that departs first, and which elements are wrong."""
    departure, place = map(said, parts)
    return Wording(f"{departure.sentence} {place.sentence}", departure.next_step)


@kind("each output")
def each_output(parts: Parts) -> Wording:
    """What holds of each output, one after the other."""
    return Wording(joined(*(said(part).sentence for part in parts)), _steps(parts))


@kind("outputs")
def outputs(parts: Parts, silent: Sequence[str]) -> Wording:
    """One output after the other; what differs in the output's name alone is said once."""
    first, *others = parts
    alike = [other for other in others if _same(first, other) and other.kind.name not in OF_INPUTS]
    names = " and ".join(other.facts["output"] for other in alike)
    same = f"The same holds for {names}." if alike else ""
    more = _each_once([first, *(other for other in others if not _same(first, other))])[1:]
    verb = "is" if len(silent) == 1 else "are"
    rest = f"{' and '.join(silent)} {verb} wrong too; this alone does not explain it." if silent else ""
    sentences = (said(first).sentence, same, *(said(other).sentence for other in more))
    different = [first, *(other for other in others if other.names != first.names)]
    return Wording(joined(*sentences, rest), _steps(different), said(first).quotes, None)


def _each_once(findings: Parts) -> list[Finding]:
    """Without those that speak of an input, and say of it what another one has said."""
    kept: list[Finding] = []
    for finding in findings:
        if finding.kind.name not in OF_INPUTS or not any(_same(one, finding) for one in kept):
            kept.append(finding)
    return kept


def _same(one: Finding, other: Finding) -> bool:
    """True if both tell the same of their outputs, whatever illustrates it."""
    return one.kind.name == other.kind.name and _told(one) == _told(other)


def _told(finding: Finding) -> dict[str, Any]:
    """The facts that a reader is told, as exactly as that, but for the output's name."""
    known = {name: value for name, value in finding.facts.items() if value is not None}
    untold = {"output", *EXAMPLES, *(other for name in known for other in INSTEAD.get(name, ()))}
    return {name: _as_told(value, FIGURES.get(name)) for name, value in known.items() if name not in untold}


def _as_told(value: Any, figures: str | None) -> Any:
    if isinstance(value, tuple) and figures is not None:
        return tuple(_as_told(part, figures) for part in value)
    return format(value, figures or "") if isinstance(value, float) else value  # NaN is not itself


def _steps(parts: Parts) -> str:
    return joined(*dict.fromkeys(said(part).next_step for part in parts))
