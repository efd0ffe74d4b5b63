"""How much of a long sum of eight-bit products a GPU's tensor cores keep, measured where such a GPU is.

>>> found = kept()                                  # here, or what an H200 gave
>>> found["in the tensor core"][16384]              # relative error of a sum of 16,384 positive products

$ python -m flashlearn.lessons.lesson_14_low_precision.measured > kept_h200.json      # on a Hopper GPU
"""

from __future__ import annotations

import json
import sys
from importlib import resources
from typing import Any

import torch
import triton
import triton.language as tl

LENGTHS = (128, 512, 2048, 8192, 32768)
WAYS = {"in the tensor core": False, "fp32 after 128": True}
SIDE = 64
FIRST_WITH_E4M3, HOPPER = (8, 9), (9, 0)


@triton.jit
def long_sums_kernel(a_ptr, b_ptr, c_ptr, LENGTH, APART: tl.constexpr, SIDE: tl.constexpr):
    # C = A Bᵀ, A and B [SIDE, LENGTH] in e4m3: 128 products of each sum at a time
    i, k = tl.arange(0, SIDE), tl.arange(0, 128)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    at = i.to(tl.int64)[:, None] * LENGTH + k[None, :]
    for start in tl.range(0, LENGTH, 128):
        a, b = tl.load(a_ptr + at + start), tl.load(b_ptr + at + start)
        if APART:
            acc += tl.dot(a, b.T)  # a sum of its own, added on the ordinary units
        else:
            acc = tl.dot(a, b.T, acc)
    tl.store(c_ptr + i[:, None] * SIDE + i[None, :], acc)


def measure() -> dict[str, Any]:
    """The record of this GPU. Raises RuntimeError where none has eight-bit tensor cores."""
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() < FIRST_WITH_E4M3:
        raise RuntimeError(
            "this is measured on a GPU with eight-bit tensor cores, and here is none: see kept()"
        )
    ways: dict[str, dict[int, float]] = {way: {} for way in WAYS}
    signed: dict[str, dict[int, float]] = {way: {} for way in WAYS}
    for length in LENGTHS:
        generator = torch.Generator("cuda").manual_seed(length)
        p, positive = torch.rand(2, SIDE, length, generator=generator, device="cuda")
        of_both_signs = torch.randn(SIDE, length, generator=generator, device="cuda")
        for found, v in ((ways, positive), (signed, of_both_signs)):
            for way, apart in WAYS.items():
                found[way][length] = error_of_sums(p, v, apart)
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    return {"device": torch.cuda.get_device_name(), "versions": versions, "ways": ways, "signed": signed}


def error_of_sums(p: torch.Tensor, v: torch.Tensor, apart: bool) -> float:
    """Relative rms error of P Vᵀ, both [SIDE, length] and cast to e4m3, summed on their device."""
    a, b = p.to(torch.float8_e4m3fn), v.to(torch.float8_e4m3fn)
    right = a.double() @ b.double().T
    c = torch.empty(SIDE, SIDE, device=p.device)
    long_sums_kernel[(1,)](a, b, c, p.shape[1], APART=apart, SIDE=SIDE)
    return float((c.double() - right).square().mean().sqrt() / right.square().mean().sqrt())


def shipped() -> dict[str, Any]:
    """The record of an H200 that comes with the lesson."""
    return json.loads((resources.files(__package__) / "kept_h200.json").read_text())


def kept() -> dict[str, dict[int, float]]:
    """Relative rms errors by way of summing and length: of this GPU if it is a Hopper, else of an H200."""
    here = torch.cuda.is_available() and torch.cuda.get_device_capability() == HOPPER
    record = measure() if here else shipped()
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    print(f"Measured {'here' if here else 'for this lesson'}: {record['device']}, {versions}.")
    signed = {f"{way}, V of both signs": by for way, by in record.get("signed", {}).items()}
    return {way: {int(n): e for n, e in by.items()} for way, by in (record["ways"] | signed).items()}


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
