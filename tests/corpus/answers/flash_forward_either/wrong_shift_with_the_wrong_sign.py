# label: wrong
# title: shift with the wrong sign
# says: `offset = S_q - S_k` has the wrong sign, in the loop's end and in the mask; it should be S_k − S_q
# names: S_k − S_q with the wrong sign
# base: _course_solution_without_markers

# --- replace
    end = S_k
# --- with
    offset = S_q - S_k
    end = S_k

# --- replace
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # past what the last query sees
# --- with
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + offset)

# --- replace
            s = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, s, -float("inf"))
# --- with
            s = tl.where(columns[None, :] <= rows[:, None] + offset, s, -float("inf"))
