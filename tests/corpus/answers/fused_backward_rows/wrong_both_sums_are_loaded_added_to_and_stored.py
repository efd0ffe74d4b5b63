# label: wrong
# title: tl.store(dk_ptr + dkv_tile, dk_share + tl.load(dk_ptr + dkv_tile, mask=in_tile, other=0.0),
#   mask=in_tile) / tl.store(dv_ptr + dkv_tile, dv_share + tl.load(dv_ptr + dkv_tile, mask=in_tile,
#   other=0.0), mask=in_tile)
# says: Both sums are loaded, added to and stored.
# names: load, add, store; race
# base: _course_solution

# --- replace
        tl.atomic_add(dv_ptr + dkv_tile, dv_share, mask=in_tile, sem="relaxed")
        tl.atomic_add(dk_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed")
# --- with
        tl.store(dv_ptr + dkv_tile, dv_share + tl.load(dv_ptr + dkv_tile, mask=in_tile, other=0.0), mask=in_tile)
        tl.store(dk_ptr + dkv_tile, dk_share + tl.load(dk_ptr + dkv_tile, mask=in_tile, other=0.0), mask=in_tile)
