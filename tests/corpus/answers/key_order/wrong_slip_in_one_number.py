# label: wrong
# title: two numbers of a table exchanged
# says: In the third four, 12 and 13 are exchanged.
# names: one edit

def key_order(place):
    return (0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 13, 12, 6, 7, 14, 15)[place]
