# label: wrong
# title: The second half comes from the first's rows.
# says: The second half comes from the first's rows.
# names: shifted; some rows
# base: right_two_copies_to_one_barrier

# --- replace
        tma.async_copy_global_to_shared(src, [top + 32 * h, col], bar, both.index(h))
# --- with
        tma.async_copy_global_to_shared(src, [top, col], bar, both.index(h))
