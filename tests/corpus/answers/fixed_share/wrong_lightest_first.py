# label: wrong
# title: blocks counted up
# says: number 0 is the last block, and here it is the first
# names: lightest first

def fixed_share(pid, programs, blocks, heads):
    mine = range(pid, blocks * heads, programs)
    return len(mine), sum(number // heads + 1 for number in mine)
