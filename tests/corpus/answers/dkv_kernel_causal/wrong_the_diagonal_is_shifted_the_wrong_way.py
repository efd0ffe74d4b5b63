# label: wrong
# title: i[:, None] >= j[None, :] + (S_k - S_q)
# says: The diagonal is shifted the wrong way.
# names: S_k − S_q with the wrong sign
# base: right_queries_from_last_first_hidden_one_in_while_loop_no

# --- replace
            see = see & (i[:, None] >= j[None, :] - (S_k - S_q))
# --- with
            see = see & (i[:, None] >= j[None, :] + (S_k - S_q))
