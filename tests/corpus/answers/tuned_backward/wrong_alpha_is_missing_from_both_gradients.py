# label: wrong
# title: alpha is missing from both gradients.
# says: alpha is missing from both gradients.
# names: alpha is missing after the loop
# base: right_two_kernels_delta_by_torch

# --- replace
    tl.store(dk_ptr + dk_tile, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dk_ptr + dk_tile, dk.to(dk_ptr.dtype.element_ty), mask=in_block)

# --- replace
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
