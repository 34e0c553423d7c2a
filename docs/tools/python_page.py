"""The page of Python's names, made from signatures and docstrings."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Callable, Iterator

PACKAGES = (
    "penstock",
    "penstock.documents",
    "penstock.language",
    "penstock.schema",
    "penstock.mediation",
    "penstock.workspace",
    "penstock.pipeline",
)
"""In the order of the page; a name that stands in several is shown at the first."""

HEAD = """\
# Python

What `import penstock` gives, then what the packages below it add: classes with their methods, and
functions, each with the first paragraph of its docstring. `help()` shows the rest: parameters,
errors, examples. Where a default is not a plain value, `...` stands for it.
"""

PLAIN = (str, bytes, int, float, bool, type(None))
"""Of these a default is shown as it is; a text that names another object would change by itself."""


def python_page() -> str:
    """Every public class and function by package."""
    lines = [HEAD]
    seen: set[int] = set()
    for package in PACKAGES:
        lines += [f"## `{package}`\n", "| name | what it is |", "|---|---|"]
        module = importlib.import_module(package)
        for name in sorted(module.__all__, key=str.casefold):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                lines += [] if id(thing) in seen else _rows(name, thing)
                seen.add(id(thing))
        lines.append("")
    return "\n".join(lines)


def _rows(name: str, thing: type | Callable[..., object]) -> Iterator[str]:
    yield _row(_called(name, thing), thing)
    if not inspect.isclass(thing):
        return
    # What all errors have is shown at their base.
    classes = [thing] if issubclass(thing, BaseException) else thing.__mro__
    own = {
        member
        for each in classes
        if each.__module__.startswith("penstock")
        for member in vars(each)
        if not member.startswith("_")
    }
    for member, value in inspect.getmembers_static(thing):
        if member not in own:
            continue
        if isinstance(value, property):
            yield _row(f"{name}.{member}", value)
        elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
            yield _row(_called(f"{name}.{member}", getattr(thing, member)), getattr(thing, member))


def _row(shown: str, thing: object) -> str:
    return f"| `{shown}` | {_summary(thing)} |"


def _called(name: str, thing: type | Callable[..., object]) -> str:
    """A name with its parameters, types left out; an error or a choice is not called by anyone."""
    if inspect.isclass(thing) and issubclass(thing, BaseException | enum.Enum):
        return name
    shown = []
    parameters = list(inspect.signature(thing).parameters.values())
    if parameters and parameters[0].name == "self":
        del parameters[0]
    for parameter in parameters:
        if parameter.default is parameter.empty:
            shown.append(str(parameter.replace(annotation=parameter.empty)))
        else:
            plain = type(parameter.default) in PLAIN
            shown.append(f"{parameter.name}={repr(parameter.default) if plain else '...'}")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in "".join(shown[:-1]):
            shown.insert(-1, "*")
    return f"{name}({', '.join(shown)})"


def _summary(thing: object) -> str:
    """The first paragraph of a docstring, its roles as plain code."""
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", " ".join(text.split()))
    return text.replace("``", "`").replace("|", "\\|")
