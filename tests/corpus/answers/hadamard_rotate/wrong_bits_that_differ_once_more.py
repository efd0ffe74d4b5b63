# label: wrong
# title: bits that differ, once more
# says: `bits = d[:, None] ^ d[None, :]` counts the bits in which i and j differ; the exponent is the number
#   of bits that they share (&).
# names: bits that differ
# base: right_product_over_the_bits

# --- replace
    matrix = tl.full((D, D), 1, tl.int32)
    for bit in tl.static_range(8):
        shared = (d[:, None] >> bit) & (d[None, :] >> bit) & 1
        matrix = matrix * (1 - 2 * shared)
# --- with
    bits = d[:, None] ^ d[None, :]
    odd = bits ^ (bits >> 4)
    odd = odd ^ (odd >> 2)
    odd = (odd ^ (odd >> 1)) & 1
    matrix = tl.where(odd == 1, -1.0, 1.0)
