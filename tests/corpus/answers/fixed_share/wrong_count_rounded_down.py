# label: wrong
# title: only the count is rounded down
# says: The number of blocks leaves out what the division leaves over; the tiles are right.
# names: the number of blocks is rounded down

def fixed_share(pid, programs, blocks, heads):
    tiles = 0
    for number in range(pid, blocks * heads, programs):
        tiles += blocks - number // heads
    return blocks * heads // programs, tiles
