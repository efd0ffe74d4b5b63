"""`fp8_forward`: attention whose two products have eight bits."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

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
    Prepared,
    Work,
)
from flashlearn.kernels import fp8_forward as forward
from flashlearn.kernels import torch_attention
from flashlearn.lessons.lesson_14_low_precision import attention
from flashlearn.lessons.shared.attention_cases import (
    BF16,
    FP16,
    attention_case,
    forward_inputs,
    products_work,
    score_count,
)
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

formula = faulty_formula(attention.attention, factor=256.0)
SMALLEST = 'tl.min(tl.where(seen, s, float("inf")), axis=1)'


def edited(*edits: tuple[str, str]) -> Variant:
    """The launcher `fp8_forward` with other lines in the loop over the keys."""
    kernels = forward.scan_keys_fp8, forward.fp8_forward_kernel
    return variant(forward.fp8_forward, *kernels, edits=edits)


MISTAKES = {
    "Q's scale forgotten": Mistake(
        "The scores lack the scale of Q.",
        "Q is q times the scale of its block.",
        **formula("no scale of q"),
    ),
    "K's scale forgotten": Mistake(
        "The scores lack the scale of K.",
        "K is k times the scale of its block of keys.",
        **formula("no scale of k"),
    ),
    "V's scale forgotten": Mistake(
        "O was made of v itself: V's scales are missing.",
        "V is v times the scale of its block of keys.",
        **formula("no scale of v"),
    ),
    "K's first scale for all blocks": Mistake(
        "Every block of keys has the scale of the first.",
        "The place of a scale moves with the block of keys.",
        **formula("first scale of k"),
    ),
    "V's first scale for all blocks": Mistake(
        "Every block of V has the scale of the first.",
        "The place of a scale moves with the block of keys.",
        **formula("first scale of v"),
    ),
    "the unit is not changed": Mistake(
        "Shares of O are added up in different units: each block of V has a scale of its own.",
        "Only shares in the same unit may be added.",
        **formula("unit kept 64", also=("unit kept 128", "last scale of v")),
    ),
    "the change of unit upside down": Mistake(
        "The accumulator is multiplied by new unit / old unit from block to block, and has to be divided "
        "by it: accumulator times unit must stay the same.",
        "If the unit doubles, what must happen to the accumulator?",
        **formula("unit upside down 64", also=("unit upside down 128",)),
    ),
    "the change of unit reaches l": Mistake(
        "The sum l changes its unit with V's scale, as the accumulator does. l is a sum of probabilities and "
        "has nothing of V in it.",
        "Which of the two sums has been multiplied by tiles of V?",
        launcher=edited(
            (
                "l_i = l_i * rescale + tl.sum(p, axis=1)",
                "l_i = l_i * (rescale * (unit / v_scale)) + tl.sum(p, axis=1)",
            )
        ),
    ),
    "rows that see nothing are NaN": Mistake(
        "O of a query that sees no key is NaN. In such a row two operations give NaN unless guarded: "
        "−inf − (−inf) in an exponent, and 0/0 in the division at the end.",
        "Which of the two is without a guard?",
        **formula("no guard"),
    ),
    "the largest product for a negative alpha": Mistake(
        "For alpha < 0 the largest product q · k gives the smallest score. Relative to that one, 256 · P "
        "exceeds 448, the largest number of e4m3, and is cut off there.",
        "Which of a row's products gives its largest score if alpha is negative?",
        launcher=edited(
            (
                "tl.maximum(m_i, tl.max(s, axis=1))",
                f"tl.maximum(m_i, {SMALLEST} if NEGATIVE else tl.max(s, axis=1))",
            ),
            ("best = tl.min(s, axis=1) if NEGATIVE else tl.max(s, axis=1)", "best = tl.max(s, axis=1)"),
        ),
    ),
    "a scale for each tile": Mistake(
        "A scale of K or V belongs to 128 keys, and is looked up by the number of the tile: with tiles of "
        "fewer keys that is another block's scale, or none.",
        "To which block of 128 keys does a tile belong that begins at key n?",
        launcher=edited(
            ("tl.load(k_scale_ptr + start // ROWS)", "tl.load(k_scale_ptr + start // BLOCK_K)"),
            ("tl.load(v_scale_ptr + start // ROWS)", "tl.load(v_scale_ptr + start // BLOCK_K)"),
        ),
        status=Status.OUT_OF_BOUNDS,
    ),
    "256 left in O": Mistake(
        "O is 256 times too large: the factor of P is in the accumulator, and not in the sum it is divided "
        "by.",
        "If the sum l has the same 256, the factor cancels.",
        **formula("256 in o"),
    ),
    "256 left in LSE": Mistake(
        "LSE is too large by 8 ln 2: its sum l carries the factor 256 of P.",
        "The logarithm of 256 has to be taken off again, in the base in which it was added.",
        **formula("256 in lse"),
    ),
    "LSE in base 2": Mistake(
        "LSE is a logarithm to base 2.",
        "An exponent or a logarithm to base 2 becomes natural when it is multiplied by ln 2.",
        **formula("base 2"),
    ),
    "V's keys in another order than P's": Mistake(
        "P's columns and V's rows number the keys in two different orders: of every 16 keys, most get "
        "another key's probability.",
        "P's columns and V's rows have to follow the same order of keys.",
        **formula("order of keys"),
    ),
    "alpha's sign is lost": Mistake(
        "For a negative alpha the scores have the wrong sign.",
        "For alpha < 0, alpha q · k is |alpha| (−q · k).",
        **formula("|alpha|"),
    ),
    "aligned top-left": Mistake(
        "The causal mask begins in the top-left corner: query i sees the keys up to i, not up to i + S_k − "
        "S_q.",
        "The last query sees the last key.",
        **formula("top-left"),
    ),
    "the mask is missing": Mistake(
        "Later keys are seen although causal is True.",
        "Which key is the last one that query i sees where causal is True?",
        **formula("no mask"),
    ),
}


TARGET = 90


def multiplies_in_eight_bits(answer: Answer, earlier: Earlier) -> str:
    """A sentence if, compiled for an H100, a product of the kernel takes other operands than e4m3."""
    given = attention.quantized_heads(*(torch.zeros(1, 1, 128, 64) for _ in range(3)))
    asked = {**given, "causal": False, "alpha": 0.125}
    launches = answer.run(asked, Observed()).completed().observation.launches
    operands: set[str] = set()
    for launch in {launch.name: launch for launch in launches}.values():
        if launch.unshippable:
            return f"Right, and its products cannot be judged: {launch.unshippable}"
        (compiled,) = compiler.compile_launch(launch, targets=(TARGET,))
        if compiled.error:
            return f"{launch.name} does not run on an {compiled.device}: {compiled.error}"
        operands |= set(compiled.operands)
    if not operands:
        return (
            "Right, but on an H100 no product of your kernel uses wgmma, the instruction that reads eight "
            "bits: it needs tiles of at least 64 queries and 32 keys."
        )
    if operands != {"e4m3"}:
        others = ", ".join(sorted(operands - {"e4m3"}))
        return (
            f"Right, but on an H100 some operands of your products are {others}: cast P to e4m3, and leave "
            "Q, K and V as they are."
        )
    return ""


def masked_case(S_q: int, S_k: int, D: int, causal: bool, **more: Any) -> Case:
    case = attention_case(S_q, S_k, D, **more)
    sizes = {**case.sizes, "causal": int(causal)}
    return dataclasses.replace(case, name=f"{case.name}, {'causal' if causal else 'all keys'}", sizes=sizes)


def quantized_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v drawn in the case's dtype and quantized with one scale for 128 rows; causal, alpha."""
    kind = "normal" if case.data == "blocks that differ" else case.data
    given = forward_inputs(dataclasses.replace(case, data=kind), generator)
    if case.data == "blocks that differ":
        for name, factors in (("q", (1.0, 3.0)), ("k", (0.3, 2.0, 1.0)), ("v", (8.0, 0.5, 2.0))):
            x = given[name]
            rows = torch.tensor(factors).repeat_interleave(attention.SCALED_ROWS)[: x.shape[2], None]
            given[name] = (x.float() * rows).to(x.dtype)
    quantized = attention.quantized_heads(given["q"], given["k"], given["v"])
    if case.layout == "strided":
        quantized |= {name: _laid_out(quantized[name]) for name in "qkv"}
    return {**quantized, "causal": bool(case.sizes["causal"]), "alpha": given["alpha"]}


def _laid_out(x: Tensor) -> Tensor:
    """The same numbers as [B, S, H, D] in memory."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def two_products(inputs: Inputs) -> Work:
    """Two products over the visible pairs; a byte for each number that is read, two for each of O."""
    q, given = inputs["q"], {name: inputs[name] for name in "qkv"}
    least = products_work(given, 2, ("q",), inputs["causal"])
    return Work(least.operations, least.bytes + q.numel() + 4.0 * q.numel() / q.shape[3])


def in_bf16(backend: SDPBackend | None) -> Prepared:
    """Torch's attention over the same numbers, cast to bf16 before they are timed; scales are left out."""

    def make(
        q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool,
        alpha: float,
    ) -> Callable[[], Tensor]:  # fmt: skip
        halves = (x.to(torch.bfloat16) for x in (q, k, v))
        return functools.partial(torch_attention.by_backend(backend), *halves, causal, alpha)

    return Prepared(make)


fp8_forward = Exercise(
    name="fp8_forward",
    lesson="14",
    kind=Kind.KERNEL,
    title="Attention whose two products have eight bits",
    signature="(q, k, v, q_scale, k_scale, v_scale, causal, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=quantized_inputs,
    cases=(
        masked_case(16, 32, 16, False, seed=1),
        masked_case(64, 100, 32, True, H=2, seed=2),
        masked_case(150, 300, 32, True, data="blocks that differ", seed=3),
        masked_case(100, 64, 32, True, seed=4),  # 36 queries see no key
        masked_case(37, 160, 24, False, layout="strided", B=2, H=2, seed=22),
        masked_case(1, 37, 16, True, seed=6),
        masked_case(64, 37, 16, False, data="negative alpha", seed=7),
        masked_case(70, 280, 64, False, dtype=FP16, data="blocks that differ", seed=8),
        masked_case(65, 65, 128, True, dtype=BF16, seed=9),
        masked_case(129, 130, 32, True, seed=129),  # a tile begins with the last key that is seen
        masked_case(2, 128, 16, True, seed=17),  # a tile of which only the last key is hidden
        masked_case(20, 280, 136, False, seed=15, compiled=False),  # smaller tiles
        masked_case(1, 1, 16, False, B=2, H=3, magnitude=3000.0, seed=16),  # scores to −10⁷
        masked_case(1024, 1024, 128, True, dtype=BF16, B=2, H=4, gpu=True, seed=10),
        masked_case(1000, 1500, 64, False, dtype=BF16, B=2, H=4, gpu=True, seed=11),
    ),
    judged=HowJudged(
        needs=89,  # the first GPUs with e4m3
        reference=attention.attention,
        twins=attention.ROUNDED,
        output_dtypes={"o": BF16, "lse": torch.float32},
        work=two_products,
        grows=score_count,
        review=multiplies_in_eight_bits,
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=in_bf16(None),
        peer_name="sdpa_bf16",
        peers={"sdpa_cudnn_bf16": in_bf16(SDPBackend.CUDNN_ATTENTION)},
        case=masked_case(4096, 4096, 128, False, dtype=BF16, B=4, H=16, gpu=True, seed=12),
    ),
    points=4,
    solution="flashlearn.kernels.fp8_forward:fp8_forward",
)
