# label: wrong
# title: the table read backwards
# says: The table is right, and `.index` looks up the place of a key instead of the key of a place.
# names: the place of a key

ORDER = [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15]


def key_order(place):
    return ORDER.index(int(place))
