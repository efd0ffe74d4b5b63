"""A record as tables for a terminal: ratios first, which hold on other machines too; then rates."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from flashlearn.bench.contestants import CUDNN
from flashlearn.bench.problems import DIRECTIONS, Problem
from flashlearn.bench.record import Cell, Record, mean

SIDES = tuple((direction, causal) for direction in DIRECTIONS for causal in (False, True))


def tables(record: Record) -> Iterator[str | Table]:
    """Sentences and tables, in the order in which they are read."""
    yield f"Measured on {record.device['gpu']}, {record.made}: {_versions(record)}."
    product, copy = record.reached["product"] / 1e12, record.reached["copy"] / 1e12
    yield f"A large matrix product in bf16 reaches {product:.0f} TFLOP/s there, a large copy {copy:.2f} TB/s."
    if CUDNN in record.contestants:
        yield ratios(record)
    yield rates(record)
    if record.small:
        yield small(record)
    yield from (f"Left out: {name}. {reason}" for name, reason in record.left_out.items())
    if any(cell.unsteady for cell in (*record.cells, *record.small)):
        yield "~ marks times whose single calls vary by more than 5 % of the median (p90 − p10)."


def ratios(record: Record) -> Table:
    """Speed over cuDNN's: the geometric mean over the shapes of a column, and the least of them."""
    head = [f"{direction} {_mask(causal)}" for direction, causal in SIDES]
    title = "Speed relative to SDPA's cuDNN backend: geometric mean over shapes (least)"
    table = Table("", *head, title=title)
    for name, shown in record.contestants.items():
        found = [record.ratios(name, CUDNN, *side) for side in SIDES]
        if any(found):
            table.add_row(
                shown, *(f"{mean(one):.2f} ({min(one.values()):.2f})" if one else "–" for one in found)
            )
    return table


def rates(record: Record) -> Table:
    """TFLOP/s of every contestant in every shape and direction."""
    names = [name for name in record.contestants if any(c.contestant == name for c in record.cells)]
    table = Table(
        "shape", "direction", *(record.contestants[name] for name in names), title="TFLOP/s, bf16, 16k tokens"
    )
    for problem in record.problems:
        for direction in DIRECTIONS:
            cells = [record.cell(name, problem, direction) for name in names]
            table.add_row(
                problem.name, direction, *map(_rate, cells), end_section=direction == DIRECTIONS[-1]
            )
    return table


def small(record: Record) -> Table:
    """Microseconds of small problems, Python included."""
    columns = list(dict.fromkeys((cell.problem, cell.direction) for cell in record.small))
    head = [f"D {problem.D}, {direction}" for problem, direction in columns]
    sizes = _sizes(columns[0][0])
    table = Table("", *head, title=f"Wall time of one call in µs, Python included, {sizes}")
    for name, shown in record.contestants.items():
        mine = {(c.problem, c.direction): c for c in record.small if c.contestant == name}
        if mine:
            cells = [mine.get(column) for column in columns]
            table.add_row(shown, *(f"{1e3 * c.milliseconds:.0f}{_mark(c)}" if c else "–" for c in cells))
    return table


def _sizes(problem: Problem) -> str:
    return f"B {problem.B}, H {problem.H}, S {problem.S}"


def _rate(cell: Cell | None) -> str:
    return f"{cell.rate / 1e12:.0f}{_mark(cell)}" if cell else "–"


def _mark(cell: Cell) -> str:
    return " ~" if cell.unsteady else ""


def _mask(causal: bool) -> str:
    return "causal" if causal else "full"


def _versions(record: Record) -> str:
    packages = ("torch", "triton", "flash-attn-4")
    named = [f"{name} {record.versions[name]}" for name in packages if record.versions.get(name)]
    if cudnn := record.versions.get("cudnn"):  # 91900 is 9.19.0
        named.append(f"cuDNN {int(cudnn) // 10_000}.{int(cudnn) // 100 % 100}.{int(cudnn) % 100}")
    if driver := record.device.get("driver"):
        named.append(f"driver {driver}")
    return ", ".join(named)
