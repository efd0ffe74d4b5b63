"""What one program of one launch touched, as plain data; text and HTML are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flashlearn.interpreter.observers.access_recorder import LaunchRecord, Program, ProgramRecord, Tally
from flashlearn.outcome import Place
from flashlearn.tracing.program_timeline import ProgramTimeline
from flashlearn.tracing.steps import Source, Step, Steps, steps_of

VERBS = ("read", "write", "update")


@dataclass(frozen=True, eq=False, repr=False)
class ProgramTrace:
    """What one program of one launch touched.

    `steps` are its accesses in order; `left_out` more were only counted. `sentence` says what ended the
    call early, at `place`; empty if nothing did. `launches` names all launches of the call. `timeline` is
    what the program did when, by the timing model; None for a kernel in Triton.
    """

    launch: LaunchRecord
    run: ProgramRecord
    launches: tuple[str, ...]
    number: int
    sentence: str = ""
    place: Place | None = None
    note: str = ""
    timeline: ProgramTimeline | None = None

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.launch.kernel

    @property
    def program(self) -> Program:
        """The program's three indices."""
        return self.run.program

    @property
    def grid(self) -> Program:
        """How many programs there are along x, y and z."""
        return self.launch.grid

    @cached_property
    def _steps(self) -> Steps:
        return steps_of(self.run, self.launch)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every access of the program, in order; the first 4096 of them."""
        return self._steps.steps

    @property
    def sources(self) -> tuple[Source, ...]:
        """The texts of the kernel, and of the functions that it calls."""
        return self._steps.sources

    @property
    def left_out(self) -> int:
        """Accesses that are counted in the totals but are no steps."""
        return self.run.left_out

    @property
    def totals(self) -> tuple[Tally, ...]:
        """Per tensor and verb: what this program asked for."""
        return tuple(self.run.tallies.values())

    def __getitem__(self, name: str | tuple[str, str]) -> Tally:
        """This program's total of a tensor: `seen["k_ptr"]` of its reads, `seen["dq_ptr", "write"]`.

        Without a verb it is the reads if there are any, else the writes, else the atomic updates.
        """
        return _find(self.run.tallies, name, self.kernel)

    def of_launch(self, name: str, verb: str = "") -> Tally:
        """The same of all programs of the launch together."""
        return _find(self.launch.tallies, (name, verb) if verb else name, self.kernel)


def _find(tallies: dict, name: str | tuple[str, str], kernel: str) -> Tally:
    tensor, *verb = (name,) if isinstance(name, str) else name
    for (names, does), tally in sorted(tallies.items(), key=lambda item: VERBS.index(item[0][1])):
        if {tensor, f"{tensor}_ptr"} & set(names) and (not verb or verb[0] == does):
            return tally
    known = ", ".join(dict.fromkeys(tally.tensor for tally in tallies.values())) or "nothing"
    raise KeyError(f"{name}: {kernel} touches {known}")
