# label: wrong
# title: 3-D grid, no conversion
# says: Products and sum are computed in half precision.
# names: in half precision; precision
# base: right_a_three_dimensional_grid

# --- replace
                mask=mask, other=0.0).to(tl.float32)
    do = tl.load(DO + off_b * sd_b + off_h * sd_h + off_m[:, None] * sd_m + off_d[None, :] * sd_d,
                 mask=mask, other=0.0).to(tl.float32)
# --- with
                mask=mask, other=0.0)
    do = tl.load(DO + off_b * sd_b + off_h * sd_h + off_m[:, None] * sd_m + off_d[None, :] * sd_d,
                 mask=mask, other=0.0)
