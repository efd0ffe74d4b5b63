# label: wrong
# title: the inverse
# says: It gives the place of a key; asked is the key of a place.
# names: the place of a key

def key_order(key):
    half, within = divmod(key, 8)
    thread, side = divmod(within, 2)
    return 4 * thread + 2 * half + side
