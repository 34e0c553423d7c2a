"""``make docs``: writes the generated reference pages, checks every link, writes site/."""

from __future__ import annotations

import sys

from html_site import write_site
from markdown_pages import DOCS, ROOT, broken_links
from reference_pages import PAGES


def main() -> int:
    """Builds everything; fails where a link leads nowhere."""
    for name, make in PAGES.items():
        page = DOCS / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(make(), encoding="utf-8")
    broken = broken_links()
    for link in broken:
        print(f"broken link: {link}", file=sys.stderr)
    if broken:
        return 1
    print(f"{write_site(ROOT / 'site')} pages in site/; open site/index.html", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
