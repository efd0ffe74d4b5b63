# label: wrong
# title: four programs and no loop
# says: Four programs of 256 elements are launched whatever n is, and none of them goes on: nothing beyond the
#   first 1024 elements is ever written.
# names: never written
# base: _saxpy

# --- replace
    for base in range(0, n, NPROG * TPB):
# --- with
    for base in range(0, 1):
