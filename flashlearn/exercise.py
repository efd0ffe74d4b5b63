"""What is asked of a learner: an `Exercise` is a value, and so is each of its `Case`s.

    >>> case = Case("ragged 7×37", sizes={"rows": 7, "columns": 37}, dtype=torch.float16)
    >>> case.generator().initial_seed() == case.seed
    True

This module knows nothing of how an exercise is checked, timed or shown.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from flashlearn.later import is_installed
from flashlearn.verdicts import Status

if TYPE_CHECKING:
    import torch

Inputs = dict[str, Any]
"""Arguments of a launcher by parameter name, in the order of its signature."""

Earlier = Callable[[str], Any]
"""The learner's answer to another exercise by name, if it passed in this session; else the course's own."""


class Kind(enum.Enum):
    """Who computes: the learner's Triton kernel, plain torch, or sympy."""

    KERNEL = "kernel"
    TORCH = "torch"
    SYMBOLIC = "symbolic"


def _fp32() -> torch.dtype | None:
    """The dtype of a case that names none. Without torch, where formulas alone are checked, it has none."""
    if not is_installed("torch"):
        return None
    import torch

    return torch.float32


@dataclass(frozen=True)
class Case:
    """One draw of inputs: sizes, precision, layout and what is special about the data.

    `sizes` are dimensions by name, `magnitude` scales normally distributed data, `layout` is
    "contiguous" or "strided" (a view of a larger buffer), `data` names a special filling that the
    exercise's `inputs` understands, `tags` say what the case is about ("ragged", "half", …) so that
    a diagnosis can speak of a subset. Cases with `gpu` run only compiled: they are too large here. Those
    that are not `compiled` run only observed: for a GPU's compiler they take longer than a learner waits.
    """

    name: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    dtype: torch.dtype = field(default_factory=_fp32)
    magnitude: float = 1.0
    layout: str = "contiguous"
    data: str = "normal"
    seed: int = 0
    tags: frozenset[str] = frozenset()
    gpu: bool = False
    compiled: bool = True

    @property
    def itemsize(self) -> int:
        """Bytes of one element. A formula's case, which has no dtype without torch, counts as fp32."""
        return self.dtype.itemsize if self.dtype is not None else 4

    def generator(self) -> torch.Generator:
        """A fresh generator on the CPU, seeded by the case: the same inputs on every machine.

        Where a case with `gpu` runs, a GPU's own generator takes its place, with the same seed.
        """
        import torch

        return torch.Generator().manual_seed(self.seed)


@dataclass(frozen=True)
class Tiles:
    """Which faults of a formula depend on its tile; with `one_side` only one of the tile's sides matters."""

    faults: frozenset[str]
    one_side: bool = False


@dataclass(frozen=True)
class Mistake:
    """A mistake people make, declared so that it can be recognised by name.

    `wrong` computes what a learner with this mistake would get, in torch (or sympy), with the
    signature of the exercise's reference; or `launcher` is a real function with a real kernel that
    makes it (where torch cannot say it: a missing mask, a race), to be answered with `status`.
    `sentence` says to the learner what happened, `next_step` what to look at. `also` are
    formulas of the same mistake made in another way. A `wrong` that is a functools.partial with `faults` can
    be computed with another's of the same function. One of a function that has `tiles` (a `Tiles`) takes the
    shape of the tiles as `tile`, and is tried with the learner's where one of its faults depends on it.
    One that is `independent` is named as a second one where its faults are in the `also` of another mistake:
    it must still be a mistake once that is fixed, whatever the kernel looks like. With `marked` the check
    itself puts NaN where nothing is to be had, and nowhere else: such NaN leave no doubt.
    """

    sentence: str
    next_step: str = ""
    wrong: Callable[..., Any] | None = None
    launcher: Callable[..., Any] | None = None
    status: Status = Status.WRONG
    also: tuple[Callable[..., Any], ...] = ()
    independent: bool = False
    marked: bool = False


def combine_faults(one: Callable[..., Any], other: Callable[..., Any]) -> functools.partial | None:
    """Two formulas of mistakes as one that makes both, where both are faults by name of the same."""
    if not (isinstance(one, functools.partial) and isinstance(other, functools.partial)):
        return None
    if one.func is not other.func or "faults" not in one.keywords or "faults" not in other.keywords:
        return None
    both = {**one.keywords, **other.keywords, "faults": one.keywords["faults"] | other.keywords["faults"]}
    return functools.partial(one.func, **both)


@dataclass(frozen=True)
class Work:
    """Least work of one call, from the inputs: operations (flop) and bytes that must move."""

    operations: float
    bytes: float


@dataclass(frozen=True)
class HowJudged:
    """What is right, and how it is found out.

    `reference(**inputs)` gives the true outputs when called with fp64 inputs and, called at the learner's
    precision, is the first twin; `twins` are further same-precision spellings. Outputs that are a
    `gradient` may err a little more. Where an exercise `accumulates`, outputs are sums and half-precision
    results are also held to a bound on their rms error. `output_dtypes` names outputs whose dtype is not
    what the reference returns for the case's inputs (lse and delta are fp32). With `atomics` they may
    change from run to run. `work(inputs)` is the least work of a call; a kernel that did less than half of
    its operations did not compute the answer. Without `launcher_arithmetic` the exercise is itself
    arithmetic of single elements, and torch may do none of it with the inputs in the launcher. Where there
    are `real_sizes`, offsets of inputs that large must not overflow: B, H, S and D of tensors [B, H, S, D],
    or sizes of matrices with "rows apart" or "columns apart", the elements between two. With `many_heads` B
    and H may each be as large as a GPU's grid is along its second axis. With `many_parts` a launcher keeps
    parts of a sum, one after the other, each as large as Q: no integer may wrap around on the way to one.
    `call(function, inputs)` replaces the plain call where outputs are not what the function returns
    (gradients of it, say), and runs where the function does; `read(returned, inputs)` makes the outputs of
    what came back, and runs where it is judged. `review(answer, earlier)` looks at an answer
    (flashlearn.running.answer) whose cases all pass and returns a sentence if it still is not what was
    asked for, else nothing; `earlier(name)` is the learner's answer to another exercise. `seen(outcomes)` is
    the like for what was observed of the cases themselves, which an answer cannot tell apart.
    `beside(answer)` is the like for an answer with cases that fail: what no case shows is reported, too.
    `says(case)` is what a case that came out wrong says of itself, where "off by so much" would mean nothing.
    `time_limit` is in seconds of the processor, per call. `causal` attention hides later keys in every case;
    where only some cases do, an input of that name says so.
    `grows(inputs)` counts the elements of the references' largest intermediate, and says that the first
    dimension of every tensor, inputs and outputs, counts entries that do not affect each other: references of
    large inputs are computed in parts.
    `needs` is the compute capability, 89 say, below which a GPU cannot run these kernels: there they are
    only observed.
    """

    reference: Callable[..., Any]
    twins: tuple[Callable[..., Any], ...] = ()
    gradient: bool = False
    accumulates: bool = True
    launcher_arithmetic: bool = True
    output_dtypes: Mapping[str, torch.dtype] = field(default_factory=dict)
    atomics: bool = False
    work: Callable[[Inputs], Work] | None = None
    grows: Callable[[Inputs], int] | None = None
    real_sizes: Mapping[str, int] = field(default_factory=dict)
    many_heads: bool = False
    many_parts: bool = False
    call: Callable[[Callable[..., Any], Inputs], Any] | None = None
    read: Callable[[Any, Inputs], Any] | None = None
    review: Callable[[Any, Earlier], str] | None = None
    seen: Callable[[Sequence[Any]], str] | None = None
    beside: Callable[[Any], str] | None = None
    says: Callable[[Case], str] | None = None
    time_limit: float = 20.0
    needs: int = 0
    causal: bool = False


@dataclass(frozen=True)
class HowExplained:
    """What is known of ways to go wrong.

    `mistakes` are those that the exercise is about; `catalogue` those that it does not teach and a learner
    may still make: formulas that a diagnosis tries after them. `explain(outcomes, answer)` says what cases
    that came out wrong amount to where no named mistake does: a flashlearn.outcome.Finding.
    `quantities(inputs)` gives what a right kernel's tiles hold on the way (flashlearn.quantity), by which
    the first value that departs is found, or None for a case in which it cannot be told; not where
    `unsolved(answer)` holds: then finding that line is the exercise. `weights` says how P is read out of an
    attention kernel (flashlearn.explaining.weights.Readout), or in which ways, each for an output. `fresh`
    are further cases of a formula of integers: an edit of a wrong answer is believed only if it is right in
    them too.
    """

    mistakes: Mapping[str, Mistake] = field(default_factory=dict)
    catalogue: Mapping[str, Mistake] = field(default_factory=dict)
    explain: Callable[[list[Any], Any], Any] | None = None
    quantities: Callable[[Inputs], Any] | None = None
    unsolved: Callable[[Any], bool] | None = None
    weights: Any = None
    fresh: tuple[Case, ...] = ()


@dataclass(frozen=True)
class Grade:
    """A grade for speed: `ratio` times the speed of the peer called `peer`, or more, in the same run."""

    name: str
    ratio: float
    peer: str


@dataclass(frozen=True)
class Prepared:
    """A peer with something to do before it is timed: `make(*arguments)` does it, and returns the call."""

    make: Callable[..., Callable[[], Any]]


@dataclass(frozen=True)
class HowTimed:
    """The torch function that timing compares with, what a report calls it, and the case that is timed.

    It is a function of the inputs, or `Prepared`; `peers` are further ones by name. A peer that raises a
    RuntimeError, since this GPU or this torch does not have it, is left out. `grades` for speed stand in the
    order of their worth.
    """

    peer: Callable[..., Any] | Prepared | None = None
    case: Case | None = None
    peer_name: str = ""
    peers: Mapping[str, Callable[..., Any] | Prepared] = field(default_factory=dict)
    grades: tuple[Grade, ...] = ()

    @property
    def contestants(self) -> dict[str, Callable[..., Any] | Prepared]:
        """Every peer by the name that a report calls it."""
        first = {self.peer_name or "torch": self.peer} if self.peer is not None else {}
        return {**first, **self.peers}


@dataclass(frozen=True)
class Exercise:
    """One graded task of a lesson: what is asked, how it is judged, how it is explained, how it is timed.

    `inputs(case, generator)` draws the arguments (CPU tensors and Python scalars, or sympy objects),
    `outputs` names what is returned in order. Of a symbolic exercise nothing is drawn, and the generator is
    None. `solution` is the path of the package's own function ("module:name"); without one it is the
    reference.
    """

    name: str
    lesson: str
    kind: Kind
    title: str
    signature: str
    outputs: tuple[str, ...]
    inputs: Callable[[Case, torch.Generator | None], Inputs]
    cases: tuple[Case, ...]
    judged: HowJudged
    explained: HowExplained = field(default_factory=HowExplained)
    timed: HowTimed = field(default_factory=HowTimed)
    points: int = 1
    solution: str = ""

    @property
    def reference(self) -> Callable[..., Any]:
        """What is right: the true outputs of fp64 inputs."""
        return self.judged.reference

    @property
    def all_mistakes(self) -> Mapping[str, Mistake]:
        """Every mistake by name: those of the catalogue, and the exercise's own."""
        return {**self.explained.catalogue, **self.explained.mistakes}

    def parameters(self) -> tuple[str, ...]:
        """Parameter names of the learner's function, read off `signature`."""
        inside = self.signature[self.signature.index("(") + 1 : self.signature.index(")")]
        return tuple(p.split(":")[0].split("=")[0].strip() for p in inside.split(",") if p.strip())

    def with_time_limit(self, seconds: float) -> Exercise:
        """The same exercise with another time limit."""
        return replace(self, judged=replace(self.judged, time_limit=seconds))


def make_exercise(**values: Any) -> Exercise:
    """An exercise from the fields of all its groups at once, for families that differ in a few of them.

    The case of `HowTimed` is called `timing_case` here. Raises TypeError for a field that there is not.
    """
    if "timing_case" in values:
        values["case"] = values.pop("timing_case")
    groups = {"judged": HowJudged, "explained": HowExplained, "timed": HowTimed}
    parts = {
        group: kind(**{f.name: values.pop(f.name) for f in fields(kind) if f.name in values})
        for group, kind in groups.items()
    }
    return Exercise(**values, **parts)
