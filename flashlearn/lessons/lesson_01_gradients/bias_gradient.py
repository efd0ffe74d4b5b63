"""`bias_gradient`: the sum of each column over a ragged batch."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import bias_gradient as kernels
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import with_faults
from flashlearn.lessons.shared.faulty_formulas.sums import column_sums
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status


def _wide(dy: Tensor) -> Tensor:
    return dy if dy.dtype == torch.float64 else dy.float()


def column_sums_in_torch(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij, carried in fp32 at least."""
    return _wide(dy).sum(dim=0).to(dy.dtype)


def column_sums_by_tiles(dy: Tensor) -> Tensor:
    """The same in tiles of 32 rows, one after another."""
    parts = (tile.sum(dim=0) for tile in _wide(dy).split(32))
    return functools.reduce(torch.add, parts).to(dy.dtype)


def column_sums_in_order(dy: Tensor) -> Tensor:
    """The same one row after another, as a loop over the rows adds them."""
    return functools.reduce(torch.add, _wide(dy).unbind(dim=0)).to(dy.dtype)


def column_sums_work(inputs: Inputs) -> Work:
    """M − 1 additions per column; every element read once, one written per column."""
    M, N = inputs["dy"].shape
    return Work(operations=float((M - 1) * N), bytes=float((M + 1) * N * inputs["dy"].element_size()))


STORE = "tl.store(db_ptr + j, db, mask=in_columns)"
LOAD_AND_STORE = "tl.store(db_ptr + j, tl.load(db_ptr + j, mask=in_columns, other=0.0) + db, mask=in_columns)"
A_PROGRAM_PER_TILE = (
    ("range(0, M, BLOCK_M)", "range(tl.program_id(1) * BLOCK_M, M, tl.num_programs(1) * BLOCK_M)"),
    ("(triton.cdiv(N, BLOCK_N),)", "(triton.cdiv(N, BLOCK_N), triton.cdiv(M, BLOCK_M))"),
    ("torch.empty(N, dtype=dy.dtype", "torch.zeros(N, dtype=torch.float32"),
    ("return db", "return db.to(dy.dtype)"),
)
"""Several programs add to each column."""


def _with(*edits: tuple[str, str]) -> Variant:
    return variant(kernels.bias_gradient, kernels.bias_gradient_kernel, edits=edits)


MISTAKES = {
    "rows below the matrix": Mistake(
        "A load reaches below the last row: its mask lets through rows that do not exist.",
        "A mask hides the rows from M on.",
        launcher=_with(("mask=in_tile", "mask=in_columns[None, :]")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides swapped": Mistake(
        "The strides are swapped, or the indices are: the program walks along rows where it "
        "should walk down columns.",
        "dy[i, j] lies i row strides and j column strides from the first element, whatever the view.",
        launcher=_with(("*dy.stride()", "dy.stride(1), dy.stride(0)")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the first tile only": Mistake(
        "Only the rows of the first tile are added up. A batch has more rows than a tile.",
        "Where do the rows of the second tile enter the sums?",
        **with_faults(column_sums, "first tile only"),
    ),
    "the last, short tile left out": Mistake(
        "The rows of the last tile are missing from the sums, either always or only where that "
        "tile is not full.",
        "Where does row M − 1, the last one, enter the sums?",
        **with_faults(column_sums, "ragged tile left out", also=("last tile left out",)),
    ),
    "the first tile left out": Mistake(
        "The rows of the first tile are missing from the sum.",
        "Where do the rows of the first tile enter the sums?",
        **with_faults(column_sums, "first tile left out"),
    ),
    "tiles that overlap": Mistake(
        "Rows are counted more than once, as if a tile had more rows than the step to the next one.",
        "A tile begins with the row after the last one of the tile before.",
        **with_faults(column_sums, "tiles twice as high", also=("steps of one row",)),
    ),
    "mean instead of sum": Mistake(
        "You divided by the number of rows. The bias is added once in each row, so its gradients add up.",
        "If the loss is a mean, its 1/M is in dy already.",
        **with_faults(column_sums, "mean"),
    ),
    "summed along the wrong axis": Mistake(
        "The sums run along the rows of a tile, where they should run down its columns. With square tiles "
        "the shapes fit, and the sums of rows land where the sums of columns belong.",
        "db[j] adds up over i: which axis of the tile is i?",
        **with_faults(column_sums, "rows of the tile summed"),
    ),
    "the last tile overwrites": Mistake(
        "db holds the sums of the last tile alone, as if each tile's sums replaced those before.",
        "Where do the sums of the earlier tiles get lost?",
        **with_faults(column_sums, "last tile only"),
    ),
    "load, add, store": Mistake(
        "Several programs add to the same columns of db, each with a separate "
        "load and store. What one adds between another's load and store is lost.",
        "An atomic addition loads, adds and stores in one step; or let one program own a column from top to "
        "bottom.",
        launcher=_with(*A_PROGRAM_PER_TILE, (STORE, LOAD_AND_STORE)),
        status=Status.RACE,
    ),
    "uninitialised memory": Mistake(
        "The programs add to memory that was never set to zero: db starts with whatever was there.",
        "Atomic additions need memory that starts at zero: allocate it with torch.zeros.",
        launcher=_with(
            *A_PROGRAM_PER_TILE,
            (STORE, "tl.atomic_add(db_ptr + j, db, mask=in_columns)"),
            ("torch.zeros(N", "torch.empty(N"),
        ),
    ),
    "tiles summed in half precision": Mistake(
        "The tiles are summed in half precision: the sum of fp16 numbers is an fp16 sum.",
        "Convert to fp32 before you add, and keep the sums in it.",
        launcher=_with(("dy.to(tl.float32)", "dy")),
    ),
}


def batch(M: int, N: int, dtype: torch.dtype = torch.float32, note: str = "", **more: object) -> Case:
    """dy [M, N], the gradients of a batch of M rows."""
    tags = {"ragged": bool(M % 32 or N % 32), "large": False}
    return build_case(f"{M}×{N}", {"M": M, "N": N}, dtype, note, tags=tags, **more)


def batch_of_gradients(case: Case, generator: torch.Generator) -> Inputs:
    """dy [M, N]. "the last row takes back the rest": partial sums are large, the columns' sums small."""
    dy = (torch.randn(case.sizes["M"], case.sizes["N"], generator=generator) * case.magnitude).to(case.dtype)
    if case.data == "the last row takes back the rest":
        dy = 10 * dy.abs()
        dy[-1] = -dy[:-1].float().sum(dim=0).to(case.dtype)
    return {"dy": lay_out(dy, case.layout)}


bias_gradient = Exercise(
    name="bias_gradient",
    lesson="01",
    kind=Kind.KERNEL,
    title="The sum of each column over a ragged batch",
    signature="(dy) -> db",
    outputs=("db",),
    inputs=batch_of_gradients,
    cases=(
        batch(64, 128, note="whole tiles", seed=1),
        batch(4, 3, note="less than a tile"),
        batch(70, 37, note="ragged both ways", seed=2),
        batch(1, 50, note="one row", seed=3),
        batch(101, 1, note="one column", seed=4),
        batch(45, 150, note="several blocks of columns", seed=5),
        batch(50, 20, note="a window of a wider matrix", layout="strided", seed=6),
        batch(40, 21, note="transposed view", layout="transposed", seed=7),
        batch(90, 33, note="values near 10⁴", magnitude=1e4, seed=8),
        # a sum carried in half precision loses what is left over
        batch(200, 70, torch.float16, "cancelling", data="the last row takes back the rest", seed=9),
        batch(130, 300, torch.bfloat16, seed=10),
        batch(1030, 3, note="many rows", seed=14),
        batch(16384, 4096, torch.float16, seed=11, gpu=True),
        batch(5003, 999, torch.bfloat16, layout="transposed", seed=12, gpu=True),
    ),
    judged=HowJudged(
        reference=column_sums_in_torch,
        twins=(column_sums_by_tiles, column_sums_in_order),
        gradient=True,
        atomics=True,
        work=column_sums_work,
        real_sizes={"M": 512, "N": 512, "rows apart": 2**23, "columns apart": 2**23},
    ),
    timed=HowTimed(
        peer=lambda dy: torch.sum(dy, dim=0),
        case=batch(32768, 4096, torch.float16, gpu=True, seed=13),
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
    points=2,
    solution="flashlearn.kernels.bias_gradient:bias_gradient",
)
