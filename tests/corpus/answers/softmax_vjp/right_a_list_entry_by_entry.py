# label: right
# title: a list, entry by entry

def vjp_as_a_list(p, dp):
    mean = sum(a * b for a, b in zip(p, dp, strict=True))
    return [a * b - a * mean for a, b in zip(p, dp, strict=True)]
