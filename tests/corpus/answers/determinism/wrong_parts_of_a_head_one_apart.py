# label: wrong
# title: head + block in place of head * blocks + block
# says: The parts of a head begin one part after those of the head before, so that heads share all parts but one.
# names: race; one part for all
# base: right_the_place_is_chosen_where_the_share_is_stored

# --- replace
        part = head * tl.num_programs(0) + tl.program_id(0)
# --- with
        part = head + tl.program_id(0)
