"""`matmul_traffic`: the bytes that a tiled product requests."""

from __future__ import annotations

import sympy as sp
import torch

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula

SIZES = ("M", "N", "K", "B_M", "B_N", "B_K", "e")


def traffic(
    M: sp.Expr, N: sp.Expr, K: sp.Expr, B_M: sp.Expr, B_N: sp.Expr, B_K: sp.Expr, e: sp.Expr
) -> sp.Expr:
    """Bytes that tiled_matmul requests: A once per block of columns, B once per block of rows, C once."""
    return e * (M * K * sp.ceiling(N / B_N) + K * N * sp.ceiling(M / B_M) + M * N)


def faulty_traffic(M, N, K, B_M, B_N, B_K, e, faults: Faults = NONE) -> sp.Expr:
    """The bytes that a tiled product requests, with faults by name."""

    def blocks(size, block):
        return _block_count(size, block, faults)

    across, down = blocks(N, B_N), blocks(M, B_M)
    across = N / B_N if "fractions across" in faults else across
    down = M / B_M if "fractions down" in faults else down
    if "each once" in faults:
        across, down = 1, 1
    if "an element per program" in faults:
        across, down = N, M
    if "exchanged" in faults:
        across, down = down, across
    stored = M * N
    if "whole steps" in faults:
        K = B_K * sp.ceiling(K / B_K)
    if "whole blocks" in faults:
        M, N = B_M * sp.ceiling(M / B_M), B_N * sp.ceiling(N / B_N)
    if "whole tiles" in faults or "whole tiles loaded" in faults:
        M, N, K = (block * sp.ceiling(n / block) for n, block in ((M, B_M), (N, B_N), (K, B_K)))
    stored = M * N if "whole tiles" in faults else stored
    rows = B_M * sp.ceiling(M / B_M) if "whole rows of A" in faults else M
    columns = B_N * sp.ceiling(N / B_N) if "whole columns of B" in faults else N
    if "whole tiles stored" in faults:
        stored = B_M * sp.ceiling(M / B_M) * B_N * sp.ceiling(N / B_N)
    stores = 0 if "no stores" in faults else stored
    stores *= 2 if "C read" in faults else 1
    stores *= blocks(K, B_K) if "C in every step" in faults else 1
    stores *= sp.ceiling(K / B_K) if "C in every step, rounded up" in faults else 1
    stores *= 4 / e if "C in fp32" in faults else 1
    return (1 if "elements" in faults else e) * (rows * K * across + K * columns * down + stores)


def _block_count(size: sp.Expr, block: sp.Expr, faults: Faults) -> sp.Expr:
    if "fractions" in faults:
        return size / block
    return sp.floor(size / block) if "rounded down" in faults else sp.ceiling(size / block)


formula = faulty_formula(faulty_traffic)

MISTAKES = {
    "each byte once": Mistake(
        "You counted each byte once, M·K + K·N + M·N elements: those are the unique bytes. Programs are "
        "independent, and each loads what it needs.",
        "How many programs need row 0 of A? Each of them requests it.",
        **formula("each once"),
    ),
    "rows and columns exchanged": Mistake(
        "A is counted once per block of its rows, and B once per block of its columns. It is the other way "
        "round: programs side by side in a row of C load the same rows of A.",
        "A row of A is needed for all columns of C: count the blocks of columns.",
        **formula("exchanged"),
    ),
    "elements, not bytes": Mistake(
        "That is the number of elements: the bytes per element, e, are missing.",
        "Multiply by e.",
        **formula("elements"),
    ),
    "C left out": Mistake(
        "What the programs store is missing.",
        "Each element of C is written once: M·N of them.",
        **formula("no stores"),
    ),
    "C read as well": Mistake(
        "C is counted twice, as if it were read and written. The accumulator lives in registers; C is only "
        "written, once.",
        "Count the M·N elements of C once.",
        **formula("C read"),
    ),
    "C in fp32": Mistake(
        "C is counted with four bytes for each element, the accumulator's. What is stored has C's dtype: e "
        "bytes, like A and B.",
        "Multiply M·N by e.",
        **formula("C in fp32"),
    ),
    "C once per step": Mistake(
        "You counted C in every step over K. The accumulator stays in registers from step to step, and C is "
        "stored once, when the sum is complete.",
        "Count the M·N elements of C once.",
        **formula("C in every step", also=("C in every step, rounded up",)),
    ),
    "one element per program": Mistake(
        "You counted as if each element of C had a program of its own: N rows of A's loads and M of B's. A "
        "tile shares what it loads among B_M · B_N elements.",
        "Count programs, not elements: N/B_N of them, rounded up, side by side.",
        **formula("an element per program"),
    ),
    "sizes need not divide": Mistake(
        "A number of programs is a fraction where the block does not divide the size. A ragged edge has a "
        "program of its own.",
        "Round every number of programs up, with sp.ceiling.",
        **formula("fractions", also=("fractions across", "fractions down")),
    ),
    "rounded down": Mistake(
        "You rounded the number of programs down. A ragged edge has a program too.",
        "Round every number of programs up, with sp.ceiling.",
        **formula("rounded down"),
    ),
    "masked lanes counted": Mistake(
        "You counted whole tiles, also where they extend beyond the edge. A lane that the "
        "mask hides requests nothing.",
        "Count the elements that exist, not the lanes of the tiles.",
        **formula(
            "whole tiles",
            also=(
                *("whole tiles loaded", "whole steps", "whole blocks", "whole tiles stored"),
                *("whole rows of A", "whole columns of B", ("whole rows of A", "whole columns of B")),
            ),
        ),
    ),
}


def traffic_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """Sizes, blocks and bytes per element: the case's numbers, or positive integers for those it lacks."""
    symbols = {name: sp.Symbol(name, integer=True, positive=True) for name in SIZES}
    return symbols | {name: sp.Integer(value) for name, value in case.sizes.items()}


def _sized(title: str, **sizes: int) -> Case:
    return Case(title, sizes)


matmul_traffic = Exercise(
    name="matmul_traffic",
    lesson="05",
    kind=Kind.SYMBOLIC,
    title="The bytes that a tiled product requests",
    signature="(M, N, K, B_M, B_N, B_K, e) -> requested",
    outputs=("requested",),
    inputs=traffic_inputs,
    cases=(
        _sized("64×128, inner 48: whole tiles", M=64, N=128, K=48, B_M=32, B_N=64, B_K=16, e=4),
        _sized("37×70, inner 50: ragged", M=37, N=70, K=50, B_M=32, B_N=64, B_K=16, e=2),
        _sized("fp32 with blocks of 32×64×16, any size", B_M=32, B_N=64, B_K=16, e=4),
        _sized("everything symbolic"),
    ),
    judged=HowJudged(
        reference=traffic,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
    points=2,
)
