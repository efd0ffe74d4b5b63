"""What would be said here: the sentence and the next step of a finding, made from its kind and its facts.

>>> said(untyped("sign", {"output": "dq"})).sentence
'dq has the right size and the opposite sign.'

Each kind has one function in the module of its family, which takes the facts by name (and a combination its
`parts`). Nothing else makes sentences of findings, and nobody takes one apart again: what a program needs to
know of a finding is in its facts.
"""

from flashlearn.explaining.wording import (
    of_combinations,
    of_divergence,
    of_faults,
    of_mistakes,
    of_numbers,
    of_origins,
    of_places,
    of_reading,
    of_symbolic,
    of_weights,
)
from flashlearn.explaining.wording.kinds import KINDS, Wording, said

__all__ = [
    "KINDS",
    "Wording",
    "of_combinations",
    "of_divergence",
    "of_faults",
    "of_mistakes",
    "of_numbers",
    "of_origins",
    "of_places",
    "of_reading",
    "of_symbolic",
    "of_weights",
    "said",
]
