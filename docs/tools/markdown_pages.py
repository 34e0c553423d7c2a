"""The Markdown pages of the repository: links, headings, code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def parser() -> MarkdownIt:
    """Returns a parser for CommonMark with tables, as rendered by code forges."""
    return MarkdownIt("commonmark").enable("table")


def pages() -> list[Path]:
    """Returns every page: those outside docs/ first."""
    folders = [ROOT / folder / "README.md" for folder in ("benchmarks", "examples")]
    outside = [*sorted(ROOT.glob("*.md")), *folders]
    return [*outside, *sorted(DOCS.rglob("*.md"))]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced code block and its position."""

    page: Path
    line: int
    language: str
    text: str


@cache
def code_blocks(page: Path) -> Sequence[CodeBlock]:
    """Returns the fenced code blocks of a page, in order."""
    return tuple(
        CodeBlock(page, token.map[0] + 1, token.info.strip(), token.content)
        for token in parser().parse(page.read_text(encoding="utf-8"))
        if token.type == "fence" and token.map is not None
    )


def slug(heading: str) -> str:
    """Returns the anchor of a heading, in the form code forges use."""
    letters = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return letters.replace(" ", "-")


def _text(token: Token) -> str:
    return "".join(child.content for child in token.children or [])


def anchors(page: Path) -> set[str]:
    """Returns the anchors of all headings of a page."""
    tokens = parser().parse(page.read_text(encoding="utf-8"))
    return {
        slug(_text(following))
        for token, following in pairwise(tokens)
        if token.type == "heading_open"
    }


def links(page: Path) -> Iterator[str]:
    """Yields the target of every link and image of a page."""
    for token in parser().parse(page.read_text(encoding="utf-8")):
        for child in token.children or []:
            target = child.attrGet("href") or child.attrGet("src")
            if isinstance(target, str):
                yield target


def local_target(page: Path, link: str) -> tuple[Path, str] | None:
    """Returns the file and anchor of a link within the repository; external links give ``None``."""
    if re.match(r"[a-z]+:", link):
        return None
    name, _, anchor = link.partition("#")
    return ((page.parent / name).resolve() if name else page), anchor


def broken_links() -> list[str]:
    """Returns every link to a missing file or heading, as ``page: link``."""
    broken = []
    for page in pages():
        for link in links(page):
            target = local_target(page, link)
            if target is None:
                continue
            path, anchor = target
            resolves = path.exists() and (
                not anchor or (path.suffix == ".md" and anchor in anchors(path))
            )
            if not resolves:
                broken.append(f"{page.relative_to(ROOT).as_posix()}: {link}")
    return broken
