# label: wrong
# title: a few programs walk over the blocks and store their own number
# says: each program takes several blocks but writes its own number in all
# names: numbers that start again

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def walk(out, n, step, block: tl.constexpr):
    mine = tl.program_id(0)
    start = mine * block
    while start < n:
        slots = start + tl.arange(0, block)
        tl.store(out + slots, mine, mask=slots < n)
        start += step


def program_ids(x: Tensor, block: int) -> Tensor:
    """Slot i holds the number of the program that owns it."""
    out = torch.empty(x.numel(), dtype=torch.int32, device=x.device)
    programs = min(3, triton.cdiv(x.numel(), block))
    walk[(programs,)](out, x.numel(), programs * block, block=block)
    return out
