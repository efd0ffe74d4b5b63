# label: wrong
# title: the number of groups for their size
# says: A group has blocks · group programs, not blocks times the number of groups.
# names: one edit
# base: right_divmod

# --- replace
    number, place = divmod(pid, group * blocks)
# --- with
    number, place = divmod(pid, heads // group * blocks)
