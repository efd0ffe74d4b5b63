# label: wrong
# title: heads of the first group only
# says: the head is the place within the group; the heads of the groups before are not added
# names: only the first group; one edit

def heads_in_groups(pid, blocks, heads, group):
    place = pid % (group * blocks)
    return blocks - 1 - place // group, place % group
