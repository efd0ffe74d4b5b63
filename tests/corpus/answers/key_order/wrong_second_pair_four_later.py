# label: wrong
# title: the second pair four keys later
# says: A thread's second pair lies eight keys after the first, not four.
# names: pairs four apart

def key_order(place):
    return (0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15)[place]
