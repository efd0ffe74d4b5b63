"""Plain sentences as Markdown and as HTML: what is between backticks is code, nothing else is special."""

from __future__ import annotations

import html
import re

_SPECIAL = re.compile(r"([\\*_<>$|#\[\]~{}^!&])")
_CODE = re.compile(r"(`[^`\n]+`)")


def markdown(sentence: str) -> str:
    """The sentence for a page in Markdown."""
    parts = _CODE.split(" ".join(sentence.split()))
    return "".join(part if number % 2 else _SPECIAL.sub(r"\\\1", part) for number, part in enumerate(parts))


def coded(sentence: str) -> str:
    """The sentence as HTML."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(sentence, quote=False))


def slug(name: str) -> str:
    """A name as part of an address: "⟨p, dp⟩ forgotten" is "p-dp-forgotten"."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def capital(sentence: str) -> str:
    """The sentence with a capital at its beginning."""
    return sentence[:1].upper() + sentence[1:]
