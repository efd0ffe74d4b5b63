# label: wrong
# title: tl.store(DK +
# says: dK is stored where it must be added: programs for other queries overwrite it.
# names: race
# base: right_one_program_per_pair_tiles_atomics_into_zeros_in

# --- replace
        tl.atomic_add(DK + out, a * tl.dot(tl.trans(ds), q, input_precision="ieee"), mask=(j < N)[:, None])
# --- with
        tl.store(DK + out, a * tl.dot(tl.trans(ds), q, input_precision="ieee"), mask=(j < N)[:, None])
