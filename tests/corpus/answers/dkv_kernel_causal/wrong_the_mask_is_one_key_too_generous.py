# label: wrong
# title: i[:, None] >= j[None, :] - (S_k - S_q) - 1
# says: The mask is one key too generous.
# names: mask shows one key too many; one edit
# base: right_queries_from_last_first_hidden_one_in_while_loop_no

# --- replace
            see = see & (i[:, None] >= j[None, :] - (S_k - S_q))
# --- with
            see = see & (i[:, None] >= j[None, :] - (S_k - S_q) - 1)
