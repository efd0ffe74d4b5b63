# label: wrong
# title: rows[:, None]
# says: The mask is aligned top-left.
# names: top-left alignment
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
            ok = ok & (cols[None, :] <= (rows + S_k - S_q)[:, None])
# --- with
            ok = ok & (cols[None, :] <= rows[:, None])
