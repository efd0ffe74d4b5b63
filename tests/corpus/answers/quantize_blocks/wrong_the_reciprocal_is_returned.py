# label: wrong
# title: The reciprocal is returned.
# says: The reciprocal is returned.
# names: the inverse scale is returned
# base: right_the_reciprocal_and_the_largest_of_both_ends

# --- replace
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)[None, :]
# --- with
    i = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]

# --- replace
    tl.store(S + tl.program_id(0).to(tl.int64) * tl.cdiv(N, BN) + tl.program_id(1).to(tl.int64), tl.where(top > 0, top / 448.0, 1.0))
# --- with
    tl.store(S + tl.program_id(0) * tl.cdiv(N, BN) + tl.program_id(1), inv)
