"""Elements that no program writes, and the grid: does it end too early, or do some programs store nothing?

What is said are counts: how many programs the grid has along an axis, and how many indices each one stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.explaining.findings.stores_under_conditions import condition_of_stores, stores_in_a_loop
from flashlearn.later import torch
from flashlearn.observation import Launch

GRID = "How many programs does the grid need along this axis?"
GRID_OR_SHARE = "Does the grid need more programs along this axis, or does each program have more to store?"
IDLE = "Which elements should these programs write: do they store elsewhere, or not at all?"

ONLY_WHERE = (
    "The kernel stores {name} only where `{condition}`. Is that so in each program whose elements must be "
    "written, and what must they be where it is not?"
)


def missing_programs(name: str, writers: torch.Tensor, launches: Sequence[Launch]) -> tuple[str, str]:
    """A sentence about the grid and a next step; two empty ones if the counts do not say anything.

    `writers` are the flat numbers of the programs that stored each element, −1 for none.
    """
    launch = launch_of(name, launches)
    if launch is None:
        return "", ""
    grid = launch.grid
    stored = sorted({int(one) for one in writers.unique() if one >= 0})
    if not stored or stored[-1] >= grid[0] * grid[1] * grid[2]:
        return "", ""
    idle = grid[0] * grid[1] * grid[2] - len(stored)
    if idle:
        count = grid[0] * grid[1] * grid[2]
        sentence = f"{idle} of the {count} programs of the grid wrote nothing to {name}."
        condition = condition_of_stores(name, launch)
        return sentence, ONLY_WHERE.format(name=name, condition=condition) if condition else IDLE
    for dim in range(writers.ndim):
        where = f"indices of dimension {dim} of {name}" if writers.ndim > 1 else f"indices of {name}"
        short = _too_short(writers.movedim(dim, 0).reshape(writers.shape[dim], -1), grid)
        if short is not None:
            axis, block = short
            return _of_a_short_grid(grid[axis], axis, block, writers.shape[dim], where, launch)
    return "", ""


def launch_of(name: str, launches: Sequence[Launch]) -> Launch | None:
    """The only launch, or of several the one whose kernel has a parameter with the output's name."""
    if len(launches) > 1:
        launches = [one for one in launches if {name, f"{name}_ptr"} & {*one.signature}]
    return launches[0] if len(launches) == 1 else None


def _of_a_short_grid(
    count: int, axis: int, block: int, size: int, where: str, launch: Launch
) -> tuple[str, str]:
    programs = "1 program" if count == 1 else f"{count} programs"
    each = "which stores" if count == 1 else "each of which stores"
    seen = f"The grid has {programs} along axis {axis}, {each} {block} of the {size} {where}"
    tiles = [x for x in launch.constexprs.values() if type(x) is int and x > 1]
    others = any(-(-size // x) == count for x in tiles if x != block)  # the grid may be of these
    if block in tiles and not others and not stores_in_a_loop(launch):
        return f"{seen}: with blocks of {block}, {-(-size // block)} are needed.", GRID
    return f"{seen}: that makes {count * block}.", GRID_OR_SHARE


def _too_short(writers: torch.Tensor, grid: tuple[int, int, int]) -> tuple[int, int] | None:
    """The axis along which programs store equal blocks and the last ones are missing, and a block's size."""
    size = len(writers)
    written = (writers >= 0).all(1)
    reached = int(written.sum())
    if not 0 < reached < size or not bool(written[:reached].all()) or bool((writers[reached:] >= 0).any()):
        return None
    part = writers[:reached]
    numbers = (part // (grid[1] * grid[2]), part // grid[2] % grid[1], part % grid[2])
    for axis, (own, count) in enumerate(zip(numbers, grid, strict=True)):
        block = reached // count
        expected = (torch.arange(reached) // max(block, 1))[:, None]
        if block * count == reached and bool((own == expected).all()):
            return axis, block
    return None
