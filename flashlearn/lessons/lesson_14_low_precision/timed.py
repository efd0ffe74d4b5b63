"""How fast eight bits are beside sixteen: this GPU's figures where it is a Hopper, else a stored record's.

>>> record = kept()                          # None where neither is to be had
>>> factor(record, 128, "fp8_forward", "tuned_forward, bf16")

$ python -m flashlearn.lessons.lesson_14_low_precision.timed > timed_h200.json        # on a Hopper GPU

A record is {"device", "versions", "shapes": [{"B", "H", "S", "D", "ms": {name: milliseconds}, "spread"}]}.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import torch
import triton
from torch import Tensor
from torch.nn.attention import SDPBackend

from flashlearn.kernels import fp8_forward as course
from flashlearn.kernels import low_precision
from flashlearn.kernels.gluon.fa3_forward import fa3_forward
from flashlearn.kernels.torch_attention import by_backend
from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.lessons.lesson_14_low_precision.joined import prepared
from flashlearn.lessons.lesson_14_low_precision.measured import HOPPER
from flashlearn.machine.timers import UNSTEADY_SPREAD, time_in_turns

EIGHT, PREPARED = "fp8_forward", "the same, prepared from bf16"
TUNED, WARP_SPECIALISED, CUDNN = "tuned_forward, bf16", "fa3_forward, bf16", "cuDNN's SDPA, bf16"
UNOVERLAPPED = {64: (1 + 1) / (1 / 2 + 1), 128: (2 + 1) / (1 + 1)}
"""By D, how many times as fast a kernel becomes whose products take half as long, if nothing overlaps."""
SHAPES = ((4, 32, 4096, 64), (4, 16, 4096, 128))
"""B, H, S, D of what is timed, without a mask."""
Record = dict[str, Any]
Prepare = Callable[[Tensor, Tensor, Tensor], dict[str, Tensor]]


def calls(
    q: Tensor, k: Tensor, v: Tensor, forward: Callable, prepare: Prepare
) -> dict[str, Callable[[], object]]:
    """What is timed, by name; all take the same bf16 tensors, of which `EIGHT` was prepared beforehand."""
    alpha = q.shape[3] ** -0.5
    given = prepare(q, k, v)
    found: dict[str, Callable[[], object]] = {
        EIGHT: functools.partial(forward, **given, causal=False, alpha=alpha),
        PREPARED: lambda: forward(**prepare(q, k, v), causal=False, alpha=alpha),
        TUNED: functools.partial(tuned_forward, q, k, v, False, alpha),
        WARP_SPECIALISED: functools.partial(fa3_forward, q, k, v, False, alpha),
        CUDNN: functools.partial(by_backend(SDPBackend.CUDNN_ATTENTION), q, k, v, False, alpha),
    }
    return {name: call for name, call in found.items() if _available(call)}


def _available(call: Callable[[], object]) -> bool:
    """Whether this GPU and this torch have it: not every torch has cuDNN's backend."""
    try:
        call()
    except RuntimeError:
        return False
    return True


def measure(
    forward: Callable = course.fp8_forward, rotate: Callable = low_precision.hadamard_rotate,
    quantize: Callable = low_precision.quantize_blocks, seconds: float = 0.2,
) -> Record:  # fmt: skip
    """The record of this GPU. Raises RuntimeError where it is no Hopper."""
    if not on_hopper():
        raise RuntimeError("this is timed on a Hopper GPU, and here is none: shipped() may have a record")
    shapes = []
    for B, H, S, D in SHAPES:
        generator = torch.Generator("cuda").manual_seed(D)
        q, k, v = (
            torch.randn(B, H, S, D, generator=generator, device="cuda", dtype=torch.bfloat16)
            for _ in range(3)
        )
        signs = torch.randint(0, 2, (D,), generator=generator, device="cuda") * 2.0 - 1.0
        prepare = functools.partial(prepared, signs=signs, rotate=rotate, quantize=quantize, centred=True)
        timed = calls(q, k, v, forward, prepare)
        figures = dict(zip(timed, time_in_turns(list(timed.values()), seconds=seconds), strict=True))
        shapes.append(
            {"B": B, "H": H, "S": S, "D": D}
            | {"ms": {name: one.median for name, one in figures.items()}}
            | {"spread": {name: one.spread for name, one in figures.items()}}
        )
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    return {"device": torch.cuda.get_device_name(), "versions": versions, "shapes": shapes}


def on_hopper() -> bool:
    """Whether a GPU with the compute capability of this lesson's kernels is here."""
    return torch.cuda.is_available() and torch.cuda.get_device_capability() == HOPPER


def shipped() -> Record | None:
    """The record of an H200 that comes with the lesson; None while none does."""
    path = resources.files(__package__) / "timed_h200.json"
    return json.loads(path.read_text()) if path.is_file() else None


def kept(**functions: Callable) -> Record | None:
    """The times of `forward`, `rotate` and `quantize` on this Hopper GPU, else the stored ones; or None."""
    record = measure(**functions) if on_hopper() else shipped()
    if record is None:
        print("Here is no Hopper GPU, and no record of one: the times are missing.")
        return None
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    print(f"{'Timed here' if on_hopper() else 'Stored times'}: {record['device']}, {versions}.")
    return record


def table(record: Record) -> str:
    """Milliseconds, TFLOP/s of both products, and the speed beside cuDNN's, for each shape."""
    lines = []
    for shape in record["shapes"]:
        B, H, S, D, ms = (shape[key] for key in ("B", "H", "S", "D", "ms"))
        lines.append(f"D {D}, S {S}, B·H {B * H}, all keys")
        for name, taken in ms.items():
            rate = 4 * B * H * S * S * D / (taken * 1e-3) / 1e12
            beside = f"{ms[CUDNN] / taken:5.2f} × cuDNN" if CUDNN in ms else ""
            spread = shape["spread"][name]
            shaky = ", unsteady" if spread is not None and spread > UNSTEADY_SPREAD else ""
            lines.append(f"    {name:30} {taken:6.3f} ms  {rate:5.0f} TFLOP/s  {beside}{shaky}")
    return "\n".join(lines)


def factor(record: Record, D: int, faster: str, slower: str) -> float | None:
    """How many times as fast one is as another at this D; None where one of them was not timed."""
    (ms,) = (shape["ms"] for shape in record["shapes"] if shape["D"] == D)
    return ms[slower] / ms[faster] if faster in ms and slower in ms else None


def comparison(record: Record, predicted: Mapping[int, float | None]) -> str:
    """What was predicted and measured of eight bits against sixteen, for each D."""
    lines = []
    for shape in record["shapes"]:
        D = shape["D"]
        own = predicted.get(D)
        lines.append(
            f"D {D}: you predicted {'nothing' if own is None else f'× {own:.2f}'}; if nothing overlaps × "
            f"{UNOVERLAPPED[D]:.2f}; measured:"
        )
        for eight in (EIGHT, PREPARED):
            for other in (TUNED, WARP_SPECIALISED, CUDNN):
                times = factor(record, D, eight, other)
                message = "not timed" if times is None else f"× {times:.2f}"
                lines.append(f"    {eight:30} against {other:22} {message}")
    return "\n".join(lines)


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
