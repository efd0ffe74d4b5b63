# label: wrong
# title: one head of the group after the other
# says: within a group `divmod(place, blocks)` finishes a head before the next begins
# names: one head after the other

def heads_in_groups(pid, blocks, heads, group):
    number, place = divmod(pid, group * blocks)
    head, rank = divmod(place, blocks)
    return blocks - 1 - rank, number * group + head
