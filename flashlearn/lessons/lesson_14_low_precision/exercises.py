"""Lesson 14, low precision: blocks with scales, a rotation, and attention whose products have eight bits."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.kernels import torch_attention
from flashlearn.lessons.lesson_14_low_precision import attention, eight_bits, mistakes
from flashlearn.lessons.lesson_14_low_precision.reviews import multiplies_in_eight_bits
from flashlearn.lessons.shared.attention_cases import (
    BF16,
    FP16,
    attention_case,
    forward_inputs,
    products_work,
)

E4M3 = torch.float8_e4m3fn

# ---------------------------------------------------------------- quantize_blocks


def _matrix(
    M: int, N: int, block_m: int, block_n: int, dtype: torch.dtype = torch.float32, **more: Any
) -> Case:
    name = f"{M} × {N} in blocks of {block_m} × {block_n}"
    name += {FP16: ", fp16", BF16: ", bf16"}.get(dtype, "")
    name += f", {more['data']}" if "data" in more else ""
    name += ", columns first in memory" if "layout" in more else ""
    sizes = {"M": M, "N": N, "block_m": block_m, "block_n": block_n}
    ragged = {"ragged"} if M % block_m or N % block_n else set()
    return Case(
        name, sizes, dtype, tags=frozenset(ragged | ({"half"} if dtype.itemsize == 2 else set())), **more
    )


def blocks(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, N] whose blocks differ in size by powers of two, and the block's sides."""
    M, N, block_m, block_n = (case.sizes[name] for name in ("M", "N", "block_m", "block_n"))
    x = torch.randn(M, N, generator=generator)
    by_block = 2.0 ** torch.randint(-6, 6, (-(-M // block_m), -(-N // block_n)), generator=generator)
    x = x * eight_bits.spread(by_block, block_m, block_n, M, N)
    if case.data == "a block of zeros":
        x[:block_m, :block_n] = 0.0
    if case.data == "one outlier":
        x[M // 2, N // 2] = -3000.0
    x = x.to(case.dtype)
    x = x if case.layout == "contiguous" else x.t().contiguous().t()
    return {"x": x, "block_m": block_m, "block_n": block_n}


def by_reciprocal(x: Tensor, block_m: int, block_n: int) -> tuple[Tensor, Tensor]:
    """A twin that multiplies by 448 over the largest magnitude."""
    _, scales = eight_bits.quantized(x, block_m, block_n)
    each = eight_bits.spread(1 / scales, block_m, block_n, *x.shape)
    return eight_bits.to_e4m3(x.float() * each), scales


def elements(inputs: Inputs) -> Work:
    """Two operations for each number, which is read once and written in one byte."""
    x = inputs["x"]
    return Work(2.0 * x.numel(), x.numel() * (x.element_size() + 1.0))


quantize_blocks = Exercise(
    name="quantize_blocks",
    lesson="14",
    kind=Kind.KERNEL,
    title="e4m3 with one scale for each block",
    signature="(x, block_m, block_n) -> (values, scales)",
    outputs=("values", "scales"),
    inputs=blocks,
    cases=(
        _matrix(32, 32, 32, 32, seed=1),
        _matrix(37, 70, 32, 16, seed=2),
        _matrix(64, 64, 16, 64, data="a block of zeros", seed=3),
        _matrix(50, 40, 16, 32, data="one outlier", seed=4),
        _matrix(40, 33, 16, 16, layout="columns first", seed=5),
        _matrix(1, 100, 16, 64, seed=6),
        _matrix(70, 48, 64, 16, FP16, seed=7),
        _matrix(33, 65, 32, 32, BF16, data="a block of zeros", seed=8),
        _matrix(4096, 4096, 128, 128, BF16, seed=9, gpu=True),
    ),
    judged=HowJudged(
        needs=89,  # the first GPUs with e4m3
        reference=eight_bits.quantized,
        twins=(by_reciprocal,),
        output_dtypes={"values": E4M3, "scales": torch.float32},
        accumulates=False,
        work=elements,
    ),
    explained=HowExplained(mistakes=mistakes.QUANTIZE),
    timed=HowTimed(
        peer=eight_bits.quantized,
        peer_name="torch",
        case=_matrix(8192, 8192, 128, 128, BF16, seed=10, gpu=True),
    ),
    points=2,
    solution="flashlearn.kernels.low_precision:quantize_blocks",
)

# ---------------------------------------------------------------- hadamard_rotate


def _rows(M: int, D: int, dtype: torch.dtype = torch.float32, **more: Any) -> Case:
    name = f"{M} rows of {D}" + {FP16: ", fp16", BF16: ", bf16"}.get(dtype, "")
    name += f", {more['data']}" if "data" in more else ""
    name += ", columns first in memory" if "layout" in more else ""
    tags = ({"half"} if dtype.itemsize == 2 else set()) | ({"ragged"} if M % 16 else set())
    return Case(name, {"M": M, "D": D}, dtype, tags=frozenset(tags), **more)


def rows_and_signs(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, D] and D random signs."""
    M, D = case.sizes["M"], case.sizes["D"]
    x = torch.randn(M, D, generator=generator)
    if case.data == "one column × 50":
        x[:, 3] *= 50
    x = x.to(case.dtype)
    x = x if case.layout == "contiguous" else x.t().contiguous().t()
    return {"x": x, "signs": torch.randint(0, 2, (D,), generator=generator) * 2.0 - 1.0}


def by_butterflies(x: Tensor, signs: Tensor) -> Tensor:
    """A twin: log₂ D steps of sums and differences of pairs."""
    y = (x if x.dtype == torch.float64 else x.float()) * signs
    M, D = x.shape
    step = 1
    while step < D:
        pairs = y.reshape(M, D // (2 * step), 2, step)
        y = torch.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(M, D)
        step *= 2
    return (y * D**-0.5).to(x.dtype)


def butterflies(inputs: Inputs) -> Work:
    """The least: log₂ D additions for each number, which is read once and written once."""
    x = inputs["x"]
    return Work(x.numel() * (x.shape[1].bit_length() - 1.0), 2.0 * x.numel() * x.element_size())


hadamard_rotate = Exercise(
    name="hadamard_rotate",
    lesson="14",
    kind=Kind.KERNEL,
    title="Random signs, then a Hadamard matrix",
    signature="(x, signs) -> y",
    outputs=("y",),
    inputs=rows_and_signs,
    cases=(
        _rows(32, 16, seed=1),
        _rows(37, 64, seed=2),
        _rows(5, 128, data="one column × 50", seed=3),
        _rows(1, 32, seed=4),
        _rows(40, 32, layout="columns first", seed=5),
        _rows(50, 64, FP16, seed=6),
        _rows(33, 32, BF16, data="one column × 50", seed=7),
        _rows(100_000, 128, BF16, seed=8, gpu=True),
    ),
    judged=HowJudged(reference=eight_bits.rotated, twins=(by_butterflies,), work=butterflies),
    explained=HowExplained(mistakes=mistakes.ROTATE),
    timed=HowTimed(
        peer=eight_bits.rotated, peer_name="torch", case=_rows(262_144, 128, BF16, seed=9, gpu=True)
    ),
    points=2,
    solution="flashlearn.kernels.low_precision:hadamard_rotate",
)

# ---------------------------------------------------------------- fp8_forward


def _attention(S_q: int, S_k: int, D: int, causal: bool, **more: Any) -> Case:
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
    made = attention.quantized_heads(given["q"], given["k"], given["v"])
    if case.layout == "strided":
        made |= {name: _laid_out(made[name]) for name in "qkv"}
    return {**made, "causal": bool(case.sizes["causal"]), "alpha": given["alpha"]}


def _laid_out(x: Tensor) -> Tensor:
    """The same numbers as [B, S, H, D] in memory."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def two_products(inputs: Inputs) -> Work:
    """Two products over the visible pairs; a byte for each number that is read, two for each of O."""
    q, given = inputs["q"], {name: inputs[name] for name in "qkv"}
    least = products_work(given, 2, ("q",), inputs["causal"])
    return Work(least.operations, least.bytes + q.numel() + 4.0 * q.numel() / q.shape[3])


def sdpa_in_bf16(
    q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool,
    alpha: float,
) -> Tensor:  # fmt: skip
    """The peer: torch's attention over the same numbers in bf16, scales left out, casts included."""
    q, k, v = (x.to(torch.bfloat16) for x in (q, k, v))
    return torch_attention.by_backend(None)(q, k, v, causal, alpha)


fp8_forward = Exercise(
    name="fp8_forward",
    lesson="14",
    kind=Kind.KERNEL,
    title="Attention whose two products have eight bits",
    signature="(q, k, v, q_scale, k_scale, v_scale, causal, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=quantized_inputs,
    cases=(
        _attention(16, 32, 16, False, seed=1),
        _attention(64, 100, 32, True, H=2, seed=2),
        _attention(150, 300, 32, True, data="blocks that differ", seed=3),
        _attention(100, 64, 32, True, seed=4),  # 36 queries see no key
        _attention(37, 160, 24, False, layout="strided", H=2, seed=5),
        _attention(1, 37, 16, True, seed=6),
        _attention(64, 37, 16, False, data="negative alpha", seed=7),
        _attention(70, 280, 64, False, dtype=FP16, data="blocks that differ", seed=8),
        _attention(65, 65, 128, True, dtype=BF16, seed=9),
        _attention(1024, 1024, 128, True, dtype=BF16, B=2, H=4, gpu=True, seed=10),
        _attention(1000, 1500, 64, False, dtype=BF16, B=2, H=4, gpu=True, seed=11),
    ),
    judged=HowJudged(
        needs=89,  # the first GPUs with e4m3
        reference=attention.attention,
        twins=attention.ROUNDED,
        output_dtypes={"o": BF16, "lse": torch.float32},
        work=two_products,
        review=multiplies_in_eight_bits,
    ),
    explained=HowExplained(mistakes=mistakes.FORWARD),
    timed=HowTimed(
        peer=sdpa_in_bf16,
        peer_name="sdpa_bf16",
        case=_attention(4096, 4096, 128, False, dtype=BF16, B=4, H=16, gpu=True, seed=12),
    ),
    points=4,
    solution="flashlearn.kernels.fp8_forward:fp8_forward",
)
