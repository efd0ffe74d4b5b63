"""The two consoles of the command line: results go to stdout, progress bars and errors to stderr."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(sentence: str) -> None:
    """Print a sentence to stdout, not wrapped: paths in it can be copied."""
    out.print(sentence, soft_wrap=True, markup=False)


def complain(sentence: str) -> None:
    """Print a sentence to stderr."""
    err.print(sentence, soft_wrap=True, markup=False, style="red")


def say_json(value: Any) -> None:
    """Print `value` as JSON to stdout, without colours or wrapping."""
    out.file.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def one_line(error: object, length: int = 200) -> str:
    """The first line of an error's message, shortened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else "no message"
    return text if len(text) <= length else text[: length - 1] + "…"


def count(number: int, noun: str) -> str:
    """ "1 hint", "2 hints"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
