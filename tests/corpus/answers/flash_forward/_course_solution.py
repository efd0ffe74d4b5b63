# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    LOG2E: tl.constexpr = 1.4426950408889634  # exp(x) = exp2(x · log₂e), and exp2 takes fewer instructions
# --- with
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO flash_forward: load q; scan K and V; store o and lse")
    LOG2E: tl.constexpr = 1.4426950408889634  # exp(x) = exp2(x · log₂e), and exp2 takes fewer instructions

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)
    ### END SOLUTION

# --- replace
    )
# --- with
    )  # fmt: skip
