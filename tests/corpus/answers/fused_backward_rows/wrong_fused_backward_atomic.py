# label: wrong
# title: fused backward atomic
# says: Programs own keys, not queries.
# names: review
# base: fused_backward_atomic/_course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    in_keys, in_d = columns < S_k, d < D
# --- with
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO fused_backward_atomic: as for dK and dV, and add each tile's dQ")
    in_keys, in_d = columns < S_k, d < D

# --- replace
    tl.store(dv_ptr + dkv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dv_ptr + dkv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)
    ### END SOLUTION

# --- replace
) -> tuple[Tensor, Tensor, Tensor]:
# --- with
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip

# --- replace
    )
# --- with
    )  # fmt: skip
