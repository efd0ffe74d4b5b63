# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
    # reads what fused_keys_kernel reads; writes S_q · D numbers of fp32 that nobody else writes
# --- with
):  # fmt: skip
    # reads what fused_keys_kernel reads; writes S_q · D numbers of fp32 that nobody else writes

# --- replace
    # shares are [B, H, blocks of keys, S_q, D]: this program's part, and in it a row is D long
# --- with
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO determinism: as before, but each share goes to a place of its own")
    # shares are [B, H, blocks of keys, S_q, D]: this program's part, and in it a row is D long

# --- replace
    tl.store(dv_ptr + dkv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dv_ptr + dkv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)
    ### END SOLUTION

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    blocks = tl.cdiv(S_k, BLOCK_K)
# --- with
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO determinism: add the shares of these rows, block after block")
    blocks = tl.cdiv(S_k, BLOCK_K)

# --- replace
    tl.store(dq_ptr + head * S_q * D + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
# --- with
    tl.store(dq_ptr + head * S_q * D + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
    ### END SOLUTION

# --- replace
) -> tuple[Tensor, Tensor, Tensor]:
# --- with
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip

# --- replace
    blocks = triton.cdiv(S_k, BLOCK)
# --- with
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO determinism: memory for the shares, two launches")
    blocks = triton.cdiv(S_k, BLOCK)

# --- replace
    )
    # on one stream a launch waits for the one before: every share is there when the sum begins
# --- with
    )  # fmt: skip
    # on one stream a launch waits for the one before: every share is there when the sum begins

# --- replace
    )
# --- with
    )  # fmt: skip
    ### END SOLUTION
