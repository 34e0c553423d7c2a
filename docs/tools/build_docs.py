"""``make docs``: writes the generated reference pages, then builds the site strictly."""

from __future__ import annotations

import shutil
import subprocess
import sys

from markdown_pages import DOCS, ROOT, broken_links
from reference_pages import PAGES

SITE = ROOT / "site"

SPHINX_OPTIONS = (
    "--fresh-env",
    "--fail-on-warning",
    "--keep-going",
    "--quiet",
    "--conf-dir",
    str(DOCS),
)


def main() -> int:
    """Builds the site; fails on a broken link and on any warning from Sphinx."""
    for name, generate in PAGES.items():
        page = DOCS / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(generate(), encoding="utf-8")
    broken = broken_links()
    for link in broken:
        print(f"broken link: {link}", file=sys.stderr)
    if broken:
        return 1
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", *SPHINX_OPTIONS]
    command += ["--doctree-dir", str(ROOT / "build" / "doctrees"), str(ROOT), str(SITE)]
    done = subprocess.run(command, check=False)
    if done.returncode == 0:
        print("the site is in site/; open site/index.html", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
