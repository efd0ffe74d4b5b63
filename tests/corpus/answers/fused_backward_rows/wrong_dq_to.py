# label: wrong
# title: dq.to
# says: dQ lacks alpha.
# names: alpha is missing from dQ; constant factor
# base: _course_solution

# --- replace
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
