# label: right
# title: a loop with a running number

def fixed_share(pid, programs, blocks, heads):
    taken = tiles = 0
    number = pid
    while number < blocks * heads:
        taken += 1
        tiles += blocks - number // heads
        number += programs
    return taken, tiles
