# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    clinic_10_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_q, S_k, D=D, BLOCK=BLOCK)
# --- with
    clinic_10_kernel[grid](q, k, v, do, lse, delta, dk, dv, alpha, S_k, S_q, D=D, BLOCK=BLOCK)
