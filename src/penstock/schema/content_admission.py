"""Decides whether a content model admits content with allowed and required names."""

from __future__ import annotations

from penstock.schema.content_model import (
    AnyContent,
    Child,
    Children,
    Choice,
    Content,
    Empty,
    Indicator,
    Mixed,
    Particle,
)

WANTED_MAX = 8
"""Number of required names decided exactly; beyond it, each name is decided separately."""

_Shown = frozenset[frozenset[str]]
_NOTHING: _Shown = frozenset([frozenset()])


def admits(content: Content, among: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether some valid content uses only labels of ``among`` and contains all of ``wanted``."""
    if isinstance(content, Empty):
        return not wanted
    if isinstance(content, AnyContent):
        return True
    if isinstance(content, Mixed):
        return wanted <= frozenset(content.names)
    if len(wanted) > WANTED_MAX:
        return all(_admits(content, among, frozenset([name])) for name in wanted)
    return _admits(content, among, wanted)


def _admits(content: Children, among: frozenset[str], wanted: frozenset[str]) -> bool:
    return wanted in _shown(content.particle, among, wanted)


def _shown(particle: Particle, among: frozenset[str], wanted: frozenset[str]) -> _Shown:
    """The sets of required names that content of the particle can contain; empty if it has none."""
    if isinstance(particle, Child):
        once = frozenset([wanted & {particle.name}]) if particle.name in among else frozenset()
    elif isinstance(particle, Choice):
        once = frozenset().union(*(_shown(item, among, wanted) for item in particle.items))
    else:
        once = _NOTHING
        for item in particle.items:
            once = _both(once, _shown(item, among, wanted))
    if particle.indicator.occurs.many:
        once = _repeated(once)
    if particle.indicator in (Indicator.OPTIONAL, Indicator.ANY):
        once |= _NOTHING
    return once


def _both(left: _Shown, right: _Shown) -> _Shown:
    return frozenset(one | other for one in left for other in right)


def _repeated(once: _Shown) -> _Shown:
    while (more := once | _both(once, once)) != once:
        once = more
    return once
