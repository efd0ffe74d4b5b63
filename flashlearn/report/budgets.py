"""What the GPU compilers made of the kernels: budgets as a table, refusals with the learner's line."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.outcome import Place
from flashlearn.report.line import Where, where
from flashlearn.report.measures import Table
from flashlearn.report.units import byte_size

if TYPE_CHECKING:
    from flashlearn.compiler import Budget
    from flashlearn.report import Report


@dataclass(frozen=True)
class Refusal:
    """What a compiler said, or what is to be said of what it made, and where."""

    device: str
    error: str
    where: Where | None


@dataclass(frozen=True)
class CompiledTable:
    """`state` is waiting, ready or unknown; the table has a row per kernel and GPU."""

    state: str
    words: str
    table: Table | None = None
    refusals: tuple[Refusal, ...] = ()


def compiled(report: Report) -> CompiledTable | None:
    """What the GPU compilers made of the kernels, so far."""
    future = report.budgets
    if future is None:
        return None
    if not future.done():
        return CompiledTable("waiting", "Compiling for A100 and H100 …")
    budgets = _result(future)
    if isinstance(budgets, str):
        return CompiledTable("unknown", budgets)
    if not budgets:
        return None
    fine = [b for b in budgets if not b.error]
    refusals = tuple(_refusal(b) for b in budgets if b.error or b.advice)
    several = len({b.kernel for b in budgets}) > 1
    head = ("GPU", "registers", "spilled", "shared memory", "occupancy", "tensor cores", "TMA")
    rows = tuple(_budget_row(b, several) for b in fine)
    note = "Registers and spilled bytes are per thread; shared memory is per program."
    table = Table((("kernel", *head) if several else head), rows, (note,)) if rows else None
    return CompiledTable("ready", "", table, refusals)


def _result(future: Future[tuple[Budget, ...]]) -> tuple[Budget, ...] | str:
    """The budgets, or a sentence on why there are none."""
    if future.cancelled():
        return "The compilation for A100 and H100 was stopped."
    error = future.exception()
    if error is not None:
        return f"The compilation for A100 and H100 did not finish: {error or type(error).__name__}."
    return future.result()


def _device(budget: Budget) -> str:
    return f"{budget.device} (sm_{budget.target})"


def _budget_row(budget: Budget, several: bool) -> tuple[str, ...]:
    cells = (
        _device(budget),
        "–" if budget.registers is None else str(budget.registers),
        byte_size(budget.spill_bytes) if budget.spill_bytes else "none",
        byte_size(budget.shared_bytes) if budget.shared_bytes else "none",
        "–" if budget.occupancy is None else f"{100 * budget.occupancy:.0f} %",
        budget.tensor_cores or "not used",
        "used" if budget.tma else "not used" if budget.target >= 90 else "–",
    )
    return (budget.kernel, *cells) if several else cells


def _refusal(budget: Budget) -> Refusal:
    device = f"{_device(budget)}, {budget.kernel}" if budget.kernel else _device(budget)
    said = budget.error or budget.advice
    if budget.line is None:
        return Refusal(device, said, None)
    return Refusal(device, said, where(Place(budget.file, budget.line, budget.text)))
