"""Launch shapes for the kernels of attention's variants, tried out on the GPU at hand.

$ python -m flashlearn.bench.attention_tuning                 # prints the fastest of each kernel and feature

What is fastest goes into flashlearn/kernels/model_attention/launch_shapes.py by hand. The first candidate of
each is what is launched now.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from flashlearn.bench.attention_speed import bounds, lengths
from flashlearn.kernels.model_attention.backward import variant_backward
from flashlearn.kernels.model_attention.forward import Extras, variant_forward
from flashlearn.kernels.model_attention.launch_shapes import variant_backward_shapes, variant_forward_shape
from flashlearn.kernels.model_attention.options import Options
from flashlearn.kernels.shapes import Shape
from flashlearn.machine.timers import time_in_turns
from flashlearn.running.precompiler import Precompiler

__all__ = ["tune"]

FORWARD = (
    Shape(64, 128, 4, 1, 168), Shape(64, 128, 4, 2), Shape(64, 64, 4, 2), Shape(128, 64, 8, 2),
    Shape(128, 128, 8, 2), Shape(128, 64, 4, 2),
)  # fmt: skip
DKV = (
    Shape(64, 64, 4, 2), Shape(64, 64, 4, 3), Shape(128, 64, 4, 2), Shape(32, 64, 4, 2), Shape(64, 64, 8, 2),
    Shape(64, 128, 8, 2), Shape(32, 128, 8, 2),
)  # fmt: skip
DQ = (
    Shape(64, 64, 4, 2), Shape(64, 64, 4, 3), Shape(64, 32, 4, 3), Shape(128, 64, 8, 2), Shape(64, 128, 4, 1),
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A feature at one D; `do` is the gradient of O."""

    name: str
    q: Tensor
    k: Tensor
    v: Tensor
    do: Tensor
    options: Options
    extras: Extras


def problems() -> Iterator[Problem]:
    """The features that `flashlearn bench --attention` times, at its sizes."""
    for D, H in ((128, 16), (64, 32)):
        make = functools.partial(torch.randn, device="cuda", dtype=torch.bfloat16)
        some = [make(4, H, 4096, D) for _ in range(4)]
        options = Options(D**-0.5, right=0)
        yield Problem(f"softcap, D {D}", *some, replace(options, softcap=30.0), Extras())
        slopes = torch.rand(4, H, device="cuda") / 4
        yield Problem(f"ALiBi, D {D}", *some, options, Extras(slopes=slopes))
        cu = bounds(lengths(16384, 4096, seed=0), "cuda")
        packed = [make(16384, H, D).transpose(0, 1)[None] for _ in range(4)]
        yield Problem(f"packed, D {D}", *packed, options, Extras(cu_q=cu, cu_k=cu))
        long = [make(1, 16, 16384, D) for _ in range(4)]
        yield Problem(f"window, D {D}", *long, replace(options, left=1023), Extras())
        yield Problem(f"dropout, D {D}", *some, replace(options, threshold=6554),
                      Extras(seed=torch.ones(1, dtype=torch.int64, device="cuda")))  # fmt: skip


def calls(one: Problem) -> dict[str, dict[Shape, Callable[[], Any]]]:
    """For each kernel a call by shape; those of the backward pass run the whole pass."""
    given = (one.q, one.k, one.v)
    forward = functools.partial(variant_forward, *given, one.options, one.extras)
    o, lse = forward()
    backward = functools.partial(variant_backward, *given, o, one.do, lse, one.options, one.extras)
    ahead = variant_forward_shape(one.q, one.options, one.extras)
    dkv, dq = variant_backward_shapes(one.q, one.options, one.extras)
    return {
        "forward": {s: functools.partial(forward, shape=s) for s in dict.fromkeys((ahead, *FORWARD))},
        "dkv": {s: functools.partial(backward, shapes=(s, dq)) for s in dict.fromkeys((dkv, *DKV))},
        "dq": {s: functools.partial(backward, shapes=(dkv, s)) for s in dict.fromkeys((dq, *DQ))},
    }


def tune(say: Callable[[str], Any] = print) -> None:
    """Compile every candidate, time them in turns, and print the times of each kernel, the fastest first."""
    some = list(problems())
    with Precompiler(patience=240.0) as precompiler, precompiler.dry():
        for one in some:
            for by_shape in calls(one).values():
                for call in by_shape.values():
                    _tried(call)
    for one in some:
        for kernel, by_shape in calls(one).items():
            works = {shape: call for shape, call in by_shape.items() if _tried(call)}
            times = [m.median for m in time_in_turns([*works.values()], seconds=0.05)]
            now = next(iter(by_shape))
            ranked = sorted(zip(times, works, strict=True), key=lambda pair: pair[0])
            shown = ", ".join(
                f"{_short(shape)}{' (now)' if shape == now else ''} {time:.3f}" for time, shape in ranked[:4]
            )
            say(f"{one.name}, {kernel}: {shown} ms")


def _short(shape: Shape) -> str:
    at_most = f" r{shape.registers}" if shape.registers else ""
    return f"{shape.block_q}x{shape.block_k} w{shape.warps} s{shape.stages}{at_most}"


def _tried(call: Callable[[], Any]) -> bool:
    """Whether it runs: a shape may need more shared memory than there is."""
    try:
        call()
    except Exception:
        return False
    return True


if __name__ == "__main__":
    tune()
