# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    in_queries, in_d = rows < S_q, d < D
# --- with
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO fused_backward_rows: as for dQ, and add each tile's dK and dV")
    in_queries, in_d = rows < S_q, d < D

# --- replace
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)
    ### END SOLUTION

# --- replace
) -> tuple[Tensor, Tensor, Tensor]:
# --- with
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip

# --- replace
    )
# --- with
    )  # fmt: skip
