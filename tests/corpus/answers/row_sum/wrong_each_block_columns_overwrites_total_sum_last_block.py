# label: wrong
# title: total = the tile's sum
# says: Each block of columns overwrites the total: the sum is that of the last block alone.
# names: only the last tile
# base: _rows

# --- replace
        total += tl.sum(tile, 1)
# --- with
        total = tl.sum(tile, 1)
