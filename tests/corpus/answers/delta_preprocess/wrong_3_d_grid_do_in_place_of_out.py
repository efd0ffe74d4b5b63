# label: wrong
# title: 3-D grid, DO in place of Out
# says: do comes in twice; o is never read.
# names: do times itself
# base: right_a_three_dimensional_grid

# --- replace
    o = tl.load(Out + off_b * so_b + off_h * so_h + off_m[:, None] * so_m + off_d[None, :] * so_d,
# --- with
    o = tl.load(DO + off_b * sd_b + off_h * sd_h + off_m[:, None] * sd_m + off_d[None, :] * sd_d,
