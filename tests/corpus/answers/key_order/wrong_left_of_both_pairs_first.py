# label: wrong
# title: the left key of both pairs first
# says: A thread's keys are 0, 8, 1, 9: they are its own, and do not ascend.
# names: a thread's keys are not ascending

def key_order(place):
    t, i = place // 4, place % 4
    return 2 * t + (i % 2) * 8 + i // 2
