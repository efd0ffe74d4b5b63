"""The error of eight bits: attention in bf16 and in e4m3, with scales per tensor and per block, and rotated.

>>> q, k, v = draw("outliers")
>>> errors_of(q, k, v)["e4m3, scale per block, rotated"]
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from flashlearn.lessons.lesson_14_low_precision.attention import attention, quantized_heads
from flashlearn.lessons.lesson_14_low_precision.eight_bits import rotated
from flashlearn.lessons.shared import reference

S, D = 512, 64


def draw(kind: str, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v [1, 4, 512, 64] in fp32: "normal"; with "outliers", a "large block" or a "common part".

    Outliers are those of FlashAttention-3's study (Shah et al., 2024, section 4.3): one number in a thousand
    has a further share of standard deviation 10. A large block: 128 rows of V, 300,000 times as large.
    With a common part all keys of a head share one row, which is five times as large as what is their own.
    """
    generator = torch.Generator().manual_seed(seed)

    def tensor() -> Tensor:
        x = torch.randn(1, 4, S, D, generator=generator)
        if kind == "outliers":
            hit = torch.rand(x.shape, generator=generator) < 0.001
            x = x + hit * 10 * torch.randn(x.shape, generator=generator)
        return x

    q, k, v = tensor(), tensor(), tensor()
    if kind == "large block":
        v[:, :, 384:] *= 300_000  # the last keys: a causal mask hides them from the first queries
    if kind == "common part":
        k += 5 * torch.randn(1, 4, 1, D, generator=generator)
    return q, k, v


def relative_error(got: Tensor, exact: Tensor) -> float:
    """Root mean square of the difference over that of the truth."""
    return float((got.double() - exact).square().mean().sqrt() / exact.square().mean().sqrt())


def one_scale(given: dict[str, Tensor], q: Tensor, k: Tensor, v: Tensor) -> dict[str, Tensor]:
    """The same with one scale for each whole tensor."""
    made = dict(given)
    for name, x in (("q", q), ("k", k), ("v", v)):
        scale = x.abs().max() / 448
        made[name] = (x / scale).to(torch.float8_e4m3fn)
        made[f"{name}_scale"] = scale.expand_as(given[f"{name}_scale"]).contiguous()
    return made


def errors_of(q: Tensor, k: Tensor, v: Tensor, rows: slice = slice(None)) -> dict[str, float]:
    """Relative rms error of causal attention's O, of its `rows`, by way of computing; fp64 is the truth."""
    alpha, causal = D**-0.5, True
    in_e4m3 = functools.partial(attention, causal=causal, alpha=alpha, factor=256)
    exact, _ = reference.attention_forward(q.double(), k.double(), v.double(), alpha, causal)
    signs = torch.randint(0, 2, (D,), generator=torch.Generator().manual_seed(1)) * 2.0 - 1.0
    q_r, k_r = rotated(q, signs), rotated(k, signs)
    plain, turned = quantized_heads(q, k, v), quantized_heads(q_r, k_r, v)
    halves = tuple(x.bfloat16() for x in (q, k, v))
    ways = {
        "bf16": lambda: reference.attention_forward_rounded(*halves, alpha, causal),
        "e4m3, one scale": lambda: in_e4m3(**one_scale(plain, q, k, v)),
        "e4m3, scale per block": lambda: in_e4m3(**plain),
        "e4m3, one scale, rotated": lambda: in_e4m3(**one_scale(turned, q_r, k_r, v)),
        "e4m3, scale per block, rotated": lambda: in_e4m3(**turned),
    }
    return {way: relative_error(compute()[0][:, :, rows], exact[:, :, rows]) for way, compute in ways.items()}


def errors_by_step(q: Tensor, k: Tensor, v: Tensor) -> dict[str, float]:
    """Relative rms error of causal attention's O where only some of its operands are rounded to e4m3."""
    alpha, causal = D**-0.5, True
    exact, _ = reference.attention_forward(q.double(), k.double(), v.double(), alpha, causal)
    rounded = quantized_heads(q, k, v)
    whole = {"q": q, "k": k, "v": v}
    whole |= {f"{name}_scale": torch.ones_like(rounded[f"{name}_scale"]) for name in "qkv"}
    found = {}
    for step, names, factor in (("Q and K", "qk", 0), ("P", "", 256), ("V", "v", 0), ("all", "qkv", 256)):
        given = whole | {key: x for key, x in rounded.items() if key[0] in names}
        o, _ = attention(**given, causal=causal, alpha=alpha, factor=factor)
        found[step] = relative_error(o, exact)
    return found
