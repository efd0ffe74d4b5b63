"""`described_maximum`: rows of a head loaded by a descriptor, and what it reads beyond the tensor."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from flashlearn import compiler
from flashlearn.exercise import (
    Case,
    Earlier,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Mistake,
    Work,
)
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled, with_faults
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

BY_BLOCKS = frozenset({"zeros beyond", "blocks counted", "first block", "last block"})


@tiled(BY_BLOCKS, one_side=True)
def column_maximum(x: Tensor, faults: Faults = NONE, tile: Tile = (32, 32)) -> Tensor:
    """The maximum over the rows of x [B, H, S, D], with faults by name."""
    rows, S = tile[0], x.shape[2]
    starts = range(0, S, rows)
    if "first block" in faults:
        x = x[:, :, :rows]
    if "last block" in faults:
        x = x[:, :, starts[-1] :]
    if "blocks counted" in faults:
        x = torch.cat([x[:, :, i : i + min(rows, S - start)] for i, start in enumerate(starts)], dim=2)
    best = x.amax(2)
    if "starts at 0" in faults or ("zeros beyond" in faults and S % rows):
        best = best.clamp(min=0)
    if "head first" in faults:
        B, H = best.shape[:2]
        exchanged = torch.zeros_like(best)  # coordinates beyond the tensor: zeros
        both = min(B, H)
        exchanged[:both, :both] = best[:both, :both].transpose(0, 1)
        best = exchanged
    return best


MISTAKES = {
    "zeros beyond the last row": Mistake(
        "At least one row that does not exist counts as 0, which is the largest number where a column "
        "holds only negative ones.",
        "Row i exists if i < S.",
        **with_faults(column_maximum, "zeros beyond"),
    ),
    "the maximum starts at 0": Mistake(
        "No result is below 0, whatever the column holds.",
        "Which number is below every element, for the first maximum and for rows that do not exist?",
        **with_faults(column_maximum, "starts at 0"),
    ),
    "coordinates counted in blocks": Mistake(
        "Each step's block begins one row after the one before, as if coordinates counted blocks.",
        "A descriptor's coordinates are those of the block's first element.",
        **with_faults(column_maximum, "blocks counted"),
    ),
    "the first block in every step": Mistake(
        "Only the first block of rows is in the result.",
        "Which step loads the second block of rows?",
        **with_faults(column_maximum, "first block"),
    ),
    "the last block alone": Mistake(
        "Only the last block of rows is in the result, as if each step replaced the maximum so far.",
        "After each step, the maximum must be that of all rows up to there.",
        **with_faults(column_maximum, "last block"),
    ),
    "head and batch exchanged": Mistake(
        "The result of batch entry b and head h is that of batch entry h and head b where these exist, and "
        "else 0.",
        "A descriptor takes its coordinates in the order of the tensor's dimensions.",
        **with_faults(column_maximum, "head first"),
    ),
}


def heads(B: int, H: int, S: int, D: int, dtype: torch.dtype = torch.float32, **more: Any) -> Case:
    """x [B, H, S, D]; "rows before heads" is a view of [B, S, H, D], "columns first" of [B, H, D, S]."""
    tags = {"ragged": S % 32 != 0, "heads": B * H > 1, "padded D": bool(D & (D - 1)), "large": False}
    return build_case(
        f"B {B}, H {H}, S {S}, D {D}", {"B": B, "H": H, "S": S, "D": D}, dtype, tags=tags, **more
    )


def rows_of_heads(case: Case, generator: torch.Generator) -> Inputs:
    """x laid out as the case says; where `data` is "all below 0", it is."""
    B, H, S, D = (case.sizes[name] for name in ("B", "H", "S", "D"))
    x = torch.randn(B, H, S, D, generator=generator)
    x = (-0.5 - x.abs() if case.data == "all below 0" else x).to(case.dtype)
    if case.layout == "rows before heads":
        x = x.transpose(1, 2).contiguous().transpose(1, 2)
    if case.layout == "columns first":
        x = x.mT.contiguous().mT
    return {"x": x}


def largest(x: Tensor) -> Tensor:
    """The maximum over the rows."""
    return column_maximum(x)


def torch_amax(x: Tensor) -> Tensor:
    """The baseline."""
    return torch.amax(x, dim=2)


def read_once(inputs: Inputs) -> Work:
    """No sums; every number is read once."""
    return Work(0.0, float(inputs["x"].numel() * inputs["x"].element_size()))


def by_the_copy_engine(answer: Answer, earlier: Earlier) -> str:
    """A sentence if no kernel loads by a descriptor when it is compiled for an H100."""
    inputs = rows_of_heads(heads(2, 2, 100, 64, FP16, seed=20), torch.Generator().manual_seed(20))
    launches = answer.run(inputs, Observed()).completed().observation.launches
    if any(compiler.compile_launch(launch, targets=(90,))[0].tma for launch in launches):
        return ""
    return (
        "The result is right, but no tile comes through the copy engine: the kernel computes addresses. "
        "`TensorDescriptor.from_tensor` makes a descriptor, and its `load` takes coordinates."
    )


BELOW = {"data": "all below 0"}
described_maximum = Exercise(
    name="described_maximum",
    lesson="12",
    kind=Kind.KERNEL,
    title="The largest number of each column, by a descriptor",
    signature="(x) -> y",
    outputs=("y",),
    inputs=rows_of_heads,
    cases=(
        heads(1, 1, 32, 16, seed=1),
        heads(2, 3, 100, 64, seed=2, **BELOW),
        heads(1, 2, 20, 36, seed=3, **BELOW),
        heads(3, 2, 70, 24, layout="rows before heads", seed=4),
        heads(2, 2, 64, 64, seed=5, **BELOW),
        heads(1, 1, 1, 16, seed=6, **BELOW),
        heads(2, 2, 75, 16, layout="columns first", seed=7, **BELOW),
        heads(2, 1, 40, 20, FP16, seed=8, **BELOW),
        heads(1, 3, 150, 64, BF16, seed=9),
        heads(4, 16, 4096, 128, BF16, seed=10, gpu=True),
    ),
    judged=HowJudged(reference=largest, accumulates=False, work=read_once, review=by_the_copy_engine),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=torch_amax, peer_name="torch_amax", case=heads(4, 16, 4096, 128, BF16, seed=11, gpu=True)
    ),
    points=1,
    solution="flashlearn.lessons.lesson_12_tuning.maxima:described_maximum",
)
