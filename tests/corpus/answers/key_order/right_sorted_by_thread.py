# label: right
# title: the keys sorted by the thread that has them

def key_order(place):
    return sorted(range(16), key=lambda key: key % 8 // 2)[int(place)]
