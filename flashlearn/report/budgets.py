"""What the GPU compilers report of the kernels: resources as a table, refusals with the learner's line."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.machine import device
from flashlearn.outcome import Place
from flashlearn.report.data import CheckResult
from flashlearn.report.source import Excerpt, excerpt
from flashlearn.report.traffic import Table
from flashlearn.report.units import byte_size, case_title

if TYPE_CHECKING:
    from flashlearn.compiler import Budget
    from flashlearn.exercise import Case


FIGURES = ("types", "registers", "spilled", "shared memory", "occupancy", "tensor cores", "TMA")
NOTE = "Registers and spilled bytes are per thread; shared memory is per program."


@dataclass(frozen=True)
class Refusal:
    """What a compiler refuses, or a remark on what it accepts, and where."""

    device: str
    error: str
    where: Excerpt | None


@dataclass(frozen=True)
class CompiledTable:
    """`state` is waiting, ready or unknown; `summary` says so, or on which GPUs the kernel is refused.

    `targets` are the GPUs that the kernels are compiled for.
    """

    state: str
    summary: str
    targets: str
    table: Table | None = None
    refusals: tuple[Refusal, ...] = ()


def compiled_of(result: CheckResult) -> CompiledTable | None:
    """What the GPU compilers report of the kernels, so far."""
    future = result.budgets
    if future is None:
        return None
    targets = _targets(result)
    if not future.done():
        return CompiledTable("waiting", f"Compiling for {targets} …", targets)
    budgets = _result(future, targets)
    if isinstance(budgets, str):
        return CompiledTable("unknown", budgets, targets)
    if not budgets:
        return None
    fine = [b for b in budgets if not b.error]
    refusals = tuple(_refusal(b) for b in budgets if b.error or b.advice)
    table = _table(fine, result.compiled) if fine else None
    return CompiledTable("ready", _refused(budgets), targets, table, refusals)


def _refused(budgets: tuple[Budget, ...]) -> str:
    """On which GPUs a compiler refuses the kernel."""
    devices = dict.fromkeys(b.device for b in budgets if b.error)
    return f"not on {' and '.join(devices)}" if devices else ""


def _table(fine: list[Budget], case: Case | None) -> Table:
    """A column for each kernel and GPU, and a row for each figure."""
    several = len({(b.kernel, b.types) for b in fine}) > 1
    head = tuple(f"{b.kernel}, {_device(b)}" if several else _device(b) for b in fine)
    rows = zip(FIGURES, *map(_figures, fine), strict=True)
    launched = (f"Compiled as launched for {case_title(case)}.",) if case is not None else ()
    return Table(("", *head), tuple(rows), (*launched, *_constants(fine), NOTE))


def _targets(result: CheckResult) -> str:
    """The GPUs that are compiled for: kernels in Gluon name Hopper's own instructions."""
    jobs = [launch.job or {} for outcome in result.outcomes for launch in outcome.launches]
    only = jobs and all(job.get("gluon") for job in jobs)
    here = device.present()
    targets = device.GLUON_ONLY if only else device.shown_targets()
    named = {target: device.nearest(target).name for target in targets}
    if here is not None and here.target in named:
        named[here.target] = here.name
    return device.joined(list(named.values()))


def _result(future: Future[tuple[Budget, ...]], targets: str) -> tuple[Budget, ...] | str:
    """The budgets, or a sentence on why there are none."""
    if future.cancelled():
        return f"The compilation for {targets} was stopped."
    error = future.exception()
    if error is not None:
        return f"The compilation for {targets} did not finish: {error or type(error).__name__}."
    return future.result()


def _constants(budgets: list[Budget]) -> tuple[str, ...]:
    """The constants that the kernels were compiled with: other constants give other figures."""
    kernels = dict.fromkeys((b.kernel, b.constants) for b in budgets if b.constants)
    several = len({kernel for kernel, _ in kernels}) > 1
    return tuple(f"{kernel if several else 'Compiled'} with {constants}." for kernel, constants in kernels)


def _device(budget: Budget) -> str:
    return f"{budget.device} (sm_{budget.target})"


def _figures(budget: Budget) -> tuple[str, ...]:
    return (
        budget.types or "–",
        "–" if budget.registers is None else str(budget.registers),
        byte_size(budget.spill_bytes) if budget.spill_bytes else "none",
        byte_size(budget.shared_bytes) if budget.shared_bytes else "none",
        "–" if budget.occupancy is None else f"{100 * budget.occupancy:.0f} %",
        budget.tensor_cores or "not used",
        "used" if budget.tma else "not used" if budget.target >= 90 else "–",
    )


def _refusal(budget: Budget) -> Refusal:
    parts = (_device(budget), budget.kernel, f"in {budget.types}" if budget.types else "")
    device = ", ".join(filter(None, parts))
    text = budget.error or budget.advice
    if budget.line is None:
        return Refusal(device, text, None)
    return Refusal(device, text, excerpt(Place(budget.file, budget.line, budget.text)))
