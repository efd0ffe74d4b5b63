# label: wrong
# title: No fence before the tensor core reads dS.
# says: No fence before the tensor core reads dS.
# names: dS without a fence; no fence
# base: _course_solution

# --- replace
        fence_async_shared()  # the tensor core sees what ordinary stores wrote
# --- with
