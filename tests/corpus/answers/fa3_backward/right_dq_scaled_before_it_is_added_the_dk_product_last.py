# label: right
# title: dQ scaled before it is added, the dK product last
# base: _course_solution

# --- replace
        dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
# --- with

# --- replace
        dv, dk, dq = warpgroup_mma_wait(0, deps=[dv, dk, dq])
# --- with
        dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
        dv, dk, dq = warpgroup_mma_wait(0, deps=[dv, dk, dq])

# --- replace
        dq_tile.store(dq)
# --- with
        dq_tile.store(dq * alpha)

# --- replace
    return (dq_sum[:, :, :S_q] * alpha).to(q.dtype), dk, dv
# --- with
    return dq_sum[:, :, :S_q].to(q.dtype), dk, dv
