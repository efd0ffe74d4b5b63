# label: right
# title: the whole order as a list, sliced

def fixed_share(pid, programs, blocks, heads):
    visited = [block + 1 for block in reversed(range(blocks)) for _ in range(heads)]
    mine = visited[int(pid) :: int(programs)]
    return len(mine), sum(mine)
