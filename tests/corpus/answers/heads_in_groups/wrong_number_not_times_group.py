# label: wrong
# title: the group's number is not multiplied
# says: group n begins at head n * group, and here it begins at head n
# names: a group counted as one head; one edit

def heads_in_groups(pid, blocks, heads, group):
    number, place = divmod(pid, group * blocks)
    return blocks - 1 - place // group, number + place % group
