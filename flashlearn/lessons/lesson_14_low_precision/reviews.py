"""What is asked of `fp8_forward` besides right numbers: that its products really have eight bits."""

from __future__ import annotations

import torch

from flashlearn import compiler
from flashlearn.exercise import Earlier
from flashlearn.lessons.lesson_14_low_precision.attention import quantized_heads
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

TARGET = 90


def multiplies_in_eight_bits(answer: Answer, earlier: Earlier) -> str:
    """A sentence if, compiled for an H100, a product of the kernel takes other operands than e4m3."""
    given = quantized_heads(*(torch.zeros(1, 1, 128, 64) for _ in range(3)))
    asked = {**given, "causal": False, "alpha": 0.125}
    launches = answer.run(asked, Observed()).completed().observation.launches
    found: set[str] = set()
    for launch in {launch.name: launch for launch in launches}.values():
        if launch.unshippable:
            return f"Right, and its products cannot be judged: {launch.unshippable}"
        (made,) = compiler.compile_launch(launch, targets=(TARGET,))
        if made.error:
            return f"{launch.name} does not run on an {made.device}: {made.error}"
        found |= set(made.operands)
    if not found:
        return (
            "Right, but on an H100 no product of your kernel uses wgmma, the instruction that reads eight "
            "bits: it wants tiles of 64 queries and more, and 32 keys at least."
        )
    if found != {"e4m3"}:
        others = ", ".join(sorted(found - {"e4m3"}))
        return (
            f"Right, but on an H100 some operands of your products are {others}: cast P to e4m3, and leave "
            "Q, K and V as they are."
        )
    return ""
