# label: wrong
# title: - delta[:, None])
# says: alpha is nowhere but in S.
# names: alpha is missing from dK
# base: right_queries_from_last_first_hidden_one_in_while_loop_no

# --- replace
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None]) * alpha
# --- with
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
