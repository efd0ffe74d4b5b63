# label: wrong
# title: slopes times alpha
# says: alpha belongs to q · k and not to the bias.
# names: alpha on the bias
# base: right_by_hook

# --- replace
        score=nearer_is_better, extras=(slopes,),
# --- with
        score=nearer_is_better, extras=(slopes * alpha,),
