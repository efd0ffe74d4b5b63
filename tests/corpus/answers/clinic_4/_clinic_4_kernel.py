# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
        p = tl.where((rows < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
# --- with
        p = tl.where((columns < S_k)[None, :], tl.exp(s - lse_i[:, None]), 0.0)
