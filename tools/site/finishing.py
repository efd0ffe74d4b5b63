"""What the theme leaves out, added to the finished pages: names for landmarks, keys for what scrolls, sizes
of pictures, descriptions for search engines, places where a long name may break.

The names and the keys are something that an accessibility checker (axe) reports in pages of Sphinx and Furo
as they come. With its size, a lazy picture has its place before it is loaded: a link into a page leads there.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import unquote

import imagesize

_CHANGES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r'role="heading"(?! aria-level)', 'role="heading" aria-level="2"'),
        (r'<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
        (r'<aside class="toc-drawer', '<aside aria-label="On this page" class="toc-drawer'),
        (r'<form class="sidebar-search-container"', r'\g<0> aria-label="All pages"'),
        # what is wider than the page scrolls, and then the keyboard must reach it
        (r"<pre(?![^>]*\btabindex)", r'<pre tabindex="0"'),
        (r'<div class="table-wrapper', r'<div tabindex="0" class="table-wrapper'),
        (
            r'<div class="cell_output docutils container">',
            r'<div class="cell_output docutils container" tabindex="0">',
        ),
        # the first cell of a table's head may be empty, and then heads nothing
        (r"<th\b[^>]*>(?:<p></p>)?</th>", "<td></td>"),
        # it is shown after scrolling up, and lies outside of every landmark
        (r'(?s)<a [^>]*class="back-to-top .*?</a>', r'<nav aria-label="To the top">\g<0></nav>'),
        (r'<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
    )
)
_CONTENTS = re.compile(r'<div class="toc-tree">.*?</div>', re.DOTALL)
_NAME = re.compile(r"(?<=>)[^<>\s]*[._][^<>\s]*(?=<)")
_IMAGE = re.compile(r"<img\b(?![^>]*\bheight=)[^>]*>")
_WIDTH = re.compile(r'\s*\bwidth="(\d+)"')
_SOURCE = re.compile(r'\bsrc="([^":?#]+)')
_ARTICLE = re.compile(r"<article\b[^>]*>(.*)</article>", re.DOTALL)
_NO_TEXT = re.compile(r"<(dl|details|figure|pre|table|script|style|noscript)\b.*?</\1>", re.DOTALL)
_PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
_SHORTEST = 40
_LONGEST = 200
"""Characters of a description; search engines show about so many."""


def finish(site: Path) -> None:
    """Change every page of the site in place."""
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        for pattern, replacement in _CHANGES:
            page = pattern.sub(replacement, page)
        page = _CONTENTS.sub(_breakable, page)
        page = _IMAGE.sub(lambda image, path=path: _sized(image[0], path.parent), page)
        described = f'<meta name="description" content="{html.escape(description(page))}">'
        page = page.replace("</title>", f"</title>\n    {described}", 1)
        path.write_text(page, encoding="utf-8")


def description(page: str) -> str:
    """A page's first sentences, as many as a search engine shows; its title where it has no paragraph."""
    article = _ARTICLE.search(page)
    paragraphs = _PARAGRAPH.findall(_NO_TEXT.sub("", article[1])) if article else []
    words = next((text for one in paragraphs if len(text := _complete(_text(one))) > _SHORTEST), "")
    if not words:
        title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
        return _text(title[1]) if title else ""
    if len(words) <= _LONGEST:
        return words
    sentences = words[: _LONGEST + 1].rpartition(". ")[0]
    whole = len(sentences) > _SHORTEST
    return f"{sentences}." if whole else f"{words[:_LONGEST].rpartition(' ')[0]} …"


def _text(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<annotation.*?</annotation>|<[^>]+>", "", part)).split())


def _complete(words: str) -> str:
    """The sentences without a last one that leads to what follows the paragraph."""
    return f"{words.rpartition('. ')[0]}." if words.endswith(":") else words


def _breakable(contents: re.Match) -> str:
    """A table of contents in which a name breaks after its dots and underscores."""
    return _NAME.sub(lambda name: re.sub(r"([._])(?=\w)", r"\1<wbr>", name[0]), contents[0])


def _sized(image: str, folder: Path) -> str:
    """An image's tag with the size of its file; one that is embedded is there at once."""
    source = _SOURCE.search(image)
    file = folder / unquote(source[1]) if source else folder
    own_width, own_height = imagesize.get(file) if file.is_file() else (-1, -1)
    if own_width <= 0:  # no picture, or one without a size
        return image
    width = int(asked[1]) if (asked := _WIDTH.search(image)) else round(own_width)  # fractions: drawings
    height = round(width * own_height / own_width)
    return _WIDTH.sub("", image).replace("<img", f'<img width="{width}" height="{height}"', 1)
