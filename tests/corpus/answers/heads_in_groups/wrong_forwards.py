# label: wrong
# title: lightest blocks first in each group
# says: the block is counted up, so each group begins with the blocks that see the fewest keys
# names: lightest first; one edit

def heads_in_groups(pid, blocks, heads, group):
    number, place = divmod(pid, group * blocks)
    return place // group, number * group + place % group
