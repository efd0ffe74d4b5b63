# label: wrong
# title: v = tl.load(V + j[:, None]
# says: V is read without the head's offset; dV, which needs none of it, is right.
# names: permuted heads; some heads
# base: right_one_program_per_pair_tiles_atomics_into_zeros_in

# --- replace
        v = tl.load(V + (bh * N + j)[:, None] * W + c[None, :], mask=(j < N)[:, None], other=0.0)
# --- with
        v = tl.load(V + j[:, None] * W + c[None, :], mask=(j < N)[:, None], other=0.0)
