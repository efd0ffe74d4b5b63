# part: a text that answers include

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

TYPES = {torch.float16: gl.float16, torch.bfloat16: gl.bfloat16, torch.float32: gl.float32}


def describe(t, block):
    return TensorDescriptor.from_tensor(t, block, gl.NVMMASharedLayout.get_default_for(block, TYPES[t.dtype]))


def padded(t):
    per = 16 // t.element_size()
    room = torch.empty(t.shape[0], (t.shape[1] + per - 1) // per * per, dtype=t.dtype, device=t.device)
    return room[:, :t.shape[1]].copy_(t)
