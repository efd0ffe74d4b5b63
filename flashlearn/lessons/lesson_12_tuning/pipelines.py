"""The loop of a compiled kernel as a sequence of events: where copies begin, where they are waited for.

>>> before, inside = events(counted.launched(upto("two loops"), D=64), target=80)
>>> inside
['wait until 2 are open', 'barrier', 'mma × 32', 'exp2 × 34', …]
"""

from __future__ import annotations

import itertools
import re

from flashlearn.compiler.listing import listing
from flashlearn.observation import Launch

KINDS = (
    (r"\bcp\.async\.wait_group\s+(\d+)", "wait until {} copies are open"),
    (r"\bcp\.async\.commit_group", "end of a copy"),
    (r"\bcp\.async\.bulk", "TMA copy begins"),
    (r"\bcp\.async\.c[ag]", "copy begins"),
    (r"\bmbarrier\.try_wait", "wait for a TMA copy"),
    (r"\bld\.global", "load to registers"),
    (r"\bwgmma\.wait_group\S*\s+(\d+)", "wait until {} products are open"),
    (r"\bwgmma\.mma_async", "wgmma"),
    (r"\bmma\.sync", "mma"),
    (r"\bex2\.approx", "exp2"),
)
"""Instructions of PTX and what they are called here; the first that fits."""
LABEL, BRANCH = re.compile(r"^\s*(\$L__BB\w+):"), re.compile(r"\bbra(?:\.uni)?\s+(\$L__BB\w+)")


def events(launch: Launch, target: int = 90) -> tuple[list[str], list[str]]:
    """What happens before the loop with the products, and inside it, in the order of the PTX."""
    lines = str(listing(launch, target)["ptx"]).splitlines()
    first, last = _loop(lines)
    return _named(lines[:first]), _named(lines[first : last + 1])


def _loop(lines: list[str]) -> tuple[int, int]:
    """The first branch back over a product: from its label to the branch."""
    labels = {match[1]: number for number, line in enumerate(lines) if (match := LABEL.match(line))}
    for number, line in enumerate(lines):
        match = BRANCH.search(line)
        start = labels.get(match[1], number) if match else number
        if start < number and any(re.search(r"mma", one) for one in lines[start:number]):
            return start, number
    raise ValueError("the kernel has no loop with products")


def _named(lines: list[str]) -> list[str]:
    found = []
    for line in lines:
        for pattern, name in KINDS:
            if match := re.search(pattern, line):
                found.append(name.format(*match.groups()))
                break
    runs = ((name, len(list(group))) for name, group in itertools.groupby(found))
    return [f"{name} × {count}" if count > 1 else name for name, count in runs]
