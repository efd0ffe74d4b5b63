# label: wrong
# title: no hook for the gradient
# says: dQ and dK lack the derivative of the cap.
# names: the cap's derivative is forgotten
# base: right_by_sigmoid

# --- replace
        score=score, score_gradient=gradient, extras=(cap,),
# --- with
        score=score, extras=(cap,),
