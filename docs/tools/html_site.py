"""The pages as a folder of plain HTML: no script, one style sheet, readable anywhere."""

from __future__ import annotations

import html
import os
import re
import shutil
from itertools import pairwise
from pathlib import Path

from markdown_pages import DOCS, ROOT, pages, parser, slug

STYLE = """\
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.55 Georgia, serif;
  color: #222; background: #fff; }
nav, h1, h2, h3, th { font-family: system-ui, sans-serif; }
pre, code { font: .875rem/1.45 ui-monospace, monospace; background: #f4f4f1; }
pre { padding: .75rem 1rem; overflow-x: auto; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .6rem; text-align: left;
  vertical-align: top; }
a { color: #0b5394; }
img { max-width: 100%; background: #fff; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1b1b1b; } pre, code { background: #282828; }
  a { color: #8ab4f8; } th, td { border-color: #444; }
}
"""


def write_site(target: Path) -> int:
    """Writes every page below ``target``, which is made anew; gives the number of pages."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "style.css").write_text(STYLE, encoding="utf-8")
    for page in pages():
        _write_page(page, target)
    for picture in DOCS.rglob("*.svg"):
        place = target / picture.relative_to(DOCS)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, place)
    return len(pages())


def _place(page: Path) -> Path:
    """Where a page stands in the site: docs/ is its root, the root's own pages stand beside."""
    inside = page.relative_to(DOCS) if page.is_relative_to(DOCS) else page.relative_to(ROOT)
    return inside.with_suffix(".html")


def _write_page(page: Path, target: Path) -> None:
    markdown = parser()
    tokens = markdown.parse(page.read_text(encoding="utf-8"))
    title = page.stem
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            text = "".join(child.content for child in following.children or [])
            token.attrSet("id", slug(text))
            title = text if token.tag == "h1" else title
        for child in token.children or []:
            link = child.attrGet("href")
            if isinstance(link, str):
                child.attrSet("href", _site_link(page, link))
    place = target / _place(page)
    place.parent.mkdir(parents=True, exist_ok=True)
    up = os.path.relpath(target, place.parent)
    body = markdown.renderer.render(tokens, markdown.options, {})
    place.write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)} · Penstock</title>"
        f'<link rel="stylesheet" href="{up}/style.css">'
        f'<nav><a href="{up}/index.html">Penstock</a></nav>\n{body}</html>\n',
        encoding="utf-8",
    )


def _site_link(page: Path, link: str) -> str:
    """The same link within the site: Markdown pages have become HTML ones."""
    name, mark, anchor = link.partition("#")
    if re.match(r"[a-z]+:", link) or not name.endswith(".md"):
        return link
    goal = _place((page.parent / name).resolve())
    return os.path.relpath(goal, _place(page).parent) + mark + anchor
