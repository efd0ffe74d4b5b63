"""Kernels for Hopper GPUs in Gluon, Triton's language of layouts, barriers and warps: lesson 13's.

    >>> from flashlearn.kernels.gluon.fa3_forward import fa3_forward

In the order of the lesson: `tma_copy`, `tma_ring`, `wgmma_matmul`, `specialised_matmul`, `fa3_forward`,
`fa3_backward`. Each is compiled for compute capability 9.0; other GPUs have no such instructions.
"""
