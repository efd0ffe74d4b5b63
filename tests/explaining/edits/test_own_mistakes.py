"""An output that only shows the mistake of another one gets no edit of its own."""

import sympy as sp

import flashlearn
from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.own_mistakes import have_their_own_mistake
from flashlearn.running.answer_source import Section

TEXT = """def masked_tiles(first, block_q, block_k, edge, S):
    end = min(S, first + block_q)
    whole = first // block_k * block_k
    tiles = end // edge
    beyond = tiles * edge - end
    return tiles, beyond
"""
OUTPUTS = ("tiles", "beyond")


def own(text: str, old: str, new: str, explained: bool = False, repaired: str = "beyond") -> bool:
    edit = next(e for e in edits_of(text) if (e.old, e.new) == (old, new))
    others = {*OUTPUTS} - {repaired}
    sections = [Section("masked_tiles", "file", 1, text)]
    return have_their_own_mistake(sections, OUTPUTS, {repaired}, others, (0, edit), explained)


def test_an_edit_that_makes_up_for_another_wrong_output_is_none_of_its_own():
    assert not own(TEXT, "tiles * edge", "tiles + edge")


def test_an_output_that_the_other_one_does_not_read_may_have_a_mistake_of_its_own():
    apart = TEXT.replace("tiles * edge - end", "whole - end")
    assert own(apart, "whole - end", "end - whole", explained=True)


def test_a_line_that_an_explained_output_reads_is_left_alone():
    apart = TEXT.replace("tiles * edge - end", "whole - end")
    assert own(apart, "first + block_q", "first - block_q")
    assert not own(apart, "first + block_q", "first - block_q", explained=True)


def test_where_the_lines_of_an_output_are_not_known_nothing_is_left_out():
    assert own(TEXT.replace("return tiles, beyond", "return (tiles, beyond)[:2]"), "first + block_q", "first")


def test_one_edit_takes_the_place_of_two_declared_mistakes_that_give_the_same_numbers():
    def heads_in_groups(pid, blocks, heads, group):
        per_group = heads * blocks
        number, rest = pid // per_group, pid % per_group
        return blocks - 1 - rest // group, number * group + rest % group

    report = flashlearn.check("heads_in_groups", heads_in_groups, demo=True)
    assert report.sentence.endswith("has `heads * blocks`; with `group * blocks` all 5 failing cases pass.")


def test_a_dividend_from_which_something_must_be_taken_is_the_only_mistake():
    def masked_tiles(first, block_q, block_k, edge, S):
        end = min(S, first + block_q)
        whole = min(S, first + 1) // block_k * block_k
        tiles = sp.ceiling(end / edge)
        return tiles, whole + tiles * edge - end

    report = flashlearn.check("masked_tiles", masked_tiles, demo=True)
    assert report.sentence.endswith("has `end / edge`; with `(end - whole) / edge` all 4 failing cases pass.")
