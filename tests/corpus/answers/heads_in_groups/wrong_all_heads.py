# label: wrong
# title: the group is ignored
# says: `group` is not used: the heaviest blocks of all heads come first, so all heads are scanned at once
# names: all heads at once

def heads_in_groups(pid, blocks, heads, group):
    return blocks - 1 - pid // heads, pid % heads
