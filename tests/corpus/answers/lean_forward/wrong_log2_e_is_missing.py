# label: wrong
# title: log2 e is missing
# says: The scale must carry log2 e, since the exponentials are powers of two.
# names: log2 e is missing
# base: right_one_stage_v_last

# --- replace
        described(o, cut.block_q), lse, alpha * LOG2_E, H, H_k, S_q, S_k,
# --- with
        described(o, cut.block_q), lse, alpha, H, H_k, S_q, S_k,
