# label: wrong
# title: dQ and dK carry log2 e.
# says: dQ and dK carry log2 e.
# names: log2 e left in dQ and dK
# base: right_two_kernels_delta_by_torch

# --- replace
    tl.store(dk_ptr + dk_tile, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dk_ptr + dk_tile, (c * dk).to(dk_ptr.dtype.element_ty), mask=in_block)

# --- replace
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dq_ptr + dq_tile, (c * dq).to(dq_ptr.dtype.element_ty), mask=in_block)
