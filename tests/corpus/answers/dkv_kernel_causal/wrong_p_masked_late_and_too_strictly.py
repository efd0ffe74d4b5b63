# label: wrong
# title: P masked late, and too strictly
# says: P is masked after the exponential, one key too strictly.
# names: mask hides the diagonal; first divergence
# base: _course_solution

# --- replace
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
# --- with
        p = tl.exp(s - lse_i[:, None])
        p = tl.where(columns[None, :] < rows[:, None] + S_k - S_q, p, 0.0)
