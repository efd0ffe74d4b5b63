# label: right
# title: a table

def key_order(place):
    return (0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15)[place]
