# label: wrong
# title: nothing is reordered
# says: Every key is at its own place: that is the order that costs the exchange.
# names: the order in which the keys come

def key_order(place):
    return place % 16
