# label: wrong
# title: without shares_ptr += S_q * D # step by step: block · S_q · D may pass 2³¹
# says: The first part is added again and again.
# names: only the first part is added; one edit; never read
# base: _course_solution

# --- replace
        dq += tl.load(shares_ptr + dq_tile, mask=in_block, other=0.0)
        shares_ptr += S_q * D  # step by step: block · S_q · D may pass 2³¹
    tl.store(dq_ptr + head * S_q * D + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
        dq += tl.load(shares_ptr + dq_tile, mask=in_block, other=0.0)
        
    tl.store(dq_ptr + head * S_q * D + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
