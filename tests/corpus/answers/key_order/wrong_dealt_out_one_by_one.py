# label: wrong
# title: dealt out one by one
# says: Thread t is given the keys t, t + 4, t + 8, t + 12; a product leaves it pairs of neighbours.
# names: every fourth key

def key_order(place):
    thread, share = place // 4, place % 4
    return thread + 4 * share
