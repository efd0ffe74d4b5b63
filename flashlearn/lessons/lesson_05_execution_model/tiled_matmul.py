"""`tiled_matmul`: a matrix product, one program per tile."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import matmul as kernels
from flashlearn.lessons.shared import example, quantities
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas import sums
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status

formula = faulty_formula(sums.matmul)

_DOT = 'tl.dot(a, b, input_precision="ieee")'


def _with(*edits: tuple[str, str]) -> Variant:
    return variant(kernels.tiled_matmul, kernels.tiled_matmul_kernel, edits=edits)


MISTAKES = {
    "accumulator overwritten": Mistake(
        "C holds the last block of the inner dimension alone, as if each step of the loop replaced the sum.",
        "Each tile of C is the sum over all blocks of the inner dimension.",
        **formula("last tile only"),
    ),
    "last block of K left out": Mistake(
        "The last block of the inner dimension is missing from C, either always or only where that block is "
        "not full.",
        "Where does the product with inner index K − 1, the last one, enter the sum?",
        **formula("ragged tile left out", also=("last tile left out",)),
    ),
    "last element of K left out": Mistake(
        "Every sum lacks its last product: only the elements 0 to K − 2 of the inner dimension are used.",
        "The inner dimension is counted from 0 to K − 1: what leaves K − 1 out?",
        **formula("last line left out"),
    ),
    "inner index wraps around": Mistake(
        "Where the last block of the inner dimension extends beyond K, it begins again at the first ones, "
        "and their products are added a second time.",
        "Lanes whose inner index is K or more must add nothing: 0 belongs in their place.",
        **formula("inner index wraps around"),
    ),
    "addresses do not advance": Mistake(
        "Every step of the loop multiplies the first blocks of A and B again, as if the addresses did not "
        "move.",
        "From step to step the inner index grows by the size of a block.",
        **formula("A stays", "B stays"),
    ),
    "A's pointer is not advanced": Mistake(
        "Every step of the loop uses the first block of A.",
        "In each step A is read at the same inner indices as B.",
        **formula("A stays"),
    ),
    "B's pointer is not advanced": Mistake(
        "Every step of the loop uses the first block of B.",
        "In each step B is read at the same inner indices as A.",
        **formula("B stays"),
    ),
    "first block of K left out": Mistake(
        "The first block of the inner dimension is missing from C.",
        "Where do the products of the first block enter the sum?",
        **formula("first tile left out"),
    ),
    "tiles not turned back": Mistake(
        "Each tile of C holds the right numbers, transposed in its place.",
        "Which index counts rows in what is stored, and which one in the addresses of the store?",
        **formula("tiles not turned back"),
    ),
    "inner dimension not masked": Mistake(
        "The inner dimension is not masked: the last block of the loop reaches beyond K, into the next "
        "row, and from the last row beyond the matrix.",
        "Lanes whose inner index is K or more are masked, and hold 0, since they enter the sum.",
        launcher=_with(("in_inner = inner < K", "in_inner = inner < K + BLOCK_K")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "store without mask": Mistake(
        "The store has no mask: a tile at the edge writes beyond C.",
        "tl.store takes the mask of rows and columns.",
        launcher=_with(("acc, mask=in_rows[:, None] & in_columns[None, :])", "acc)")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of A used for B": Mistake(
        "B is addressed with the strides of A. A and B are different matrices, and their rows have "
        "different lengths.",
        "Address B with its own two strides.",
        launcher=_with(("*b.stride()", "*a.stride()")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "views taken for contiguous": Mistake(
        "The addresses assume rows that lie side by side; in a slice or a transposed view they do not.",
        "Each matrix has a stride of its own for each dimension: multiply every index by it.",
        launcher=_with(("*a.stride(), *b.stride()", "K, 1, N, 1")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "programs swapped": Mistake(
        "Rows and columns are exchanged in the grid, or where a program computes which tile is its own: "
        "where there are more tiles in one direction than in the other, some tiles of C have no program.",
        "How many tiles of C are there down, and how many across?",
        launcher=_with(
            ("rows = tl.program_id(0)", "rows = tl.program_id(1)"),
            ("columns = tl.program_id(1)", "columns = tl.program_id(0)"),
        ),
    ),
    "accumulator in half precision": Mistake(
        "The running sum is kept in half precision, or products are rounded to it before they are added: a "
        "sum that grows over many blocks loses what each of them adds.",
        "Keep the sum, and what is added to it, in fp32; convert once, at the store.",
        launcher=_with(
            ("dtype=tl.float32", "dtype=c_ptr.dtype.element_ty"),
            (f"acc += {_DOT}", f"acc = (acc + {_DOT}).to(acc.dtype)"),
        ),
    ),
}


def product(
    M: int, N: int, K: int, dtype: torch.dtype = torch.float32, shape: str = "", note: str = "", **more: Any
) -> Case:
    """A product [M, K] by [K, N]; ragged in tiles of 32×64×16. `shape` says what is special in the sizes."""
    label = f"{M}×{N}, inner {K}" + (f": {shape}" if shape else "")
    tags = {"ragged": bool(M % 32 or N % 64 or K % 16)}
    return build_case(label, {"M": M, "N": N, "K": K}, dtype, note, tags=tags, **more)


CASES = (
    product(37, 50, 70, seed=1, shape="ragged in all three"),
    product(32, 64, 16, seed=2, shape="one whole tile"),
    product(64, 64, 48, seed=3, shape="whole tiles"),
    product(1, 1, 1, seed=4),
    product(33, 20, 16, seed=5, shape="one row too many"),
    product(20, 65, 17, seed=6, shape="one column too many"),
    product(100, 30, 5, seed=7, shape="tall"),
    product(10, 150, 40, seed=8, shape="wide"),
    product(40, 30, 24, layout="strided", seed=11, note="slices of wider matrices"),
    build_case(
        "",
        {"M": 4, "N": 3, "K": 2},
        note="Q Kᵀ of the course's example",
        tags={"ragged": True},
        data="example",
    ),
    product(30, 40, 24, layout="transposed", data="a is a view", seed=9, note="a transposed"),
    product(30, 40, 24, layout="transposed", data="b is a view", seed=10, note="b transposed"),
    product(20, 30, 20, layout="every 2nd column", seed=12),
    product(33, 40, 60, magnitude=30.0, seed=13),
    product(40, 70, 100, torch.float16, data="cancelling", seed=14),
    product(40, 70, 100, torch.bfloat16, seed=15),
    product(16, 24, 1030, torch.float16, data="positive", seed=16),
    product(40, 40, 40, seed=20, shape="square"),
    product(300, 3, 5, seed=21, shape="very tall"),
    product(3, 300, 5, seed=22, shape="very wide"),
    product(1024, 1024, 1024, torch.float16, seed=17, gpu=True),
    product(1000, 3000, 777, torch.bfloat16, seed=18, gpu=True),
    product(777, 500, 1001, layout="transposed", seed=19, gpu=True),
)


def matmul_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """a [M, K] and b [K, N]; `data` says which of them has the case's layout, or "positive" numbers.

    Where they are "cancelling", the second half of the sums nearly takes back the first: a product that is
    rounded before it is added shows.
    """
    if case.data == "example":
        return {"a": example.Q.to(case.dtype), "b": example.K.to(case.dtype).t()}
    M, N, K = (case.sizes[name] for name in "MNK")
    a, b = (torch.randn(shape, generator=generator) * case.magnitude for shape in ((M, K), (K, N)))
    if case.data == "positive":
        a, b = a.abs() + 0.5, b.abs() + 0.5
    if case.data == "cancelling":
        half = K // 2
        a[:, half:], b[half:] = -a[:, :half], b[:half] + 0.05 * b[half:]
    a, b = a.to(case.dtype), b.to(case.dtype)
    return {
        "a": a if case.data == "b is a view" else lay_out(a, case.layout),
        "b": b if case.data == "a is a view" else lay_out(b, case.layout),
    }


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """C = A B with sums in fp32 (fp64 for fp64 inputs), in a's dtype: [M, K] and [K, N] → [M, N]."""
    wide = torch.float64 if a.dtype == torch.float64 else torch.float32
    return (a.to(wide) @ b.to(wide)).to(a.dtype)


def matmul_in_blocks(a: Tensor, b: Tensor, block: int = 16) -> Tensor:
    """The same, summed block by block of the inner dimension."""
    wide = torch.float64 if a.dtype == torch.float64 else torch.float32
    parts = zip(a.to(wide).split(block, dim=1), b.to(wide).split(block, dim=0), strict=True)
    return sum(a_k @ b_k for a_k, b_k in parts).to(a.dtype)


def matmul_work(inputs: Inputs) -> Work:
    """A multiply-add per element of C and of the inner dimension; each matrix moved once."""
    (M, K), N, size = inputs["a"].shape, inputs["b"].shape[1], inputs["a"].element_size()
    return Work(operations=2.0 * M * N * K, bytes=float(size * (M * K + K * N + M * N)))


def torch_matmul(a: Tensor, b: Tensor) -> Tensor:
    """The peer of tiled_matmul."""
    return a @ b


tiled_matmul = Exercise(
    name="tiled_matmul",
    lesson="05",
    kind=Kind.KERNEL,
    title="A matrix product, one program per tile",
    signature="(a, b) -> c",
    outputs=("c",),
    inputs=matmul_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=matmul,
        twins=(matmul_in_blocks,),
        work=matmul_work,
        real_sizes={"M": 512, "N": 512, "K": 512, "rows apart": 2**23, "columns apart": 2**23},
    ),
    explained=HowExplained(
        quantities=quantities.matmul,
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=torch_matmul,
        peer_name="torch_matmul",
        case=product(4096, 4096, 4096, torch.float16, gpu=True),
    ),
    points=3,
    solution="flashlearn.kernels.matmul:tiled_matmul",
)
