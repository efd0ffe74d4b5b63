# label: wrong
# title: Atomics into memory from torch.empty.
# says: Atomics into memory from torch.empty.
# names: uninitialised memory
# base: right_two_kernels_delta_by_torch

# --- replace
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.atomic_add(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)
