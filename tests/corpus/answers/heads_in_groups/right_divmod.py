# label: right
# title: two divmods

def heads_in_groups(pid, blocks, heads, group):
    number, place = divmod(pid, group * blocks)
    rank, head = divmod(place, group)
    return blocks - 1 - rank, number * group + head
