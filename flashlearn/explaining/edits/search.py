"""One edit that makes every wrong case right, found by running the learner's function with each.

That an edit repairs every case is not a guess: it has been observed. The extent of the search is counted in
work, not in seconds, so that a verdict is the same on every machine; only of formulas whose runs are slow, in
sums of sympy's, the processor's time counts as work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.edits.accesses import infinite_load
from flashlearn.explaining.edits.address_slice import address_slice, condition_lines, operand_lines
from flashlearn.explaining.edits.alternatives import most_natural
from flashlearn.explaining.edits.compensation import compensates
from flashlearn.explaining.edits.disabled_bounds import makes_up_for_all
from flashlearn.explaining.edits.each_output import ALTERNATIVES, Repairs, together
from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.elsewhere import may_be_elsewhere
from flashlearn.explaining.edits.formula_pairs import POOL, edit_of_some_outputs, pair_of_edits
from flashlearn.explaining.edits.generation import edits_of
from flashlearn.explaining.edits.naturalness import Naturalness, naturalness
from flashlearn.explaining.edits.output_slice import suspect_lines
from flashlearn.explaining.edits.own_mistakes import have_their_own_mistake
from flashlearn.explaining.edits.quotation import quoted
from flashlearn.explaining.edits.ranking import Hints, ranked
from flashlearn.explaining.edits.returned_forms import FIXED_SIZE
from flashlearn.explaining.edits.same_change import with_other_lines
from flashlearn.explaining.edits.statements import REDUNDANT_STATEMENT
from flashlearn.explaining.edits.tile_of_many import covers_many
from flashlearn.explaining.edits.trial import Trial, cost
from flashlearn.explaining.edits.trials import trial_of
from flashlearn.explaining.findings.edits import OneEdit, TwoEdits
from flashlearn.explaining.findings.outputs import EachOutput
from flashlearn.explaining.findings.rule import listed_words
from flashlearn.outcome import Finding, Outcome, Place
from flashlearn.running.answer import Answer
from flashlearn.running.answer_source import Section

SECOND_EDIT_WORK = 400.0
"""Work that the search for a second edit may take."""

TELLING = ("reduction axis", "round up", "round down", "brackets")
"""Kinds of edits with which a case is hardly ever right by chance."""

MOST_TELLING = 12
"""So many of them are tried of an answer of which nothing is known."""

PROOF_WORK = 2 * SECOND_EDIT_WORK
"""No second edit is sought if one run of all wrong cases would take more than this."""


ATOMIC = "atomic_"
"""What atomics begin with. Edits bring none into answers whose results must not change from run to run."""


class PartialRepair(NamedTuple):
    """An edit that makes the first `reached` of the wrong cases right, or some `outputs` in all of them.

    With one that `echoes` the first wrong case has the numbers of a known mistake.
    """

    reached: int
    section: int
    edit: Edit
    outputs: tuple[str, ...] = ()
    echoes: bool = False


def find_edit(
    exercise: Exercise,
    answer: Answer,
    outcomes: Sequence[Outcome],
    line: int | None = None,
    accesses: Sequence[str] = (),
    nan_appears: bool = False,
    kept: list[PartialRepair] | None = None,
    explained: Iterable[str] = (),
    runs: int | None = None,
    case: str = "",
) -> Finding | None:
    """The finding that one edit of the answer's text makes every wrong case right, or one for each output.

    `line` is the learner's line where the values first depart, if that is known. `accesses` are the names of
    accesses (`load`, `store`) that are known to be out of place, or incomplete. With `nan_appears`, a NaN
    comes from an operation in the line, whose operands another line may have made wrong. Where some outputs
    are `explained`, an edit that makes all others right is enough. None if nothing was found, if
    finding the line is the exercise, and if outputs cannot be compared. Then edits that repair a part are
    added to `kept`. Of a formula at most so many `runs` are made, if that is given. `case` is tried first:
    where another mistake shows in other cases alone, an edit of its mistake repairs that one.
    """
    unsolved, sections = exercise.explained.unsolved, answer.sections()
    if not sections or (unsolved is not None and unsolved(answer)):
        return None
    trial = trial_of(exercise, answer, outcomes)
    if not trial.wrong:
        return None
    trial.wrong.sort(key=lambda outcome: outcome.case.name != case)
    trial.left = trial.left if runs is None else runs * getattr(trial, "run_work", 1)
    repairs: dict[frozenset[str], list[tuple[int, Edit]]] = {}
    everything = frozenset(trial.bad)
    seen = frozenset(check.name for outcome in trial.wrong for check in outcome.outputs if not check.ok)
    partial: list[PartialRepair] = []
    echoing: list[PartialRepair] = []
    pool: list[tuple[int, Edit]] = []
    edits = edits_that_may_be_meant(exercise, sections, trial.wrong)
    hints = Hints(
        divergence=lines_within(sections, line),
        address=address_slice(sections, accesses, line) if accesses else (),
        operands=operand_lines(sections, line) if nan_appears else (),
        suspects=suspect_lines(sections, exercise.outputs, outcomes),
        conditions=condition_lines(sections, line),
    )
    order = ranked(edits, outcomes, hints)
    if nan_appears:
        order.sort(key=lambda one: not infinite_load(one[1]))  # few, and each product with 0 makes a NaN
    for number, (i, edit) in enumerate(order):
        if trial.left <= 0:
            break
        by_chance = trial.by_chance(edit)
        if len(trial.wrong) == 1 and by_chance:
            continue
        text = edit.applied(sections[i].text)
        if len(pool) < POOL and _is_natural(sections[i].text, edit):
            pool.append((i, edit))
        good = frozenset(trial.repaired(i, text))
        if good != everything:
            good &= seen  # another output may be right as soon as nothing stops
        if good and makes_up_for_all(trial, i, sections[i].text, edit):
            continue
        if (
            good
            and _is_wanted(sections, (i, edit), repairs.get(good, ()))
            and trial.generalises(i, text, good)
        ):
            repairs.setdefault(good, []).append((i, edit))
        if everything in repairs:
            best = most_natural(trial, sections, (i, edit), order[number + 1 :], hints)
            if best is None:
                return None
            i, edit, doubt = best
            doubt = (
                doubt and exercise.kind is not Kind.SYMBOLIC
            )  # an exact formula that is right avoids nothing
            lines: tuple[int, ...] = ()
            if exercise.kind is not Kind.KERNEL and not doubt:
                (i, edit), lines = with_other_lines(trial, sections, (i, edit), order[number + 1 :])
            return edit_finding(trial.wrong, sections[i], edit, doubt=doubt, instead=lines)
        if not good and (2 if by_chance else 1) <= trial.reached < len(trial.wrong):
            partial.append(PartialRepair(trial.reached, i, edit))
        elif kept is not None and not good and not trial.reached and _exchanges(edit) and trial.echoes():
            echoing.append(PartialRepair(0, i, edit, echoes=True))
    unknown = kept is not None and line is None and not accesses and exercise.kind is Kind.KERNEL
    if unknown and not repairs and not partial:
        partial += _in_other_cases(trial, sections, order)
    each = together(trial, sections, repairs)
    rest = everything - {*explained}
    if not each and rest in repairs:
        one = _last_of_natural(sections, repairs[rest])
        about = (sections, exercise.outputs, rest, everything & {*explained}, one)
        own = exercise.kind is not Kind.SYMBOLIC or have_their_own_mistake(*about, explained=True)
        # another name may make these outputs right, and the explained ones wrong in another way
        each = [(listed_words(sorted(rest)), *one)] if own and not one[1].kind.mixes_names else []
    if not each:
        if kept is not None:
            kept += partial
            some = sorted((names for names in repairs if names != everything), key=len, reverse=True)
            kept += [
                PartialRepair(0, *_last_of_natural(sections, repairs[names]), _in_order(exercise, names))
                for names in some
            ]
            kept += echoing
        if exercise.kind is not Kind.KERNEL and runs is None and not explained:
            found = _of_formula(trial, sections, _of_their_own(exercise, sections, everything, repairs), pool)
            if found is not None:
                return found
        return _two_edits(exercise, trial, sections, partial, outcomes, hints)
    parts = tuple(edit_finding(trial.wrong, sections[i], edit, names) for names, i, edit in each)
    if len(parts) == 1:
        return parts[0]
    return Finding(EachOutput(parts), fits=len(trial.wrong), of=len(trial.wrong))


def _of_their_own(
    exercise: Exercise, sections: Sequence[Section], bad: frozenset[str], repairs: Repairs
) -> Repairs:
    """The edits without those that make up in one output for what is wrong with another."""
    if exercise.kind is not Kind.SYMBOLIC:
        return repairs
    return {
        names: [
            one
            for one in edits
            if have_their_own_mistake(sections, exercise.outputs, names, bad - names, one, explained=False)
        ]
        for names, edits in repairs.items()
    }


def _is_wanted(sections: Sequence[Section], one: tuple[int, Edit], known: Sequence[tuple[int, Edit]]) -> bool:
    """Whether another edit that makes the same outputs right is worth keeping: a natural one is longer."""
    natural = [each for each in (one, *known) if _is_natural(sections[each[0]].text, each[1])]
    return len(known) < ALTERNATIVES or (one in natural and len(natural) <= ALTERNATIVES)


def _in_order(exercise: Exercise, names: Iterable[str]) -> tuple[str, ...]:
    """Outputs in the order in which they are returned."""
    return tuple(name for name in exercise.outputs if name in names)


def _last_of_natural(sections: Sequence[Section], edits: Sequence[tuple[int, Edit]]) -> tuple[int, Edit]:
    """Of the most natural edits the last: what makes an output right further up may spoil another one."""
    return min(edits, key=lambda one: (naturalness(sections[one[0]].text, one[1]), -one[1].line))


def _of_formula(
    trial: Trial, sections: Sequence[Section], repairs: Repairs, pool: Sequence[tuple[int, Edit]]
) -> Finding | None:
    """What two edits do to a formula that no single one makes right, or one to some of its outputs."""
    wrong = trial.wrong

    def finding(section: Section, edit: Edit, output: str, written: str) -> Finding:
        return edit_finding(wrong, section, edit, output, written=written)

    some = edit_of_some_outputs(
        trial, sections, repairs, lambda one: _is_natural(sections[one[0]].text, one[1]), finding
    )
    return some or pair_of_edits(trial, sections, pool, finding)


def _exchanges(edit: Edit) -> bool:
    """True if the edit takes nothing away and adds nothing: a term left out is a known mistake by itself."""
    return edit.kind is not REDUNDANT_STATEMENT and edit.new not in edit.old and edit.old not in edit.new


def edits_that_may_be_meant(
    exercise: Exercise, sections: Sequence[Section], wrong: Sequence[Outcome]
) -> Iterator[tuple[int, Edit]]:
    """The edits that may be reported, each with its section, without those that may repair another place."""
    elsewhere = covers_many if exercise.kind is Kind.KERNEL else may_be_elsewhere
    for i, section in enumerate(sections):
        for edit in allowed_edits(exercise, section.text, wrong):
            if not elsewhere(sections, i, edit):
                yield i, edit


def allowed_edits(exercise: Exercise, text: str, wrong: Sequence[Outcome]) -> Iterator[Edit]:
    """The edits of a text that may be reported: an atomic only where the order of additions is open.

    None makes up for a mistake that shows in the few cases that are `wrong` by leaving out what protects.
    """
    for edit in edits_of(text):
        adds_an_atomic = ATOMIC in edit.new and ATOMIC not in edit.old
        if (exercise.judged.atomics or not adds_an_atomic) and not compensates(edit, wrong):
            yield edit


def _two_edits(
    exercise: Exercise,
    trial: Trial,
    sections: Sequence[Section],
    partial: Sequence[PartialRepair],
    outcomes: Sequence[Outcome],
    hints: Hints,
) -> Finding | None:
    """The finding that a second edit, in any of the functions, repairs what the best partial one leaves."""
    natural = [one for one in partial if _is_natural(sections[one.section].text, one.edit)]
    best = max(natural, key=lambda one: one.reached, default=None)
    if best is None or sum(map(cost, trial.wrong)) > PROOF_WORK:
        return None
    section, wrong, at = sections[best.section], trial.wrong, best.section
    text = best.edit.applied(section.text)
    if text.count("\n") != section.text.count("\n"):
        return None  # the lines would have other numbers
    trial.left = SECOND_EDIT_WORK
    still_wrong = [o for o in outcomes if all(o is not done for done in wrong[: best.reached])]
    trial.wrong = [*wrong[best.reached :], *wrong[: best.reached]]
    texts = [text if i == at else one.text for i, one in enumerate(sections)]
    trial.fixed = ((at, text),)
    second = ((i, edit) for i, one in enumerate(texts) for edit in allowed_edits(exercise, one, still_wrong))
    for i, edit in ranked(second, still_wrong, hints):
        if trial.left <= 0:
            return None
        if not _is_natural(texts[i], edit) or (i == at and _overlap(best.edit, edit)):
            continue
        both = edit.applied(texts[i])
        if trial.repaired(i, both) == trial.bad and trial.generalises(i, both, trial.bad):
            trial.fixed = ()
            passing = trial.passing(at, text, wrong)  # with the first edit alone, in all cases
            if compensates(edit, [o for o in wrong if all(o is not done for done in passing)]):
                return None
            other = edit_finding(wrong, sections[i], edit, written=texts[i])
            parts = (edit_finding(wrong, section, best.edit), other)
            kind = TwoEdits(len(passing), len(wrong), parts)
            return Finding(kind, parts[0].place, len(wrong), len(wrong))
    return None


def _in_other_cases(
    trial: Trial, sections: Sequence[Section], order: Sequence[tuple[int, Edit]]
) -> list[PartialRepair]:
    """Edits of kinds that hardly ever help by chance, with which some other case than the cheapest is right.

    The cheapest case may show two mistakes where these show one: all their inputs are read, or there is
    one query. The cases that are right with the first such edit come first from then on.
    """
    others = _other_cases(trial.wrong)
    tried = [one for one in order if _is_telling(one[1])][:MOST_TELLING]
    for i, edit in tried if others and sum(map(cost, trial.wrong)) <= PROOF_WORK else ():
        text = edit.applied(sections[i].text)
        if not _is_natural(sections[i].text, edit) or not trial.passing(i, text, others):
            continue
        right = trial.passing(i, text, trial.wrong)
        trial.wrong = [*right, *(o for o in trial.wrong if all(o is not one for one in right))]
        partly = 1 < len(right) < len(trial.wrong)
        return [PartialRepair(len(right), i, edit)] if partly else []
    return []


def _is_telling(edit: Edit) -> bool:
    """Whether an edit of a value, or of a number of blocks, hardly ever makes a case right by chance."""
    address = edit.about or "program_id" in edit.old or "arange" in edit.old or "stride" in edit.old
    return edit.kind.name in TELLING and not address


def _other_cases(wrong: Sequence[Outcome]) -> list[Outcome]:
    """The cheapest case of which every input is read as a whole, and the cheapest with one query."""
    read = [o.observation.unread if o.observation is not None else {} for o in wrong]
    most = max(map(len, read), default=0)
    whole = (
        o
        for o, of in zip(wrong, read, strict=True)
        if len(of) == most and not any(m.any() for m in of.values())
    )
    one = (o for o in wrong if o.case.sizes.get("S_q") == 1)
    found = [next(whole, None), next(one, None)]
    return [o for o in found if o is not None and o is not wrong[0]]


def _is_natural(text: str, edit: Edit) -> bool:
    """Whether an edit may be reported as one of two mistakes, on no more evidence than that both help.

    A larger tile may merely avoid a mistake in a loop or in the grid.
    """
    return naturalness(text, edit) is Naturalness.NATURAL and edit.kind is not FIXED_SIZE


def _overlap(first: Edit, second: Edit) -> bool:
    """Whether the second edit, of the text after the first, changes what the first has put there."""
    apart = second.end <= first.start or first.start + len(first.put.encode()) <= second.start
    return not apart and first.put not in second.put


def lines_within(sections: Sequence[Section], line: int | None) -> list[int | None]:
    """A line of the learner's file as the line within each section, from 1; None if it is not known."""
    return [line and line - section.line + 1 for section in sections]


def edit_finding(
    wrong: Sequence[Outcome],
    section: Section,
    edit: Edit,
    output: str = "",
    doubt: bool = False,
    written: str = "",
    instead: tuple[int, ...] = (),
) -> Finding:
    """The finding that one edit of a section, or of `written` in its place, makes the wrong cases right.

    `instead` are lines in which the same change would do so.
    """
    count, line = len(wrong), section.line + edit.line - 1
    also = tuple(section.line + one - 1 for one in edit.also)
    place = Place(section.file, line, section.text.splitlines()[edit.line - 1].rstrip(), section.name)
    quotes = quoted(written or section.text, edit)
    tried = (section.line, edit.applied(written or section.text))
    kind = OneEdit(
        edit.kind.name, line, edit.old, edit.new, count, also, output, quotes, doubt, instead, tried
    )
    return Finding(kind, place, count, count)
