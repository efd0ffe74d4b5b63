# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    in_keys = columns < S_k
# --- with
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO dkv_kernel_causal: the same, with a loop start, a mask, a guard")
    in_keys = columns < S_k

# --- replace
    tl.store(dv_ptr + dv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dv_ptr + dv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)
    ### END SOLUTION

# --- replace
) -> tuple[Tensor, Tensor]:
# --- with
) -> tuple[Tensor, Tensor]:  # fmt: skip

# --- replace
    )
# --- with
    )  # fmt: skip
