# label: wrong
# title: one block of 1024
# says: One block of 1024 and no loop: what lies beyond is left out.
# names: last tile missing; only the first tile
# base: right_a_running_maximum_for_every_lane

# --- replace
    for at in range(0, N, LANES):
# --- with
    for at in range(0, 1):

# --- replace
    lanes_lse[(x.shape[0],)](x, lse, x.shape[1], x.stride(0), x.stride(1), LANES=8)
# --- with
    lanes_lse[(x.shape[0],)](x, lse, x.shape[1], x.stride(0), x.stride(1), LANES=1024)
