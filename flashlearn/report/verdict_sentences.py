"""Sentences of a verdict where no finding has a better one: what happened, and what to do next."""

from __future__ import annotations

import re
import textwrap

from flashlearn.exercise import Case, Kind
from flashlearn.explaining.contrast import contrast
from flashlearn.explaining.findings.rule import listed_words
from flashlearn.explaining.matching import size
from flashlearn.explaining.stage import attempted
from flashlearn.outcome import Status
from flashlearn.report.data import CheckResult
from flashlearn.report.units import plural

LONGEST_SENTENCE, LONGEST_NAME = 480, 2
PLAIN = ("normal", "causal")
SUM = re.compile(r"so far|the (?:sum|maximum|mean) ")
ERROR = re.compile(r"\w+ (?:is|are) off by up to |\w+ is less accurate than it should be: ")

SENTENCES = {
    Status.TODO: "The stub is still in place.",
    Status.CRASHED: "Your code stopped with an error.",
    Status.TIMEOUT: "Your code did not finish within the time limit.",
    Status.OUT_OF_BOUNDS: "Your kernel accessed memory outside a tensor.",
    Status.RACE: "Two programs accessed the same memory, and at least one of them wrote.",
    Status.WRONG: "The result differs from the reference by more than rounding explains.",
    Status.NOT_YOURS: "The result is right, but your kernel did not compute it.",
    Status.UNDECIDED: "Every case passes, but the final review of the answer could not be completed.",
    Status.NEEDS_GPU: "This exercise runs only on a GPU, and this machine has none.",
}
NEVER_WRITTEN = (
    "How many programs does the grid have in this case, into which tensor do they store, and which lanes do "
    "the masks of the stores let through?"
)
NEXT_STEPS = {
    Status.TIMEOUT: "Look for a loop that never ends, or a grid of far more programs than blocks.",
    Status.OUT_OF_BOUNDS: "Compare the marked line's addresses with the tensor's size.",
    Status.RACE: "Decide which program writes this element, and let no other write it; or add atomically.",
    Status.WRONG: "Compare your intermediate values with the formula's.",
    Status.NOT_YOURS: "Have the Triton kernel store every element of the result.",
    Status.UNDECIDED: "Run the check again. The failure was logged, and `flashlearn doctor` shows it.",
    Status.NEEDS_GPU: "Read on: the lesson continues without it. Check again on a machine with a GPU.",
}


def sentence_of(result: CheckResult) -> str:
    """The finding in one sentence, or else what happened in the first case that matters."""
    if result.passed:
        return _pass_sentence(result)
    if result.finding is not None:
        return result.finding.sentence
    outcome = result.principal
    if outcome is not None and outcome.fault[:1] == ("todo",):
        return _todo_sentence(*outcome.fault[1:], result.exercise.name)
    return (with_its_case(result, shortened(outcome.message)) if outcome else "") or SENTENCES[result.status]


def next_step_of(result: CheckResult) -> str:
    """What to look at, or to do."""
    if result.passed:
        return "" if result.demo or result.stale else result.follows
    finding = result.finding
    if finding is not None and (finding.next_step or finding.kind.beyond_cases):
        return finding.next_step
    if result.status is Status.WRONG and result.exercise.kind is Kind.SYMBOLIC:
        return _symbolic_step(result)
    if result.status is Status.WRONG and result.exercise.kind is Kind.TORCH:
        return f"{_contrast(result)}{_compare(result)}"
    if result.status is Status.WRONG:
        return NEVER_WRITTEN if _is_never_written(result) else _compare(result)
    return NEXT_STEPS.get(result.status, "")


def _is_never_written(result: CheckResult) -> bool:
    """True if no program wrote any element of the first wrong output in the case that is spoken of.

    One that holds other values than zeros and NaN was added to, or written by other code.
    """
    outcome = result.principal
    bad = [check for check in outcome.outputs if not check.ok] if outcome is not None else []
    if not bad or bad[0].writers is None or not bool((bad[0].writers < 0).all()):
        return False
    return bad[0].got is None or not bool(bad[0].got.float().nan_to_num().any())


def with_its_case(result: CheckResult, message: str, case: str = "") -> str:
    """A case's message; where several cases fail and it gives an error's size, after the case's name."""
    outcome = result.principal
    failing = sum(one.status is not Status.PASS for one in result.outcomes)
    if outcome is None or failing < 2 or not ERROR.match(message):
        return message
    return f"In case “{case or outcome.case.name}”, {message}"


def shortened(message: str) -> str:
    """A message as a headline; an overlong one is cut after a sentence, or else at a word."""
    sentences, kept = re.split(r"(?<=[.?!]) (?=[A-Z`(])", " ".join(message.split())), ""
    for sentence in sentences:
        if len(kept) + 1 + len(sentence) > LONGEST_SENTENCE:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or textwrap.shorten(message, LONGEST_SENTENCE, placeholder=" …")


def _pass_sentence(result: CheckResult) -> str:
    passed = sum(outcome.status is Status.PASS for outcome in result.outcomes)
    waiting = len(result.outcomes) - passed
    subject = {1: "The only case passes", 2: "Both cases pass"}.get(passed, f"All {passed} cases pass")
    if waiting:
        subject = f"{plural(passed, 'case')} pass{'es' if passed == 1 else ''}"
    gpu = f" {plural(waiting, 'more case')} need{'s' if waiting == 1 else ''} a GPU." if waiting else ""
    return f"{subject}.{gpu}"


def _todo_sentence(function: str, task: str, exercise: str) -> str:
    """What a stub says of its task; the function's name is left out where it is the exercise's own."""
    if function != exercise:
        task = ": ".join(filter(None, (function, task)))
    task = shortened(task)
    return f"Yours to write: {task}." if task else SENTENCES[Status.TODO]


def _symbolic_step(result: CheckResult) -> str:
    """There is something to work through by hand only where the answer could be compared."""
    outcome = result.principal
    wrong = [check for check in outcome.outputs if not check.ok] if outcome is not None else []
    if all(check.problem for check in wrong):
        return "Fix this first: until then your answer cannot be compared with the reference."
    names = _wrong_outputs(result)
    one_of_several = len(names) == 1 < len(result.exercise.outputs)
    task = f"Work out {names[0]} by hand for" if one_of_several else "Work by hand through"
    more = " There may be more than one mistake." if len(names) > 1 else ""
    step = "a small example, and find the first step at which your answer differs"
    return f"{_contrast(result)}{task} {step}.{more}"


def _compare(result: CheckResult) -> str:
    """What is left to do where nothing is known: what to look at, and which case to begin with."""
    failing = [o for o in result.outcomes if o.status is Status.WRONG]
    if not failing:
        return NEXT_STEPS[Status.WRONG]
    first = min(failing, key=lambda o: (*_peculiarities(o.case), size(o))).case
    plain = not any(_peculiarities(first))
    apart = _apart(result)  # what goes into a right output too is right: it is not asked about
    asked = plain and not apart  # of a view, what is loaded may be wrong already
    values = attempted(result.exercise, "values to compare", _values, result, first) if asked else ""
    steps = [apart or values or NEXT_STEPS[Status.WRONG]]
    if len(failing) > 1:
        steps.append(f"{'A plain case' if plain else 'One case'} that fails: “{first.name}”.")
    return " ".join(filter(None, steps))


def _peculiarities(case: Case) -> tuple[bool, ...]:
    """What may make a case fail where a plain one passes."""
    return case.data not in PLAIN, case.layout != "contiguous", case.magnitude != 1.0


def _values(result: CheckResult, case: Case) -> str:
    """Which values of a kernel's tiles to compare with the formula's, in their order."""
    quantities = result.exercise.explained.quantities
    made = quantities(result.exercise.inputs(case, case.generator())) if quantities is not None else None
    steps = {
        one.name: one
        for one in (made.known if made is not None else ())
        if one.kind == "step" and len(one.name) <= LONGEST_NAME and not SUM.search(one.words)
    }
    listed = [f"{one.name} = {one.words}" for one in steps.values() if one.words != one.name]
    if len(listed) < 2:
        return ""
    question = "Which of these is the first that differs from the formula's, if one of them does"
    return f"{question}: {'; '.join(listed)}? (A factor that a later line removes again is no mistake.)"


def _apart(result: CheckResult) -> str:
    """What to follow, where some outputs are wrong and others right in every case."""
    wrong = _wrong_outputs(result)
    ran = [o for o in result.outcomes if o.outputs]
    right = [name for name in result.exercise.outputs if name not in wrong]
    compared = all({check.name for check in o.outputs} >= {*right} for o in ran)
    if not wrong or not right or not compared or len(ran) < len(result.outcomes):
        return ""
    are = "is" if len(right) == 1 else "are"
    it = "it is" if len(wrong) == 1 else "they are"
    follow = f"Follow {listed_words(wrong)} back through the lines that {it} computed from."
    return f"{listed_words(right)} {are} right in every case. {follow}"  # they may share every line


def _wrong_outputs(result: CheckResult) -> list[str]:
    """The outputs that are wrong in some case."""
    wrong = {check.name for outcome in result.outcomes for check in outcome.outputs if not check.ok}
    return [name for name in result.exercise.outputs if name in wrong]


def _contrast(result: CheckResult) -> str:
    """Where the first wrong output is wrong, if one fact says it, with a space after it."""
    names = _wrong_outputs(result)
    about = (result.exercise, result.outcomes)
    sentence = attempted(result.exercise, "contrast", contrast, *about, names[0]) if names else ""
    return f"{sentence} " if sentence else ""
