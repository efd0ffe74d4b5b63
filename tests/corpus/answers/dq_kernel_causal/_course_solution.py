# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    in_queries = rows < S_q
# --- with
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO dq_kernel_causal: the same, with a loop end, a mask and a guard")
    in_queries = rows < S_q

# --- replace
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
    ### END SOLUTION

# --- replace
) -> Tensor:
# --- with
) -> Tensor:  # fmt: skip

# --- replace
    )
# --- with
    )  # fmt: skip
