# label: wrong
# title: without dq_ptr += head * S_q * D # fp32, zero before the first program runs
# says: All heads add to the dQ of the first one.
# names: all heads add to one; never written; one edit
# base: _course_solution

# --- replace
    delta_ptr += head * S_q
    dq_ptr += head * S_q * D  # fp32, zero before the first program runs
    dk_ptr += head * S_k * D
# --- with
    delta_ptr += head * S_q
    
    dk_ptr += head * S_k * D
