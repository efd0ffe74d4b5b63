"""What was measured, as a file that other programs read: docs/bench.schema.json describes it.

>>> record = load(Path("h200.json"))
>>> record.ratio("tuned", "sdpa cudnn", problem, "forward")          # of speeds, in one run
0.93
>>> shipped()                          # the H200's, which comes with the package; None where there is none
"""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashlearn.bench.problems import Problem
from flashlearn.machine.timers import UNSTEADY_SPREAD

VERSION = 1
"""Of the format. It grows with each change that a program which reads it could trip over."""
SHIPPED = Path(__file__).with_name("records")


class InvalidRecord(ValueError):
    """The file is not a record; the message is a sentence."""


@dataclass(frozen=True)
class Cell:
    """One contestant, one problem, one direction. `milliseconds` is a median, `peak_bytes` beyond the inputs.

    `spread` is (p90 − p10) / median of `rounds` calls.
    """

    contestant: str
    problem: Problem
    direction: str
    milliseconds: float
    spread: float | None
    rounds: int
    peak_bytes: int | None = None

    @property
    def rate(self) -> float:
        """Operations/s that count."""
        return self.problem.operations(self.direction) / self.milliseconds * 1e3

    @property
    def unsteady(self) -> bool:
        """Whether single calls vary so much that the median must be treated with care."""
        return self.spread is not None and self.spread > UNSTEADY_SPREAD


@dataclass(frozen=True)
class MemoryUse:
    """Bytes that forward and backward pass of a problem hold at their peak beyond its inputs."""

    contestant: str
    problem: Problem
    peak_bytes: int


@dataclass(frozen=True)
class Record:
    """One run. `device` and `versions` say where, `reached` what a large product and a large copy reach.

    `contestants` are titles by name, `left_out` reasons by name. `cells` are the GPU's times of the large
    shapes; `small` are wall times, Python included, of the small ones.
    """

    made: str
    device: dict[str, Any]
    versions: dict[str, str]
    reached: dict[str, float]
    contestants: dict[str, str]
    left_out: dict[str, str] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()
    small: tuple[Cell, ...] = ()
    memory: tuple[MemoryUse, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those of the table, in its order."""
        return tuple(dict.fromkeys(cell.problem for cell in self.cells))

    def cell(self, contestant: str, problem: Problem, direction: str) -> Cell | None:
        """One of the table's cells, if it was measured."""
        wanted = (contestant, problem, direction)
        return next((c for c in self.cells if (c.contestant, c.problem, c.direction) == wanted), None)

    def ratio(self, contestant: str, against: str, problem: Problem, direction: str) -> float | None:
        """The contestant's speed over that of another one; None where one of the two was not measured."""
        one, other = (self.cell(name, problem, direction) for name in (contestant, against))
        return other.milliseconds / one.milliseconds if one and other else None

    def ratios(self, contestant: str, against: str, direction: str, causal: bool) -> dict[Problem, float]:
        """The same over all problems with a mask, or without."""
        found = {
            p: self.ratio(contestant, against, p, direction) for p in self.problems if p.causal == causal
        }
        return {problem: ratio for problem, ratio in found.items() if ratio is not None}


def mean(ratios: dict[Problem, float]) -> float | None:
    """The geometric mean; None of nothing."""
    if not ratios:
        return None
    return math.exp(sum(math.log(ratio) for ratio in ratios.values()) / len(ratios))


def to_json(record: Record) -> dict[str, Any]:
    """The record in JSON's types."""
    return {"version": VERSION, **dataclasses.asdict(record)}


def save(record: Record, path: Path) -> None:
    """Write the file. Raises OSError."""
    path.write_text(json.dumps(to_json(record), indent=1) + "\n")


def load(path: Path) -> Record:
    """The record in a file. Raises OSError, and InvalidRecord if it is no record of this version."""
    try:
        found = json.loads(path.read_text())
        if found.pop("version") != VERSION:
            raise InvalidRecord(
                f"{path} is a record of another version: measure anew with `flashlearn bench`."
            )
        cells = {name: tuple(map(_cell, found.pop(name))) for name in ("cells", "small")}
        memory = tuple(
            MemoryUse(**{**one, "problem": Problem(**one["problem"])}) for one in found.pop("memory")
        )
        return Record(**found, **cells, memory=memory)
    except InvalidRecord:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidRecord(f"{path} is no record of `flashlearn bench --json`: {error}.") from error


def _cell(given: dict[str, Any]) -> Cell:
    return Cell(**{**given, "problem": Problem(**given["problem"])})


def shipped(name: str = "h200") -> Record | None:
    """A record that comes with the package; None if there is none of this name."""
    path = SHIPPED / f"{name}.json"
    return load(path) if path.exists() else None
