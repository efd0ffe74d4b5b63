# label: wrong
# title: 240 is the end of another format.
# says: 240 is the end of another format.
# names: scaled to 240
# base: right_the_reciprocal_and_the_largest_of_both_ends

# --- replace
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)[None, :]
# --- with
    i = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]

# --- replace
    inv = tl.where(top > 0, 448.0 / top, 1.0)
# --- with
    inv = tl.where(top > 0, 240.0 / top, 1.0)

# --- replace
    tl.store(S + tl.program_id(0).to(tl.int64) * tl.cdiv(N, BN) + tl.program_id(1).to(tl.int64), tl.where(top > 0, top / 448.0, 1.0))
# --- with
    tl.store(S + tl.program_id(0) * tl.cdiv(N, BN) + tl.program_id(1), tl.where(top > 0, top / 240.0, 1.0))
