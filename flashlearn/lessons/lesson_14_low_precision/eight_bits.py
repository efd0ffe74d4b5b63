"""Numbers of eight bits, blocks with scales, and sums in fewer bits: what lesson 14 looks at, in torch.

>>> parts(0b0_1111_110, E4M3)
Number(sign=1, exponent=8, fraction=0.75, value=448.0)
>>> values, scales = quantized(torch.randn(64, 64), 32, 32)
>>> restored = dequantized(values, scales, 32, 32)
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults

LARGEST = 448.0
"""e4m3's largest number (Micikevicius et al., 2022, table 1)."""
KEPT_BITS = 14
"""Bits that Hopper keeps of a sum of eight-bit products, around: DeepSeek-V3's report, 2024, section 3.3."""


@dataclass(frozen=True)
class Format:
    """A format of eight bits: `fraction` bits after the point, an exponent that is stored with `bias`."""

    name: str
    fraction: int
    bias: int
    dtype: torch.dtype


E4M3 = Format("e4m3", 3, 7, torch.float8_e4m3fn)
E5M2 = Format("e5m2", 2, 15, torch.float8_e5m2)


@dataclass(frozen=True)
class Number:
    """What the bits of one number say: value = sign · 2^exponent · (1 + fraction), or (0 + fraction)."""

    sign: int
    exponent: int
    fraction: float
    value: float


def parts(bits: int, of: Format) -> Number:
    """The number that `bits` (0 to 255) stand for, taken apart."""
    stored = (bits & 0x7F) >> of.fraction
    fraction = (bits & ((1 << of.fraction) - 1)) / (1 << of.fraction)
    sign = -1 if bits & 0x80 else 1
    highest = (1 << (7 - of.fraction)) - 1
    if of is E5M2 and stored == highest:
        value = sign * math.inf if fraction == 0 else math.nan
    elif of is E4M3 and stored == highest and fraction == 0.875:
        value = math.nan
    elif stored == 0:
        return Number(sign, 1 - of.bias, fraction, sign * 2.0 ** (1 - of.bias) * fraction)
    else:
        value = sign * 2.0 ** (stored - of.bias) * (1 + fraction)
    return Number(sign, stored - of.bias, fraction, value)


def numbers(of: Format) -> Tensor:
    """All finite numbers of a format that are not negative, in order, in fp64."""
    found = [parts(bits, of).value for bits in range(128)]
    return torch.tensor([value for value in found if math.isfinite(value)], dtype=torch.float64)


def to_e4m3(x: Tensor) -> Tensor:
    """x rounded to e4m3, with what is beyond 448 brought back to it; NaN stays NaN."""
    return x.clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)


def spread(scales: Tensor, block_m: int, block_n: int, M: int, N: int) -> Tensor:
    """One scale per element [.., M, N] from one per block."""
    wide = scales.repeat_interleave(block_m, -2).repeat_interleave(block_n, -1)
    return wide[..., :M, :N]


LEAST = {f"at least 10^−{power}": 10.0**-power for power in (0, 4, 5, 6, 8, 10, 12, 20, 30)}
"""What some kernels take for the largest magnitude of a block of zeros."""


def quantized(x: Tensor, block_m: int, block_n: int, faults: Faults = NONE) -> tuple[Tensor, Tensor]:
    """e4m3 values like x [M, N] and fp32 scales, one per block; of fp64 both are exact, and not rounded."""
    wide = x if x.dtype == torch.float64 else x.float()
    M, N = x.shape
    padded = torch.nn.functional.pad(wide, (0, -N % block_n, 0, -M % block_m))
    tiles = padded.unflatten(0, (-1, block_m)).unflatten(2, (-1, block_n))  # [i, rows, j, columns]
    largest = (tiles if "signed maximum" in faults else tiles.abs()).amax((1, 3))
    if "one scale" in faults:
        largest = largest.amax().expand_as(largest).clone()
    if "mean" in faults:
        largest = wide.abs().mean() * torch.ones_like(largest)
    limit = 1.0 if "no 448" in faults else 240.0 if "240" in faults else LARGEST
    if "e5m2's limit" in faults:
        limit = 57344.0
    scales = largest / limit
    least = next((least for name, least in LEAST.items() if name in faults), 0.0)
    if least:
        scales = (
            largest.clamp(min=least) / limit if least < 1 else torch.where(largest == 0, 1.0, largest) / limit
        )
    elif "zero blocks" not in faults:
        scales = torch.where(largest == 0, 1.0, scales)
    if "at least 1" in faults:
        scales = scales.clamp(min=1.0)
    each = spread(scales, block_m, block_n, M, N)
    values = wide * each if "multiplied" in faults else wide if "not scaled" in faults else wide / each
    values = values.clamp(-LARGEST, LARGEST)
    scales = 1 / scales if "inverse" in faults else scales
    scales = scales.T.reshape(scales.shape) if "by columns" in faults else scales
    return (values if x.dtype == torch.float64 else values.to(torch.float8_e4m3fn)), scales


def dequantized(values: Tensor, scales: Tensor, block_m: int, block_n: int) -> Tensor:
    """values · scale in fp32, or fp64 where the scales are."""
    each = spread(scales, block_m, block_n, *values.shape[-2:])
    return values.to(each.dtype) * each


@functools.cache
def hadamard(D: int) -> Tensor:
    """Sylvester's matrix of 1 and −1 in fp64: H_ij = (−1)^(bits that i and j share)."""
    i = torch.arange(D)
    shared = i[:, None] & i[None, :]
    return torch.tensor([[(-1.0) ** (int(n).bit_count() % 2) for n in row] for row in shared]).double()


def rotated(x: Tensor, signs: Tensor, faults: Faults = NONE) -> Tensor:
    """(x ∘ signs) H/√D in x's dtype, for x [.., D]; summed in fp32, or fp64 for fp64.

    The fault "bits 15" takes the parity of those shared bits alone that are set in 15, and so on.
    """
    wide = x if x.dtype == torch.float64 else x.float()
    D = x.shape[-1]
    i = torch.arange(D)
    h = hadamard(D)
    if "shared, not odd" in faults:
        h = 1.0 - 2.0 * ((i[:, None] & i[None, :]) != 0).double()
    if "last bit" in faults:
        h = 1.0 - 2.0 * (i[:, None] & i[None, :] & 1).double()
    of_some_bits = next((int(fault.split()[-1]) for fault in faults if fault.startswith("bits")), 0)
    if of_some_bits:
        shared = i[:, None] & i[None, :] & of_some_bits
        h = torch.tensor([[(-1.0) ** (int(n).bit_count() % 2) for n in row] for row in shared]).double()
    if "xor" in faults:
        h = hadamard(D)[i[:, None] ^ i[None, :], torch.full((D, D), D - 1)]
    h = h.to(wide)
    signs = signs.to(wide)
    if "no signs" not in faults and "signs after" not in faults:
        wide = wide * signs
    y = wide @ h
    y = y * signs if "signs after" in faults else y
    y = y if "no root" in faults else y / D if "divided by D" in faults else y * D**-0.5
    return y.to(x.dtype)


def shortened(x: Tensor, like: Tensor, bits: int = KEPT_BITS) -> Tensor:
    """x cut toward zero to a grid that gives the largest of |like| `bits` bits, per sum (first dimension)."""
    top = like.abs().amax(0).clamp(min=1e-30)
    unit = 2.0 ** (top.log2().floor() + 1 - bits)
    return (x / unit).trunc() * unit


def summed(products: Tensor, promoted_after: int = 0, together: int = 32, bits: int = KEPT_BITS) -> Tensor:
    """Σ over the first dimension of products [K, ...] in a simulated accumulator of `bits` bits.

    `together` products and the sum so far are aligned to the largest of them and cut; after each
    `promoted_after` products (0: never) the sum goes over into fp32 and begins again. A model of what
    DeepSeek-V3's report describes, not of a circuit.
    """
    total, partial = torch.zeros_like(products[0]), torch.zeros_like(products[0])
    for number, start in enumerate(range(0, len(products), together), 1):
        group = torch.cat([partial[None], products[start : start + together]])
        partial = shortened(shortened(group, group, bits).sum(0), group, bits)
        if promoted_after and number * together % promoted_after == 0:
            total, partial = total + partial, torch.zeros_like(partial)
    return total + partial
