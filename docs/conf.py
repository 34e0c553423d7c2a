"""Sphinx configuration of the documentation site; ``make docs`` builds it.

Besides settings, a few hooks: the navigation comes from the lists of links on some pages, links to
folders become text, references find an object whichever package they name it by, and diagrams
shrink to the page.
"""

from __future__ import annotations

import collections.abc
import re
import sys
from pathlib import Path
from pydoc import locate

from docutils import nodes  # type: ignore[import-untyped]
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.logging import getLogger

ROOT = Path(__file__).resolve().parents[1]
LOGGER = getLogger(__name__)

project = "Penstock"
author = "Penstock developers"
copyright = author  # noqa: A001

# The source folder is the repository itself: the README, the changelog and the benchmarks are
# pages too, and links between pages work on the site as they do in a checkout.
root_doc = "docs/index"
include_patterns = ["*.md", "benchmarks/README.md", "examples/README.md", "docs/**.md"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinxcontrib.mermaid",
]

# Anchors as code forges make them, down to the fourth level of headings.
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

# ``__all__`` of each package decides what is documented, and in which order.
autodoc_default_options = {"members": True, "imported-members": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autosummary_generate = False
numpydoc_show_class_members = False
add_module_names = False
python_use_unqualified_type_names = True

# Diagrams are rendered during the build: the site loads nothing from other hosts.
mermaid_output_format = "svg"
mermaid_cmd = str(Path(sys.executable).with_name("mermaidx"))
mermaid_params = ["--quiet", "--theme", "neutral", "--background", "white"]
mermaid_params += ["--config", str(ROOT / "docs" / "_static" / "mermaid.json")]

html_theme = "furo"
html_title = "Penstock"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Redirects the root of the site to docs/index.html.
html_extra_path = ["_root"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

NAVIGATION = {"docs/index", "docs/decisions/README", "docs/reference/python"}
"""Pages whose lists of links become the navigation, one section a heading."""


def add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    """Appends a hidden table of contents for each list of links on a navigation page."""
    if page not in NAVIGATION:
        return
    for section in re.split(r"^(?=## )", source[0], flags=re.MULTILINE):
        links = re.findall(r"^- \[([^\]]+)\]\(([^)#]+)\.md\)", section, re.MULTILINE)
        if not links:
            continue
        caption = re.match(r"## (.+)", section)
        lines = ["", "```{toctree}", ":hidden:"]
        lines += [f":caption: {caption[1]}"] if caption else []
        lines += [f"{' '.join(text.replace('`', '').split())} <{target}>" for text, target in links]
        source[0] += "\n".join([*lines, "```", ""])


def check_references(app: Sphinx, doctree: nodes.document) -> None:
    """Corrects references before Sphinx resolves them.

    A link to a folder keeps only its text, since the site holds pages and not the source tree. An
    annotation such as ``Mapping`` that autodoc could not evaluate is the one of the standard
    library, not a class of Penstock with the same name.
    """
    here = ROOT / Path(app.env.docname).parent
    for node in list(doctree.findall(pending_xref)):
        target = node["reftarget"]
        if node["reftype"] == "myst" and (here / target).is_dir():
            node.replace_self(node.children)
        elif node["refdomain"] == "py" and target in collections.abc.__all__:
            documented = sys.modules.get(node.get("py:module", ""))
            node["reftarget"] = target if hasattr(documented, target) else f"abc.{target}"


def show_diagrams_as_images(
    _app: Sphinx, _page: str, _template: str, context: dict[str, str], _doctree: object
) -> None:
    """Embeds diagrams as ``img`` instead of ``object``, which would not shrink to the page."""
    if "body" in context:
        context["body"] = re.sub(
            r'<object data="([^"]+\.svg)" type="image/svg\+xml">.*?</object>',
            r'<img class="diagram" src="\1" alt="Diagram; the text describes it.">',
            context["body"],
            flags=re.DOTALL,
        )


def resolve_by_object(
    _app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Resolves ``penstock.Matcher`` and the like: public names that have another home.

    A name that does not exist fails the build; one that exists and is not public stays text.
    """
    if node.get("refdomain") != "py" or not node["reftarget"].startswith("penstock."):
        return None
    thing = locate(node["reftarget"])
    if thing is None:
        LOGGER.warning("%s does not exist", node["reftarget"], location=node)
    name = getattr(thing, "__qualname__", None)
    module = getattr(thing, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str):
        return None
    package = ".".join(module.split(".")[:2])
    candidates = (
        env.domains["py"].resolve_xref(
            env, node["refdoc"], env.app.builder, "obj", f"{home}.{name}", node, content
        )
        for home in (module, package)
    )
    return next((found for found in candidates if found is not None), None)


def setup(app: Sphinx) -> None:
    """Connects the hooks."""
    app.connect("source-read", add_navigation)
    app.connect("doctree-read", check_references)
    app.connect("missing-reference", resolve_by_object)
    app.connect("html-page-context", show_diagrams_as_images)
