"""A table of launchers whose entries are in each other's place, or that lacks one of them."""

from __future__ import annotations

import flashlearn
from tests.corpus import find_entry
from tests.corpus.functions import function_from_text

ENTRY = find_entry("flash_attention", "setup_context, and LSE as a second output")
TABLE = "{False: flash_forward, True: flash_forward_causal}"


def names_with(table: str) -> tuple[str, ...]:
    text = ENTRY.text.replace(TABLE, table)
    assert text != ENTRY.text
    return flashlearn.check("flash_attention", function_from_text(text), demo=True).finding.names


def test_launchers_of_the_forward_pass_alone_may_be_exchanged():
    assert names_with("{True: flash_forward, False: flash_forward_causal}") == ("the mask is turned round",)


def test_where_causal_cases_crash_nothing_is_said_of_them():
    names = names_with("{False: flash_forward, False: flash_forward_causal}")
    assert "the mask is always there" in names and "the mask is turned round" not in names
