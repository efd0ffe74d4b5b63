"""Which declared mistake explains what is wrong: everywhere, in one output, in some cases, or two at once.

Every wrong output of every case is a question; a mistake answers it if it would have given just these
numbers. One mistake that answers all of them is the diagnosis, whether or not it would show in outputs
that are right (then the learner makes it only here and there, and the finding says where). Two that
answer all of them between them, or that answer them when made at once, are named together. One that
answers most is named with how many. Whatever is less is no name.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain

import torch

from flashlearn.diagnose.combined import combinations
from flashlearn.diagnose.fitting import Fit, distance, fit, visible
from flashlearn.diagnose.predictions import Candidate, Predictions
from flashlearn.diagnose.scope import kind_of, scope_of, together
from flashlearn.exercise import Exercise
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from flashlearn.run import run_observed
from flashlearn.tolerance import largest_error

PROBES = 3
"""Failing cases, smallest first, in one of which a formula must show itself to be tried on the others."""

SPECIFIC = 16
"""So many wrong numbers must be foretold before a mistake is named that does not show everywhere."""

SPARE = 0.6
"""When a candidate has been denied this share of what is wrong, the other cases are not asked."""

FAR = 0.2
"""A prediction that misses by more than this share of the error is not worth another precision."""

PATIENCE = 0.6
"""Seconds of this thread's own time that pairs with a mistake that shows are looked for, then all pairs."""

MOST = 0.5
"""A mistake that explains less than this share of what is wrong is not named."""

Question = tuple[str, str]
"""A wrong output: (case, output)."""


@dataclass
class Answer:
    """What a candidate explains, how exactly, and where it would show although the learner is right."""

    candidate: Candidate
    explained: set[Question] = field(default_factory=set)
    denied: set[Question] = field(default_factory=set)
    misfit: float = 0.0
    numbers: int = 0

    @property
    def name(self) -> tuple[str, ...]:
        """The mistake's name, or two."""
        return self.candidate.names


def named(exercise: Exercise, outcomes: list[Outcome]) -> Finding | None:
    """The declared mistake, or pair of them, that explains what is wrong; None if nothing surely does."""
    judged = comparable(outcomes)
    failing = sorted((o for o in judged if o.status is Status.WRONG), key=_size)
    if not failing or any(_unfit(check) for o in judged for check in o.outputs):
        return None
    questions = {(o.case.name, c.name) for o in failing for c in o.outputs if not c.ok}
    if not questions:
        return None
    predictions = Predictions(exercise, outcomes)
    answers = _answers(predictions, predictions.candidates(), judged, failing)
    if exercise.explain is not None:  # it says itself what some wrong cases amount to: all must fit, or none
        best = _whole([a for a in answers if not a.denied], questions, judged)
        return _finding(exercise, [best], judged, questions) if best is not None else None
    best = _whole(answers, questions, judged)
    if best is None and exercise.catalogue:
        answers += _answers(predictions, predictions.catalogue(), judged, failing)
        best = _whole(answers, questions, judged)
    if best is not None:
        return _finding(exercise, [best], judged, questions)
    pair = _between_them(answers, questions)
    if pair is not None:
        return _finding(exercise, list(pair), judged, questions)
    return _at_once(predictions, answers, judged, failing, questions) or _mostly(
        exercise, answers, judged, questions
    )


def _answers(
    predictions: Predictions, candidates: Iterable[Candidate], judged: list[Outcome], failing: list[Outcome]
) -> list[Answer]:
    """What each candidate explains, of those that explain something."""
    answers = (_answer(predictions, candidate, judged, failing) for candidate in list(candidates))
    return [answer for answer in answers if answer is not None]


def named_where_written(exercise: Exercise, outcomes: list[Outcome]) -> Finding | None:
    """Elements that no program writes, and what is wrong with the others: two findings in one."""
    outcomes = [o for o in outcomes if not _empty(o)]
    filled = [_filled(outcome) for outcome in outcomes]
    if not outcomes or all(a is b for a, b in zip(filled, outcomes, strict=True)):
        return None
    found = named(exercise, filled)
    if found is None:
        return None
    bad = next(
        (o, c) for o in outcomes for c in o.outputs if c.writers is not None and bool((c.writers < 0).any())
    )
    if _leaves_the_same(exercise, found.mistake, *bad):
        return found
    share = f"{int((bad[1].writers < 0).sum())} of {bad[1].writers.numel()} elements of {bad[1].name}"
    sentence = (
        f"Two things at once. First: no program writes {share} (case {bad[0].case.name}). "
        f"Second, in what is written: {found.sentence}"
    )
    step = f"Do the grid and the store's mask cover the whole output? {found.next_step}".strip()
    return Finding(f"never written + {found.mistake}", sentence, step, fits=found.fits, of=found.of)


def _leaves_the_same(exercise: Exercise, name: str, outcome: Outcome, check: OutputCheck) -> bool:
    """True if the mistake is a kernel that leaves just these elements unwritten: then it is one mistake."""
    launcher = exercise.mistakes[name].launcher if name in exercise.mistakes else None
    if launcher is None:
        return False
    twin = run_observed(exercise, launcher, outcome.case)
    same = next((c for c in twin.outputs if c.name == check.name and c.writers is not None), None)
    return same is not None and torch.equal(same.writers < 0, check.writers < 0)


def _empty(outcome: Outcome) -> bool:
    """True if no program wrote anything of an output."""
    return any(c.writers is not None and bool((c.writers < 0).all()) for c in outcome.outputs)


def _filled(outcome: Outcome) -> Outcome:
    """The outcome as if what nobody wrote were right; itself if everything was written."""
    if outcome.status is not Status.WRONG:
        return outcome
    checks = []
    for check in outcome.outputs:
        unwritten = check.writers < 0 if check.writers is not None and not check.problem else None
        if unwritten is None or not bool(unwritten.any()) or bool(unwritten.all()):
            checks.append(check)
            continue
        got = torch.where(unwritten, check.expected.to(check.got.dtype), check.got)
        error = largest_error(got, check.expected)
        checks.append(replace(check, got=got, error=error, ok=error <= check.allowed))
    if all(a is b for a, b in zip(checks, outcome.outputs, strict=True)):
        return outcome
    status = Status.PASS if all(c.ok for c in checks) else Status.WRONG
    return replace(outcome, outputs=tuple(checks), status=status)


def comparable(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Outcomes whose numbers can be compared: the observed ones, or where there are none the compiled."""
    every = [o for o in outcomes if o.outputs and (o.status is Status.WRONG or _right(o))]
    observed = [o for o in every if o.mode == "observed"]
    wrong = any(o.status is Status.WRONG for o in observed)
    return observed if wrong else every


def _right(outcome: Outcome) -> bool:
    """True where the numbers are right, whoever computed them: a mistake that would show was not made."""
    right = outcome.status in (Status.PASS, Status.NOT_YOURS)
    return right and bool(outcome.outputs) and all(check.ok for check in outcome.outputs)


def _unfit(check: OutputCheck) -> bool:
    """True for an output whose type or dtype is wrong: that has to be said first."""
    return not isinstance(check.got, torch.Tensor) or "dtype" in check.problem


def _size(outcome: Outcome) -> int:
    """Elements of the outputs; a case of few numbers, or of zeros, proves little and comes last."""
    told = [c.expected for c in outcome.outputs if not c.ok and isinstance(c.expected, torch.Tensor)]
    numbers = sum(t.numel() for t in told)
    lengths = [size for name, size in outcome.case.sizes.items() if name in ("S_q", "S_k", "rows", "columns")]
    weak = numbers < 16 or min(lengths, default=2) < 2 or any(not bool(t.any()) for t in told)
    return numbers + (1 << 40 if weak else 0)


def _answer(
    predictions: Predictions,
    candidate: Candidate,
    judged: list[Outcome],
    failing: list[Outcome],
    whole: bool = False,
) -> Answer | None:
    """What the candidate explains; None if it explains nothing in the first cases it is tried on.

    With `whole` it must explain everything: the first output that it does not ends the trial.
    """
    answer = Answer(candidate)
    most = 0 if whole else max(2, int(SPARE * sum(not c.ok for o in failing for c in o.outputs)))
    probes = failing[: 1 if candidate.costly else PROBES]
    for outcome in probes:
        _ask(predictions, answer, outcome)
    if not answer.explained:
        return None
    rest = [o for o in failing if all(o is not p for p in probes)]
    passing = [o for o in judged if _right(o)]
    for outcome in (*rest, *passing):
        if len(answer.denied) > (min(most, 2) if candidate.costly else most):
            break
        _ask(predictions, answer, outcome)
    return answer


def _ask(predictions: Predictions, answer: Answer, outcome: Outcome) -> None:
    """Compare the candidate's outputs with the learner's in one case, at the precision that fits best."""
    best: list[Fit | None] = []
    shown: tuple = ()
    for predicted in predictions.of(answer.candidate, outcome):
        if len(predicted) != len(outcome.outputs):
            break
        fits = [fit(p, c) for p, c in zip(predicted, outcome.outputs, strict=True)]
        if not shown or _worth(fits) > _worth(best):
            best, shown = fits, predicted
        if _settled(best, outcome) or _hopeless(predicted, outcome):
            break
    if not shown:
        answer.denied |= {(outcome.case.name, c.name) for c in outcome.outputs}
        return
    nearer = any(f is not None and f.explains for f in best)
    for p, check, found in zip(shown, outcome.outputs, best, strict=True):
        question = (outcome.case.name, check.name)
        if found is not None and not check.ok and nearer:
            answer.explained.add(question)
            answer.misfit = max(answer.misfit, found.misfit)
            answer.numbers += found.numbers
        elif (found is None and not check.ok) or (check.ok and found is None and visible(p, check)):
            answer.denied.add(question)


def _worth(fits: list[Fit | None]) -> tuple[int, int]:
    """How many outputs a prediction explains, and how many it meets."""
    return sum(f is not None and f.explains for f in fits), sum(f is not None for f in fits)


def _settled(fits: list[Fit | None], outcome: Outcome) -> bool:
    """True if every output is met, and the wrong ones are explained: no other precision can do better."""
    return all(
        f is not None and (check.ok or f.explains) for f, check in zip(fits, outcome.outputs, strict=True)
    )


def _hopeless(predicted: tuple, outcome: Outcome) -> bool:
    """True if the prediction is wrong and no output comes near it: another precision cannot matter."""
    return all(
        check.ok or (visible(p, check) and distance(p, check) > FAR * check.error)
        for p, check in zip(predicted, outcome.outputs, strict=True)
    )


def _whole(answers: list[Answer], questions: set[Question], judged: list[Outcome]) -> Answer | None:
    """The answer to all questions that is contradicted least, and fits best."""
    whole = [a for a in answers if a.explained >= questions and _believable(a, questions, judged)]
    return min(whole, key=lambda a: (len(a.denied), a.misfit), default=None)


def _believable(answer: Answer, questions: set[Question], judged: list[Outcome]) -> bool:
    """Whether a mistake may be named although outputs are right in which it would show.

    The numbers must speak for it, and there must be a reason: it was made in one output of several, or in
    one kind of case.
    """
    if not answer.denied:
        return True
    if answer.numbers < SPECIFIC:
        return False
    outputs = {output for _, output in questions}
    others = {output for _, output in answer.denied} - outputs
    same = {q for q in answer.denied if q[1] in outputs}
    return (bool(others) and not same) or kind_of({case for case, _ in questions}, judged) is not None


def _between_them(answers: list[Answer], questions: set[Question]) -> tuple[Answer, Answer] | None:
    """Two answers, each sure of its part: one output each, or cases of a kind each."""
    outputs = {output for _, output in questions}
    found = []
    for i, one in enumerate(answers):
        for other in answers[i + 1 :]:
            if one.name == other.name or not one.explained | other.explained >= questions:
                continue
            if not one.numbers or not other.numbers:  # NaN alone is no mistake's own
                continue
            by_output = (
                any(
                    {q for q in questions if q[1] == o} <= one.explained
                    and {q for q in questions if q[1] != o} <= other.explained
                    for o in outputs
                )
                and len(outputs) > 1
            )
            least = min(len(one.explained - other.explained), len(other.explained - one.explained))
            if by_output or least >= 2:
                found.append((not by_output, len(one.denied) + len(other.denied), one, other))
    best = min(found, key=lambda f: f[:2], default=None)
    return (best[2], best[3]) if best is not None else None


def _unexplained(failing: list[Outcome], answers: list[Answer]) -> Outcome:
    """The first wrong case that the best answer leaves open: there the second mistake shows."""
    best = max((a.explained for a in answers), key=len, default=set())
    open_to = (o for o in failing if any(not c.ok and (o.case.name, c.name) not in best for c in o.outputs))
    return next(open_to, failing[0])


def _at_once(
    predictions: Predictions,
    answers: list[Answer],
    judged: list[Outcome],
    failing: list[Outcome],
    questions: set[Question],
) -> Finding | None:
    """Two mistakes made at once in the same outputs: the first pair that gives all numbers of all cases.

    A mistake that explains some cases by itself is likely one of the two, and the other shows elsewhere.
    """
    half = sorted((a for a in answers if a.numbers >= SPECIFIC), key=lambda a: -len(a.explained))[:3]
    until = time.thread_time() + PATIENCE
    known = combinations(predictions, _unexplained(failing, half), until, [a.name for a in half])
    for candidate in chain(known if half else (), combinations(predictions, failing[0], until + PATIENCE)):
        answer = _answer(predictions, candidate, judged, failing, whole=True)
        if answer is not None and answer.explained >= questions and not answer.denied:
            return _finding(predictions.exercise, [answer], judged, questions)
    return None


def _mostly(
    exercise: Exercise, answers: list[Answer], judged: list[Outcome], questions: set[Question]
) -> Finding | None:
    """The one mistake that explains most of what is wrong, though not all of it."""
    ranked = sorted(answers, key=lambda a: -len(a.explained))
    if not ranked or len(ranked[0].explained) < max(2, MOST * len(questions)):
        return None
    best = ranked[0]
    right = {(o.case.name, c.name) for o in judged for c in o.outputs if c.ok}
    whole = {case for case, _ in questions if all(q in best.explained for q in questions if q[0] == case)}
    if best.numbers < SPECIFIC or not whole or best.denied & right:
        return None
    if any(a.name != best.name and len(a.explained) == len(best.explained) for a in ranked[1:]):
        return None  # two fit equally well: neither is sure
    return _finding(exercise, [best], judged, questions)


def _finding(
    exercise: Exercise, answers: list[Answer], judged: list[Outcome], questions: set[Question]
) -> Finding:
    """The sentence, with where the mistake shows and where it does not."""
    names = [name for a in answers for name in a.name]
    mistakes = [exercise.known[name] for name in names]
    if len(answers) == 1:
        explained = answers[0].explained
        scope = scope_of(explained, answers[0].denied, judged, questions)
        sentence = together([m.sentence for m in mistakes], scope)
    else:
        explained = answers[0].explained | answers[1].explained
        parts = [scope_of(a.explained & questions, set(), judged, a.explained & questions) for a in answers]
        sentence = together([m.sentence for m in mistakes], "", parts)
    cases = {o.case.name for o in judged if o.status is Status.WRONG}
    fits = sum(all(q in explained for q in questions if q[0] == case) for case in cases)
    return Finding(
        " + ".join(names),
        sentence,
        " ".join(dict.fromkeys(m.next_step for m in mistakes if m.next_step)),
        fits=fits,
        of=len(cases),
    )
