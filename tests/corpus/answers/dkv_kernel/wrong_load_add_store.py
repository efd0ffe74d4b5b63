# label: wrong
# title: unseen: load, add, store
# says: The programs load, add and store without an atomic: those of one block of keys overwrite each other.
# names: race
# base: right_program_per_tile_s_atomic_additions_dk_dv_in_fp32

# --- replace
    tl.atomic_add(DV + at, add_v, mask=j_ok)
    tl.atomic_add(DK + at, add_k, mask=j_ok)
# --- with
    add_v += tl.load(DV + at, mask=j_ok, other=0.0)
    add_k += tl.load(DK + at, mask=j_ok, other=0.0)
    tl.store(DV + at, add_v, mask=j_ok)
    tl.store(DK + at, add_k, mask=j_ok)
