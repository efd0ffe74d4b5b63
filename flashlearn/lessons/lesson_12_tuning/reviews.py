"""What is asked of a tuned kernel besides right numbers: no hidden tiles; and, where a budget is the "
"task, a budget."""

from __future__ import annotations

from flashlearn import compiler
from flashlearn.exercise import Earlier, Inputs
from flashlearn.interpreter.observation import Launch
from flashlearn.lessons.shared.attention_cases import BF16, attention_case, forward_inputs
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

TARGET = 90


def leaves_out_hidden_tiles(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a causal kernel multiplies tiles in which no key is seen, else nothing."""
    case = attention_case(256, 256, 16, seed=65)
    count = hidden_tiles(answer, _asked(forward_inputs(case, case.generator()), True))
    if not count:
        return ""
    tiles = "a tile" if count == 1 else f"{count} tiles"
    return (
        f"The result is right, but at S 256 your kernel multiplies {tiles} of queries and keys in which no "
        "query sees a key. Let the loop end after the last key that the block's last query sees."
    )


def keeps_the_budget(answer: Answer, earlier: Earlier) -> str:
    """A sentence if the forward kernel for D 128 in bf16 does not fit an H100, spills, or leaves wgmma "
    "out."""
    case = attention_case(256, 256, 128, dtype=BF16, seed=66)
    given = _asked(forward_inputs(case, case.generator()), False)
    launches = answer.run(given, Observed()).completed().observation.launches
    for launch in {launch.name: launch for launch in launches}.values():
        if said := _over_budget(launch):
            return said
    return ""


def _over_budget(launch: Launch) -> str:
    if launch.unshippable:
        return f"Right, and its budget cannot be judged: {launch.unshippable}"
    (made,) = compiler.compile_launch(launch, targets=(TARGET,))
    if made.error:
        return f"{launch.name} does not run on an {made.device}: {made.error}"
    if made.spill_bytes:
        return (
            f"Right, and over the budget: for D 128 in bf16 {launch.name} has {made.registers} registers per "
            f"thread on an {made.device}, and {made.spill_bytes} bytes more that found none "
            f"({made.constants})."
        )
    if made.tensor_cores != "wgmma":
        return (
            f"Right, and over the budget: an {made.device} multiplies tiles from 64 rows on with its fast "
            f"instruction, wgmma, and {launch.name} does without ({made.constants})."
        )
    return ""


def _asked(given: Inputs, causal: bool) -> Inputs:
    return {**{name: given[name] for name in "qkv"}, "causal": causal, "alpha": given["alpha"]}
