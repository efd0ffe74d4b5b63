# label: wrong
# title: alpha on ds too
# says: line ds = (alpha * p * (dp - delta)): alpha is put on dS, and then once more on dK and dQ at the end
# names: constant factor
# base: right_mask_in_the_exponent

# --- replace
        at, phase = (i - first) % STAGES, (i - first) // STAGES % 2
        mbarrier.wait(empty.index(at), phase ^ 1)
        mbarrier.expect(full.index(at), q_desc.block_type.nbytes + do_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [b, h, i * QUERIES, 0], full.index(at), q_ring.index(at))
        tma.async_copy_global_to_shared(do_desc, [b, h, i * QUERIES, 0], full.index(at), do_ring.index(at))
# --- with
        slot_i, phase = (i - first) % STAGES, (i - first) // STAGES % 2
        mbarrier.wait(empty.index(slot_i), phase ^ 1)
        mbarrier.expect(full.index(slot_i), q_desc.block_type.nbytes + do_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [b, h, i * QUERIES, 0], full.index(slot_i), q_ring.index(slot_i))
        tma.async_copy_global_to_shared(do_desc, [b, h, i * QUERIES, 0], full.index(slot_i), do_ring.index(slot_i))

# --- replace
        at, phase = (i - first) % STAGES, (i - first) // STAGES % 2
# --- with
        slot_i, phase = (i - first) % STAGES, (i - first) // STAGES % 2

# --- replace
        q = q_ring.index(at).reshape([QUERIES, D])
        do = do_ring.index(at).reshape([QUERIES, D])
        mbarrier.wait(full.index(at), phase)
# --- with
        q = q_ring.index(slot_i).reshape([QUERIES, D])
        do = do_ring.index(slot_i).reshape([QUERIES, D])
        mbarrier.wait(full.index(slot_i), phase)

# --- replace
        t = s * (alpha * LOG2_E) - (lse * LOG2_E)[None, :]
# --- with
        p = gl.exp2(s * (alpha * LOG2_E) - (lse * LOG2_E)[None, :])

# --- replace
        p = gl.exp2(gl.where(seen, t, -float("inf")))
        dp = warpgroup_mma_wait(0, deps=[dp])
        ds = (p * (dp - delta[None, :])).to(k.dtype)
# --- with
        p = gl.where(seen, p, 0.0)
        dp = warpgroup_mma_wait(0, deps=[dp])
        ds = (alpha * p * (dp - delta[None, :])).to(k.dtype)

# --- replace
        mbarrier.arrive(empty.index(at), count=1)
# --- with
        mbarrier.arrive(empty.index(slot_i), count=1)
