# label: wrong
# title: stored in the loop that sums
# says: Each block is stored while the denominator is still growing: it is divided by the sum of the blocks up
#   to its own.
# names: rows do not sum to 1; divided by the sum so far
# base: _three_passes

# --- replace
    for c in range(0, cols, CHUNK):
        x = tl.load(S + (c + lane) * s_c, mask=c + lane < cols, other=-float("inf"))
        tl.store(P + c + lane, tl.exp(x.to(tl.float32) - m) / z, mask=c + lane < cols)
# --- with
        tl.store(P + c + lane, tl.exp(x.to(tl.float32) - m) / z, mask=c + lane < cols)
