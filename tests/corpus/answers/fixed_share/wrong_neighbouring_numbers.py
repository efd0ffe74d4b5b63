# label: wrong
# title: a run of neighbouring numbers
# says: the program takes blocks that follow each other, and not every `programs`-th one
# names: neighbours

def fixed_share(pid, programs, blocks, heads):
    total = blocks * heads
    each = -(-total // programs)
    mine = range(pid * each, min(total, pid * each + each))
    return len(mine), sum(blocks - number // heads for number in mine)
