"""TMA's addition: the copy engine adds a tile of shared memory to global memory, element by element.

Triton 3.6 and 3.7 bring the operation (PTX ISA, section "cp.reduce.async.bulk.tensor") without a name in
Gluon for it.
"""

from __future__ import annotations

from triton._C.libtriton import ir
from triton.experimental.gluon.language._core import builtin

__all__ = ["async_add_shared_to_global"]


@builtin
def async_add_shared_to_global(tensor_desc, coord, src, _semantic=None):
    """Start adding `src` to the block at `coord`; `tma.store_wait` waits for it as for a store."""
    coord = _semantic._convert_to_ir_values(coord, require_i64=False)
    _semantic.builder.create_async_tma_reduce(
        ir.DESCRIPTOR_REDUCE_KIND.ADD, tensor_desc.handle, coord, src.handle
    )
