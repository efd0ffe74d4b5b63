"""Counts on the corpus how often edits repair a wrong answer, and writes `odds.json` with these figures:
`python -m tests.corpus.fit_odds --exercise row_sum --out odds.json`.

Every wrong answer is run, and its edits are tried in all its wrong cases, as a check tries them but without a
limit of work: `--edits` of each answer, drawn at random. A figure is the share of a thousand tried edits that
made every wrong case right. It moves away from the present one as evidence grows, as if the present one came
from `--prior` edits. Factors compare the repairs that were counted with those that the other figures predict.

The factors by place that need a finding (at divergence, unlikely, …) are not counted: they stay as they are.
Without `--exercise` this takes hours.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from flashlearn.exercise import Kind
from flashlearn.explaining import edits
from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.formula_trial import FormulaTrial
from flashlearn.explaining.edits.ranking import Odds, parsed, situation_of
from flashlearn.explaining.edits.verification import NumericTrial
from flashlearn.interpreter import printing
from flashlearn.judging.cases import run
from flashlearn.judging.symbolic import run_symbolic
from flashlearn.lessons import find
from flashlearn.outcome import Status
from flashlearn.running.answer import answering
from tests.corpus import wrong_entries

PRIOR_REPAIRS = 3.0
"""A factor moves away from the present one as if that came from this number of repairs."""

COUNTED_FACTORS = ("repeated", "causal branch", "heads")


class Tried(NamedTuple):
    """One edit that was tried: its kind and place, the situation of its answer, whether it repaired it.

    `table` and `about_table` are the factors that `ranking.Situation` names; `factors` those of
    COUNTED_FACTORS that apply.
    """

    kind: str
    variant: int
    about: str
    table: str
    about_table: str
    factors: tuple[str, ...]
    repaired: bool


def tried_edits(number: int, most: int) -> list[Tried]:
    """Some edits of a wrong answer, by its number in the corpus; none if edits are not tried of it."""
    entry = wrong_entries()[number]
    exercise = find(entry.exercise)
    answer = answering(exercise, entry.function)
    unsolved, sections = exercise.explained.unsolved, answer.sections()
    if not sections or (unsolved is not None and unsolved(answer)):
        return []
    symbolic = exercise.kind is Kind.SYMBOLIC
    warnings.filterwarnings("ignore", message="tl.make_block_ptr is deprecated")
    with printing.muted():
        outcomes = run_symbolic(exercise, answer) if symbolic else run(exercise, answer)
        trial = (FormulaTrial if symbolic else NumericTrial)(exercise, answer, outcomes)
        if not trial.wrong or all(o.status is Status.PASS for o in outcomes):
            return []
        trial.left = float("inf")
        candidates = [(i, edit) for i, section in enumerate(sections) for edit in edits_of(section.text)]
        if len(trial.wrong) == 1:
            candidates = [(i, edit) for i, edit in candidates if not trial.by_chance(edit)]
        found, result = situation_of(outcomes), []
        for i, edit in random.Random(number).sample(candidates, min(most, len(candidates))):
            applies = {
                "repeated": bool(edit.also) and not edit.kind.often_repeated,
                "causal branch": found.only_causal and edit.causal and not edit.kind.lengthens_loop,
                "heads": found.only_with_heads and edit.heads,
            }
            factors = tuple(name for name in COUNTED_FACTORS if applies[name])
            repaired = trial.repaired(i, edit.applied(sections[i].text)) == trial.bad
            place = (edit.about, found.table, found.about, factors)
            result.append(Tried(edit.kind.name, edit.variant, *place, repaired))
    return result


def fitted(data: dict[str, Any], tried: Sequence[Tried], prior: float) -> dict[str, Any]:
    """The contents of odds.json with figures counted from these edits; `data` are the present ones."""
    new = json.loads(json.dumps(data))
    for kind, entry in new["kinds"].items():
        own = [one for one in tried if one.kind == kind]
        for variant, present in enumerate(entry["odds"]):
            of_variant = [one.repaired for one in own if one.variant == variant]
            repaired = sum(of_variant) + prior * present / 1000
            entry["odds"][variant] = _rounded(1000 * repaired / (len(of_variant) + prior))
        if own:
            entry["source"] = f"corpus, {sum(one.repaired for one in own)} of {len(own)}"
    odds = parsed(json.dumps(new))
    for name, table in (*new["tags"].items(), *new["cases"].items()):
        inside = [one for one in tried if one.table == name]
        for kind, present in table.items():
            own = [one for one in inside if one.kind == kind]
            table[kind] = _factor(present, own, lambda one: odds.of(one.kind, one.variant))
    odds = parsed(json.dumps(new))
    for name, table in new["about"].items():
        inside = [one for one in tried if one.about_table == name]
        for about, present in table.items():
            own = [one for one in inside if one.about == about]
            table[about] = _factor(present, own, lambda one: _by_kind(odds, one))
    odds = parsed(json.dumps(new))
    for name in COUNTED_FACTORS:
        own = [one for one in tried if name in one.factors]
        present = new["factors"][name]
        new["factors"][name] = _factor(
            present, own, lambda one: _by_kind(odds, one) * odds.about[one.about_table].get(one.about, 1.0)
        )
    return new


def _by_kind(odds: Odds, one: Tried) -> float:
    other = odds.factors["other kinds"] if one.table in odds.tags else 1.0
    table = odds.tags.get(one.table) or odds.cases.get(one.table, {})
    return odds.of(one.kind, one.variant) * table.get(one.kind, other)


def _factor(present: float, tried: Sequence[Tried], expected: Callable[[Tried], float]) -> float:
    """Repairs that were counted, relative to those that the other figures predict."""
    repairs = sum(one.repaired for one in tried)
    predicted = sum(map(expected, tried)) / 1000
    return _rounded((repairs + PRIOR_REPAIRS * present) / (predicted + PRIOR_REPAIRS)) if tried else present


def _rounded(number: float) -> float:
    return float(f"{number:.2g}")


def dumped(data: dict[str, Any]) -> str:
    """The text of odds.json: one kind, or one table, a line."""
    groups = []
    for name, group in data.items():
        items = [json.dumps(one, ensure_ascii=False) for one in group]
        if isinstance(group, dict):
            values = (json.dumps(value, ensure_ascii=False) for value in group.values())
            items = [f"{key}: {value}" for key, value in zip(items, values, strict=True)]
        begin, end = "[]" if isinstance(group, list) else "{}"
        lines = ",\n".join(f"  {item}" for item in items)
        groups.append(f" {json.dumps(name)}: {begin}\n{lines}\n {end}")
    return "{\n" + ",\n".join(groups) + "\n}\n"


def comparison(before: dict[str, Any], after: dict[str, Any], tried: Sequence[Tried]) -> Table:
    """The figures by kind, before and after, with how many edits they come from."""
    table = Table(box=box.SIMPLE_HEAD, title=f"{len(tried)} edits")
    for heading in ("kind", "tried", "repaired", "before", "after"):
        table.add_column(heading, justify="left" if heading == "kind" else "right")
    for kind in after["kinds"]:
        own = [one.repaired for one in tried if one.kind == kind]
        figures = [" ".join(map(str, data["kinds"][kind]["odds"])) for data in (before, after)]
        if own:
            table.add_row(kind, str(len(own)), str(sum(own)), *figures)
    return table


def _all_tried(numbers: Iterable[int], most: int, jobs: int) -> Iterator[Tried]:
    numbers = list(numbers)
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for one in pool.map(tried_edits, numbers, [most] * len(numbers)):
            yield from one


def main(arguments: Sequence[str] | None = None) -> None:
    """Count, write the new file and print what it changes."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.fit_odds", description=__doc__)
    parser.add_argument("--exercise", action="append", help="only this exercise; may be repeated")
    parser.add_argument("--edits", type=int, default=300, help="edits tried of each answer (300)")
    parser.add_argument(
        "--prior", type=float, default=300.0, help="edits that the present odds are worth (300)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    options = parser.parse_args(arguments)
    before = json.loads(files(edits).joinpath("odds.json").read_text(encoding="utf-8"))
    chosen = [
        number
        for number, entry in enumerate(wrong_entries())
        if not options.exercise or entry.exercise in options.exercise
    ]
    tried = list(_all_tried(chosen, options.edits, options.jobs))
    after = fitted(before, tried, options.prior)
    options.out.write_text(dumped(after), encoding="utf-8")
    Console(width=120).print(comparison(before, after, tried))


if __name__ == "__main__":
    main()
