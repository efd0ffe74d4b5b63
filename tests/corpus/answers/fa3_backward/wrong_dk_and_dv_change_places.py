# label: wrong
# title: dK and dV change places.
# says: dK and dV change places.
# names: dK and dV exchanged
# base: _course_solution

# --- replace
    tma.async_copy_shared_to_global(dk_desc, [b, h, key, 0], k_tiles.index(CONSUMER))
    tma.async_copy_shared_to_global(dv_desc, [b, h, key, 0], v_tiles.index(CONSUMER))
# --- with
    tma.async_copy_shared_to_global(dk_desc, [b, h, key, 0], v_tiles.index(CONSUMER))
    tma.async_copy_shared_to_global(dv_desc, [b, h, key, 0], k_tiles.index(CONSUMER))
