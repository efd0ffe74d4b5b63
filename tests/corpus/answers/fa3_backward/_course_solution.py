# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
    mbarrier.expect(kv_full, 2 * (k_desc.block_type.nbytes + v_desc.block_type.nbytes))
# --- with
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_backward: K and V once, then Q and dO through the ring")
    mbarrier.expect(kv_full, 2 * (k_desc.block_type.nbytes + v_desc.block_type.nbytes))

# --- replace
        tma.async_copy_global_to_shared(do_desc, [b, h, i * QUERIES, 0], full.index(at), do_ring.index(at))
# --- with
        tma.async_copy_global_to_shared(do_desc, [b, h, i * QUERIES, 0], full.index(at), do_ring.index(at))
    ### END SOLUTION

# --- replace
):
    # a consumer: dK and dV of 64 keys in registers, dQ of each block into the sum
# --- with
):  # fmt: skip
    # a consumer: dK and dV of 64 keys in registers, dQ of each block into the sum

# --- replace
        mbarrier.wait(full.index(at), phase)
# --- with
        ### BEGIN SOLUTION
        # STUB: gl.static_assert(False, "TODO fa3_backward: Sᵀ, dPᵀ, Pᵀ and dSᵀ of a block")
        mbarrier.wait(full.index(at), phase)

# --- replace
        dv = warpgroup_mma(gl.convert_layout(p.to(k.dtype), left), do, dv, is_async=True)
# --- with
        ### END SOLUTION
        ### BEGIN SOLUTION
        # STUB: gl.static_assert(False, "TODO fa3_backward: dV, dK from registers, dQ by shared memory")
        dv = warpgroup_mma(gl.convert_layout(p.to(k.dtype), left), do, dv, is_async=True)

# --- replace
    # K and V of this consumer are done with: their buffers take dK and dV
# --- with
        ### END SOLUTION
    # K and V of this consumer are done with: their buffers take dK and dV

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
        [4, 1], [240, 24],
    )
# --- with
        [4, 1], [240, 24],
    )  # fmt: skip

# --- replace
) -> tuple[Tensor, Tensor, Tensor]:
# --- with
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip

# --- replace
    )
# --- with
    )  # fmt: skip
