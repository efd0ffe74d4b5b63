"""`varlen`: sequences of any lengths, one after another, without padding."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

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
    Prepared,
)
from flashlearn.interpreter.observers.dot_operands import DotOperands
from flashlearn.interpreter.observers.idle_programs import IdlePrograms
from flashlearn.kernels import varlen_attention as varlen_kernels
from flashlearn.lessons.lesson_15_variants import varlen_formulas
from flashlearn.lessons.lesson_15_variants.both_passes import both, work_of
from flashlearn.lessons.lesson_15_variants.varlen_formulas import (
    KEYS_LEAK,
    QUERIES_LEAK,
    STRADDLE,
    varlen_attention,
)
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

formula = faulty_formula(varlen_attention)


def _listing(*lines: str) -> Variant:
    """The course's own launcher with another list of blocks; only a kernel leaves rows unwritten."""
    right = (
        "blocks = [(block, b) for b, length in enumerate(lengths) "
        "for block in range(triton.cdiv(length, BLOCK))]"
    )
    listed = SimpleNamespace(fn=varlen_kernels.block_list)
    return variant(varlen_kernels.varlen, listed, edits=((right, "\n    ".join(lines)),))


MISTAKES = {
    "sequences leak into each other": Mistake(
        "Queries see the keys of the next sequence: those that share a sequence's last tile of keys.",
        "A key belongs to a sequence only if its place in it is below the sequence's S_k.",
        **formula(KEYS_LEAK, also=((KEYS_LEAK, QUERIES_LEAK),)),
    ),
    "queries leak into dK and dV": Mistake(
        "dK and dV get shares of the next sequence's queries: those that share a sequence's last tile of "
        "queries.",
        "A query belongs to a sequence only if its place in it is below the sequence's S_q.",
        **formula(QUERIES_LEAK),
    ),
    "one long sequence": Mistake(
        "Everything is one sequence: queries see the keys of all others.",
        "A sequence's keys go from one border to the next.",
        **formula("no borders", also=(("no borders", "from the end"),)),
    ),
    "the length of the queries": Mistake(
        "A sequence has as many keys as it has queries. Its keys have borders of their own.",
        "Which of the two tensors of borders says how many keys a sequence has?",
        **formula("lengths of the queries"),
    ),
    "the borders of the queries": Mistake(
        "Keys are cut at the borders of the queries. They have borders of their own.",
        "Which of the two tensors of borders says where a sequence's keys lie?",
        **formula("borders of the queries"),
    ),
    "a block across a border": Mistake(
        "A block of queries, or of keys, holds rows of two sequences, and all of them are taken for rows of "
        "the first one.",
        "Each sequence's first row begins a block.",
        **formula(STRADDLE),
    ),
    "the diagonal of the whole batch": Mistake(
        "The causal mask compares places in the packed tensors. Where a sequence has more keys than "
        "queries, or fewer, all later sequences' diagonals are displaced.",
        "In i + S_k − S_q, the last key that query i sees, all numbers are those of one sequence.",
        **formula("packed diagonal", also=(("packed diagonal", "from the end"),)),
    ),
    "aligned top-left": Mistake(
        "The causal mask begins in each sequence's top-left corner: query i sees the keys up to i, not up "
        "to i + S_k − S_q.",
        "The last query of a sequence sees its last key.",
        **formula("top-left"),
    ),
    "blocks numbered over all sequences": Mistake(
        "The numbers of the blocks go on from one sequence to the next. A program's block is counted within "
        "its sequence, whose first block has the number 0.",
        "Which block of the second sequence should its first program take?",
        launcher=_listing(
            "each = [b for b, length in enumerate(lengths) for _ in range(triton.cdiv(length, BLOCK))]",
            "blocks = list(enumerate(each))",
        ),
    ),
    "blocks counted from packed borders": Mistake(
        "A sequence gets as many blocks as begin between its borders in the packed tensors. It needs as many "
        "as its own length does, from its first row on.",
        "How many blocks of 32 does a sequence of 5 rows have, if it begins in row 37?",
        launcher=_listing(
            "ends = [triton.cdiv(border, BLOCK) for border in borders]",
            "blocks = [(block, b) for b in range(len(lengths)) for block in range(ends[b + 1] - ends[b])]",
        ),
    ),
    "only whole blocks are listed": Mistake(
        "A sequence's number of blocks is rounded down: what remains after its last whole block is in no "
        "block.",
        "How many blocks of 32 does a sequence of 5 rows need?",
        launcher=_listing(
            "blocks = [(block, b) for b, length in enumerate(lengths) for block in range(length // BLOCK)]"
        ),
    ),
    "LSE and delta of the first rows": Mistake(
        "The backward pass reads LSE and delta at a query's place within its sequence, so that all "
        "sequences get those of the first rows.",
        "LSE and delta have a number for each packed row.",
        **formula("LSE and delta at the place"),
    ),
}


def ragged(
    lengths_q: Sequence[int], lengths_k: Sequence[int] | None = None, D: int = 16, H: int = 1,
    causal: bool = False, dtype: torch.dtype = torch.float32, **more: Any,
) -> Case:  # fmt: skip
    """A case of sequences with these lengths; those of the keys are the same unless given."""
    lengths_k = lengths_k or lengths_q
    data = " × ".join("+".join(map(str, lengths)) for lengths in (lengths_q, lengths_k))
    words = data if lengths_k != lengths_q else data.split(" × ")[0]
    words = words if len(words) < 40 else f"{len(lengths_q)} sequences, {sum(lengths_q)} queries"
    label = f"S {words}, D {D}" + (f", H {H}" if H > 1 else "") + (", causal" if causal else ", all keys")
    sizes = {"sequences": len(lengths_q), "H": H, "D": D, "causal": int(causal)}
    tags = {"heads": H > 1, "S_q ≠ S_k": lengths_k != lengths_q, "GPU": bool(more.get("gpu"))}
    return dataclasses.replace(build_case(label, sizes, dtype, tags=tags, **more), data=data)


def lengths_of(case: Case) -> tuple[list[int], list[int]]:
    """The lengths of a case's sequences, in queries and in keys."""
    of_q, of_k = (list(map(int, part.split("+"))) for part in case.data.split(" × "))
    return of_q, of_k


def borders(lengths: Sequence[int]) -> Tensor:
    """cu_seqlens: 0, and the sums of the first one, two, … lengths; int32."""
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def varlen_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, do [1, H, T_q, D], k, v [1, H, T_k, D], cu_seqlens_q, cu_seqlens_k, causal, alpha."""
    sizes, (lengths_q, lengths_k) = case.sizes, lengths_of(case)

    def draw(lengths: Sequence[int]) -> Tensor:
        shape = (1, sizes["H"], sum(lengths), sizes["D"])
        x = (case.magnitude * torch.randn(shape, generator=generator)).to(case.dtype)
        return x if case.layout == "contiguous" else x.transpose(1, 2).contiguous().transpose(1, 2)

    q, k, v, do = (draw(lengths) for lengths in (lengths_q, lengths_k, lengths_k, lengths_q))
    cuts = {"cu_seqlens_q": borders(lengths_q), "cu_seqlens_k": borders(lengths_k)}
    return {
        "q": q,
        "k": k,
        "v": v,
        "do": do,
        **cuts,
        "causal": bool(sizes["causal"]),
        "alpha": 1 / math.sqrt(sizes["D"]),
    }


def visible_pairs(inputs: Inputs, window: int = 0) -> float:
    """Pairs of a query and a key that it sees, over all heads; a window of 0 is none."""
    of_q, of_k = (inputs[name].tolist() for name in ("cu_seqlens_q", "cu_seqlens_k"))
    total = 0
    for n, m in zip(itertools.pairwise(of_q), itertools.pairwise(of_k), strict=True):
        S_q, S_k = n[1] - n[0], m[1] - m[0]
        seen = (max(0, min(i + 1 + S_k - S_q, window or S_k)) for i in range(S_q))
        total += sum(seen) if inputs["causal"] else S_q * S_k
    return float(inputs["q"].shape[1] * total)


SKEWED = ragged([200, 3, 5, 2, 4, 3, 2, 5], seed=60)
IDLE_SHARE = 0.4
"""Of SKEWED's programs: more are idle in a grid with the longest sequence's blocks for each, up to 128."""
SEPARATE = ragged([128] * 4, seed=61)
"""Four sequences without a ragged tile: as one sequence under a mask they have four times the pairs."""
PRODUCTS_AT_MOST = 18
"""Over SEPARATE's pairs. Two kernels of the backward pass and the forward pass have nine, one alone seven."""


def skips_other_sequences(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a kernel multiplies tiles of two sequences, or launches programs with nothing to do."""
    inputs = varlen_inputs(SEPARATE, SEPARATE.generator())
    seen = answer.run(inputs, Observed(observers=(DotOperands(),))).completed().observations
    operations = sum(left.size * right.shape[1] for left, right in seen[DotOperands])
    if operations > PRODUCTS_AT_MOST * visible_pairs(inputs) * SEPARATE.sizes["D"]:
        return (
            "The result is right, but your kernels multiply queries with keys of other sequences: in a "
            "batch of four sequences of 128 they have more than twice as much to multiply as four separate "
            "launches. Let the loops end where the sequence ends."
        )
    inputs = varlen_inputs(SKEWED, SKEWED.generator())
    seen = answer.run(inputs, Observed(observers=(IdlePrograms(),))).completed().observations
    for name, (idle, programs) in seen[IdlePrograms].items():
        if idle > IDLE_SHARE * programs:
            return (
                f"The result is right, but {idle} of the {programs} programs of {name} write nothing in a "
                "batch of one sequence of 200 and seven of 2 to 5: the grid has the longest sequence's "
                "blocks for each of them. List the blocks that there are."
            )
    return ""


def packed_flash(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: bool,
    alpha: float,
) -> Callable[[], tuple[Tensor, ...]]:  # fmt: skip
    """Both passes of torch's own attention over packed sequences (torch.nn.attention.varlen)."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError as error:
        raise RuntimeError(f"This torch has no varlen_attn: {error}") from None
    longest = [int(borders.diff().max()) for borders in (cu_seqlens_q, cu_seqlens_k)]
    window = (-1, 0) if causal else (-1, -1)
    rows = [x[0].transpose(0, 1).contiguous() for x in (q, k, v, do)]

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return varlen_attn(q, k, v, cu_seqlens_q, cu_seqlens_k, *longest, scale=alpha, window_size=window)

    return functools.partial(both, attend, rows[3], *rows[:3])


def padded_sdpa(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: bool,
    alpha: float,
) -> Callable[[], tuple[Tensor, ...]]:  # fmt: skip
    """Both passes of SDPA on as many sequences, each as long as the longest: what packing saves."""
    n, S = len(cu_seqlens_q) - 1, int(cu_seqlens_q.diff().max())
    many = [torch.randn(n, q.shape[1], S, q.shape[3], dtype=q.dtype, device=q.device) for _ in range(4)]

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=alpha)

    return functools.partial(both, attend, many[3], *many[:3])


LONG = [int(4096 * 0.5 ** (n / 3)) for n in range(24)]
"""Each 0.8 times as long as the one before: 4096, 3251, …, 20."""

varlen = Exercise(
    name="varlen",
    lesson="15",
    kind=Kind.KERNEL,
    title="Sequences of several lengths in one launch",
    signature="(q, k, v, do, cu_seqlens_q, cu_seqlens_k, causal, alpha) -> (o, lse, dq, dk, dv)",
    outputs=("o", "lse", "dq", "dk", "dv"),
    inputs=varlen_inputs,
    cases=(
        ragged([16, 16], seed=1),
        ragged([37, 5, 60], H=2, seed=2),
        ragged([37, 5, 60], H=2, causal=True, seed=3),
        ragged([20, 50, 3, 40], [33, 20, 9, 70], H=2, seed=4),
        ragged([20, 50, 3, 40], [33, 20, 9, 70], causal=True, seed=5),
        ragged([1, 1, 1], [70, 5, 1], H=2, causal=True, seed=6),
        ragged([10, 0, 25, 7], [12, 4, 0, 30], seed=7),  # a sequence without queries, and one without keys
        ragged([130, 70], D=24, H=2, layout="strided", causal=True, seed=8),
        ragged([70, 33, 90], D=32, dtype=FP16, causal=True, seed=9),
        ragged([40, 100], [64, 20], D=64, H=2, dtype=BF16, seed=10),
        ragged([300, 1, 700, 129], D=64, H=4, dtype=FP16, causal=True, gpu=True, seed=11),
        ragged([64, 1000, 17], [500, 200, 900], D=128, H=4, dtype=BF16, gpu=True, seed=12),
    ),
    judged=HowJudged(
        reference=varlen_attention,
        twins=(
            varlen_formulas.rounded_passes,
            varlen_formulas.in_another_order,
            varlen_formulas.scaled_first,
        ),
        gradient=True,
        output_dtypes={"lse": torch.float32},
        work=lambda inputs: work_of(inputs, visible_pairs(inputs)),
        review=skips_other_sequences,
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=Prepared(packed_flash),
        peer_name="varlen_attn",
        peers={"sdpa_padded": Prepared(padded_sdpa)},
        case=ragged(LONG, D=128, H=16, causal=True, dtype=BF16, gpu=True, seed=40),
    ),
    points=3,
    solution="flashlearn.kernels.varlen_attention:varlen",
)
