"""A sum that is kept for each lane, and used as the sum of all of them, has an edit."""

from flashlearn.explaining.edits import edits_of

KERNEL = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    part = tl.zeros([BLOCK], tl.float32)
    tile = tl.zeros([BLOCK, 4], tl.float32)
    for start in range(0, n, BLOCK):
        part += tl.load(x_ptr + start)
        tile += 1.0
    total = tl.sum(part, axis=0)
    tl.store(y_ptr, part / total + tile)
"""


def of_kind(text: str) -> list[tuple[int, str]]:
    return [(e.line, e.new) for e in edits_of(text) if e.kind.name == "lanes not summed"]


def test_a_vector_of_sums_is_summed_where_it_is_used_after_its_loop_and_nowhere_else():
    assert of_kind(KERNEL) == [(10, "tl.sum(part, axis=0)")]


def test_a_vector_to_which_no_loop_adds_is_left_alone():
    assert not of_kind(KERNEL.replace("part += ", "other = "))
