# label: wrong
# title: alpha is missing from dK.
# says: alpha is missing from dK.
# names: alpha is missing from dK; alpha is missing after the loop
# base: right_two_kernels_delta_by_torch

# --- replace
    tl.store(dk_ptr + dk_tile, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dk_ptr + dk_tile, dk.to(dk_ptr.dtype.element_ty), mask=in_block)
