"""Programs that write nothing: a grid that counts more blocks than there are.

counter = IdlePrograms()
with observing(observers=(counter,)):
    launcher(*inputs)
counter.observation()                    # {"flash_forward_kernel": (12, 64)}: 12 of 64 programs wrote nothing
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.learner_code import Program
from flashlearn.interpreter.observer import LaunchStart, Observer


@dataclass
class IdlePrograms(Observer):
    """Counts the programs of each kernel, and those of them that stored nothing."""

    programs: dict[str, int] = field(default_factory=dict, init=False)
    wrote: dict[str, set] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._launch = LaunchStart(-1, len, (0, 0, 0), {})
        self._program = 0

    def before_launch(self, launch: LaunchStart) -> None:
        self._launch = launch

    def before_program(self, program: Program, number: int) -> None:
        name = self._launch.function.__name__
        self.programs[name] = self.programs.get(name, 0) + 1
        self._program = number

    def after_write(self, access: Access) -> None:
        """The running program has stored something."""
        name = self._launch.function.__name__
        self.wrote.setdefault(name, set()).add((self._launch.number, self._program))

    def observation(self) -> dict[str, tuple[int, int]]:
        """By kernel: how many programs wrote nothing, and how many there were."""
        return {name: (all_ - len(self.wrote.get(name, ())), all_) for name, all_ in self.programs.items()}


RECORDS = (IdlePrograms,)
