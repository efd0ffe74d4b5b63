# label: right
# title: divmod

def by_divmod(pid, blocks, heads):
    above, head = divmod(pid, heads)
    return blocks - above - 1, head
