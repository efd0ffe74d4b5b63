# label: right
# title: natural exponentials, hidden scores −inf, every product waited for at once
# base: _course_solution

# --- replace
LOG2_E = gl.constexpr(1.4426950408889634)
# --- with

# --- replace
        s = warpgroup_mma_wait(1, deps=[s])  # Sᵀ is here; dPᵀ goes on under the exponentials
        p = gl.exp2(s * (alpha * LOG2_E) - (lse * LOG2_E)[None, :])
# --- with
        s, dp = warpgroup_mma_wait(0, deps=[s, dp])  # Sᵀ is here; dPᵀ goes on under the exponentials
        s = s * alpha

# --- replace
        p = gl.where(seen, p, 0.0)
        dp = warpgroup_mma_wait(0, deps=[dp])
# --- with
        p = gl.exp(gl.where(seen, s, -float("inf")) - lse[None, :])

# --- replace
        dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
# --- with
        dv = warpgroup_mma_wait(0, deps=[dv])
        dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
