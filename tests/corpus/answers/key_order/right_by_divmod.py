# label: right
# title: thread and share by divmod

def key_order(place):
    thread, share = divmod(place, 4)
    pair, left_or_right = divmod(share, 2)
    return 8 * pair + 2 * thread + left_or_right
