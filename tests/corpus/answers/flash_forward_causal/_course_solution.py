# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    LOG2E: tl.constexpr = 1.4426950408889634
# --- with
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO flash_forward_causal: a loop end, a mask, two guards")
    LOG2E: tl.constexpr = 1.4426950408889634

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf
    ### END SOLUTION

# --- replace
    )
# --- with
    )  # fmt: skip
