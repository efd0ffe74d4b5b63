# label: wrong
# title: (j[None, :] <= i[:, None]) / tl.dot(tl.trans(ds), q
# says: Two mistakes: top-left alignment, and alpha is missing from dK.
# names: mask aligned top-left + alpha is missing from dK
# base: right_one_program_per_pair_tiles_sees_anything_atomics

# --- replace
            see = see & (j[None, :] - i[:, None] <= N - M)
# --- with
            see = see & (j[None, :] <= i[:, None])

# --- replace
        tl.atomic_add(DK + out, a * tl.dot(tl.trans(ds), q, input_precision="ieee"), mask=(j < N)[:, None])
# --- with
        tl.atomic_add(DK + out, tl.dot(tl.trans(ds), q, input_precision="ieee"), mask=(j < N)[:, None])
