# label: wrong
# title: the number is divided by the number of blocks
# says: a block of queries has `heads` numbers in a row, not `blocks`
# names: divided by the number of blocks

def fixed_share(pid, programs, blocks, heads):
    taken, tiles = 0, 0
    number = pid
    while number < blocks * heads:
        block = blocks - 1 - number // blocks
        taken += 1
        tiles += block + 1
        number += programs
    return taken, tiles
