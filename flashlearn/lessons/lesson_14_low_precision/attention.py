"""Attention over e4m3 tensors with scales in torch: the truth, its twins, and mistakes by name.

>>> given = quantized_heads(q, k, v)                     # e4m3 tensors and their scales, by name
>>> o, lse = attention(**given, causal=False, alpha=0.125)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn import compiler
from flashlearn.compiler import Budget
from flashlearn.interpreter.route import observing
from flashlearn.kernels.fp8_forward import SCALED_ROWS, fp8_forward
from flashlearn.lessons.lesson_14_low_precision.eight_bits import KEPT_BITS, LARGEST, summed, to_e4m3
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults
from flashlearn.observation import Launch


def scaled_blocks(x: Tensor, rows: int = SCALED_ROWS) -> tuple[Tensor, Tensor]:
    """x [B, H, S, D] in e4m3, and fp32 scales [B, H, ⌈S/rows⌉], one for each `rows` rows of a head."""
    wide = x.float()
    S = x.shape[2]
    padded = torch.nn.functional.pad(wide, (0, 0, 0, -S % rows)).unflatten(2, (-1, rows))
    largest = padded.abs().amax((3, 4))
    scales = torch.where(largest == 0, 1.0, largest / LARGEST)
    values = to_e4m3(wide / per_row(scales, S, rows))
    return values, scales


def per_row(scales: Tensor, S: int, rows: int = SCALED_ROWS) -> Tensor:
    """A factor for every row of a head, [B, H, S, 1]."""
    return scales.repeat_interleave(rows, 2)[:, :, :S, None]


def quantized_heads(q: Tensor, k: Tensor, v: Tensor, rows: int = SCALED_ROWS) -> dict[str, Tensor]:
    """q, k, v in e4m3 and q_scale, k_scale, v_scale, by these names."""
    made = {name: scaled_blocks(x, rows) for name, x in (("q", q), ("k", k), ("v", v))}
    return {name: x for name, (x, _) in made.items()} | {f"{n}_scale": s for n, (_, s) in made.items()}


def _of(scales: Tensor, S: int, name: str, faults: Faults) -> Tensor:
    if f"no scale of {name}" in faults:
        return torch.ones_like(per_row(scales, S))
    if f"first scale of {name}" in faults or (f"last scale of {name}" in faults):
        chosen = scales[:, :, -1:] if f"last scale of {name}" in faults else scales[:, :, :1]
        return per_row(chosen.expand_as(scales), S)
    if f"scale of {name} twice" in faults:
        return per_row(scales, S) ** 2
    return per_row(scales, S)


def attention(
    q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor, k_scale: Tensor, v_scale: Tensor, causal: bool,
    alpha: float, faults: Faults = NONE, factor: float = 0.0, short: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """O in bf16 and LSE in fp32 (both fp64 for fp64): q · q_scale and so on, block by block.

    With a `factor` P is rounded as kernels do it: factor · exp(s − m) in e4m3 before it meets V. With `short`
    the scores are summed in few bits, as `short_products` says.
    """
    exact = q.dtype == torch.float64
    kind = torch.float64 if exact else torch.float32
    S_q, S_k = q.shape[2], k.shape[2]
    of_q, of_k = _of(q_scale.to(kind), S_q, "q", faults), _of(k_scale.to(kind), S_k, "k", faults)
    units = _of(v_scale.to(kind), S_k, "v", faults)
    alpha = abs(alpha) if "|alpha|" in faults else 1.0 if "no alpha" in faults else alpha
    if short and not exact:
        s = alpha * short_products(q.float(), k.float()) * of_q * of_k.mT
    else:
        s = alpha * (q.to(kind) * of_q) @ (k.to(kind) * of_k).mT
    s = s * math.log(2) if "no log2 e" in faults else s
    seen = reference.visible(S_q, S_k, causal, q.device)
    if causal and "top-left" in faults:
        seen = torch.arange(S_k, device=q.device) <= torch.arange(S_q, device=q.device)[:, None]
    if "no mask" in faults:
        seen = torch.ones_like(seen)
    s = s.masked_fill(~seen, -math.inf)
    top = s.amax(-1, keepdim=True)
    shift = torch.where(top == -math.inf, 0.0, top)
    p = (s - shift).exp()
    total = p.sum(-1, keepdim=True)
    lse = (top + total.log())[..., 0]
    if factor and not exact:
        p = to_e4m3(p * factor).to(kind) / factor
    v = v.to(kind)
    if "order of keys" in faults:
        place = torch.arange(S_k, device=v.device)
        key = place // 16 * 16 + place % 4 // 2 * 8 + place % 16 // 4 * 2 + place % 2
        v = torch.where((key < S_k)[:, None], v[:, :, key.clamp(max=S_k - 1)], 0.0)
    upside = next((int(fault.split()[-1]) for fault in faults if fault.startswith("unit upside down")), 0)
    kept = next((int(fault.split()[-1]) for fault in faults if fault.startswith("unit kept")), 0)
    if upside or kept:
        last = _last_units(units, S_q, causal, upside or kept)
        o = (p * (last**2 / units.mT if upside else last)) @ v
    else:
        o = p @ (v * units)
    o = torch.where(total == 0, math.nan if "no guard" in faults else 0.0, o / total)
    o = o * 256 if "256 in o" in faults else o
    lse = lse + 8 * math.log(2) if "256 in lse" in faults else lse
    lse = lse * math.log2(math.e) if "base 2" in faults else lse
    return (o, lse) if exact else (o.to(torch.bfloat16), lse)


def short_products(a: Tensor, b: Tensor, bits: int = KEPT_BITS - 3) -> Tensor:
    """a [B, H, M, D] times bᵀ, b [B, H, N, D], in fp32, with sums of few bits, as of eight-bit products.

    How tensor cores align what they add is not published: three bits fewer are granted than were reported.
    """
    heads = zip(a.flatten(0, 1), b.flatten(0, 1), strict=True)  # one at a time: D products for each score
    made = [summed(x.T[:, :, None] * y.T[:, None, :], bits=bits) for x, y in heads]
    return torch.stack(made).unflatten(0, a.shape[:2])


def _last_units(units: Tensor, S_q: int, causal: bool, rows: int) -> Tensor:
    """The unit in which the program of each query ends, [B, H, S_q, 1]: that of the last block it visits.

    A program has `rows` queries. If acc is divided by each change of unit, it is two changes away from it.
    """
    S_k, i = units.shape[2], torch.arange(S_q, device=units.device)
    end = (i // rows + 1) * rows + S_k - S_q if causal else torch.full_like(i, S_k)
    return units[:, :, (end.clamp(1, S_k) - 1), :]


ROUNDED = (
    *(functools.partial(attention, factor=factor) for factor in (1.0, 256.0, 448.0)),
    functools.partial(attention, factor=256.0, short=True),
)
"""What plain torch reaches where P has eight bits as well, and where scores are summed in few bits."""


def launch(D: int, launcher: Callable[..., object] = fp8_forward) -> Launch:
    """One observed launch of the forward kernel on a single head of 256 queries and keys."""
    given = quantized_heads(*(torch.zeros(1, 1, 256, D) for _ in range(3)))
    with observing() as (session, _):
        launcher(**given, causal=False, alpha=0.125)
    return session.launches[-1]


def needs(D: int, target: int = 90) -> Budget:
    """Registers, spills and operands of the package's kernel on an H100, or another GPU's `target`."""
    (made,) = compiler.compile_launch(launch(D), targets=(target,))
    return made
