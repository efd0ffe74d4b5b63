# label: right
# title: the order written out as a list

def heads_in_groups(pid, blocks, heads, group):
    order = [
        (block, head)
        for first in range(0, heads, group)
        for block in reversed(range(blocks))
        for head in range(first, first + group)
    ]
    return order[int(pid)]
