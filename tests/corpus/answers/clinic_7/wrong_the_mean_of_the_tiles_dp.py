# label: wrong
# title: the mean of the tile's dP
# says: The mean of dP over the tile's keys is subtracted, unweighted.
# names: the plain mean of the tile
# base: _clinic_7_kernel

# --- replace
        ds = p * dp
# --- with
        ds = p * (dp - (tl.sum(dp, axis=1) / BLOCK)[:, None])
