"""The documents name what exists: commands, files, rooms, lessons. And the README is read in a minute."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MANUALS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "AGENTS.md", *MANUALS]
LONGEST = 120  # lines


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def test_the_readme_is_short():
    assert len(README.splitlines()) <= LONGEST


def test_every_document_can_be_reached_from_the_readme():
    reached, ahead = set(), ["README.md"]
    while ahead:
        document = ahead.pop()
        if document not in reached:
            reached.add(document)
            targets = ((ROOT / document).parent / link for link, _ in links_of(document))
            found = [target.resolve().relative_to(ROOT).as_posix() for target in targets]
            ahead += [target for target in found if target in DOCUMENTS]
    assert set(DOCUMENTS) <= reached, f"nothing leads to {set(DOCUMENTS) - reached}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_command_named_in_the_documents_exists(document: str):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    command = r"(?:^|&& )(?:\w+=\S+ )?make (?:-k )?([a-z]+)\b"
    named = set(re.findall(command, "\n".join(code_of(document)), flags=re.M))
    assert named <= targets, f"{document} names make {named - targets}, which the Makefile lacks"


def test_every_make_target_is_explained():
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), flags=re.M))
    named = set(re.findall(r"`make ([a-z]+)`", text_of("docs/reference.md")))
    assert named == targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_flashlearn_command_named_in_the_documents_exists(document: str):
    named = set(re.findall(r"(?:^|[\s/`])flashlearn (?:--debug )?([a-z]+)\b", "\n".join(code_of(document))))
    assert named <= commands(), f"{document} names flashlearn {named - commands()}"


def test_every_flashlearn_command_is_explained():
    explained = re.findall(r"^flashlearn ([a-z]+) ", text_of("docs/reference.md"), flags=re.M)
    assert set(explained) == commands()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_name_of_the_package_that_the_documents_use_exists(document: str):
    flashlearn = pytest.importorskip("flashlearn")
    named = set(
        re.findall(r"\bflashlearn\.([a-zA-Z]+)\b(?=[(`, ]|$)", "\n".join(code_of(document)), flags=re.M)
    )
    assert named <= set(dir(flashlearn)), f"{document} names flashlearn.{named - set(dir(flashlearn))}"


def test_the_page_for_teachers_counts_the_lessons_that_there_are():
    from flashlearn.course import packaged_lessons

    words = ["Twelve", "Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen"]
    lessons = sorted(packaged_lessons.sources())
    page = (ROOT / "docs" / "teaching.md").read_text()
    assert f"**{words[len(lessons) - 12]} lessons**, 00 to {lessons[-1][:2]}" in page


def test_every_lesson_that_exists_is_listed():
    lessons = {path.stem for folder in ("notebooks", "solutions") for path in (ROOT / folder).glob("*.ipynb")}
    missing = [name for name in sorted(lessons) if f"(solutions/{name}.ipynb)" not in README]
    assert lessons and not missing, f"README.md's list of lessons does not link {missing}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str):
    missing = []
    for link, heading in links_of(document):
        target = (ROOT / document).parent / link if link else ROOT / document
        if not target.exists():
            missing.append(link)
        elif heading and heading not in headings_of(target):
            missing.append(f"{link}#{heading}")
    assert not missing, f"{document} links to {missing}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_that_the_documents_name_exist(document: str):
    """`flashlearn/running/crashes.py` and the like; names with a placeholder or a star are patterns."""
    folders = "flashlearn|tests|tools|docs|notebooks|solutions"
    spoken = re.findall(rf"`((?:{folders})/[\w./*-]*)", text_of(document))
    missing = []
    for path in spoken:
        pattern = path.replace("NN_title", "*").replace("EXERCISE", "*").rstrip("/")
        example = path.endswith(("/row_mean.py", "/row_sum/wrong_no_mask.py"))  # said to be one
        if not example and "artefacts" not in path and not any(ROOT.glob(pattern)):
            missing.append(path)
    assert not missing, f"{document} names {missing}"


def test_the_architecture_names_every_package():
    packages = [path for path in (ROOT / "flashlearn").iterdir() if (path / "__init__.py").is_file()]
    for document in ("docs/architecture.md", "docs/rooms.svg"):
        text = text_of(document)
        missing = [package.name for package in packages if f"{package.name}/" not in text]
        assert not missing, f"{document} lacks {missing}"


def test_the_moving_picture_is_small():
    assert (ROOT / "docs" / "trace.gif").stat().st_size < 1_000_000


def commands() -> set[str]:
    typer_main = pytest.importorskip("typer.main")
    cli = pytest.importorskip("flashlearn.cli")
    return set(typer_main.get_command(cli.app).commands)


def code_of(document: str) -> list[str]:
    """What stands in code: fenced blocks and `inline`."""
    text = text_of(document)
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.M | re.S)
    return fenced + re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


def links_of(document: str) -> list[tuple[str, str]]:
    """Files of ours that a document links or shows, each with the heading asked for, if one is."""
    text = re.sub(r"^```.*?^```", "", text_of(document), flags=re.M | re.S)
    addresses = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)
    ours = [unquote(one) for one in addresses if not re.match(r"[a-z]+:", one)]
    return [(link, heading) for link, _, heading in (one.partition("#") for one in ours)]


def headings_of(path: Path) -> set[str]:
    """A document's headings, as links name them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
