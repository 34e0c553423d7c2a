"""Which server decided which versions."""

from __future__ import annotations

import pytest

from penstock.sync.incarnations import Incarnations


def test_every_version_has_the_incarnation_that_decided_it() -> None:
    runs = Incarnations()
    for version, incarnation in enumerate((0, 0, 7, 7, 8, 9, 9), start=1):
        runs.decided(version, incarnation)
    assert [runs.of(version) for version in range(8)] == [0, 0, 0, 7, 7, 8, 9, 9]
    assert [runs.last_version_of(each, 7) for each in (0, 5, 7, 8, 9)] == [None, None, 4, 5, 7]
    assert runs.up_to(2) == ()
    assert runs.up_to(5) == ((3, 7), (5, 8))
    assert Incarnations(runs.up_to(5)).of(4) == 7


def test_the_oldest_incarnations_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sync.incarnations.INCARNATIONS_MAX", 2)
    runs = Incarnations()
    for version in (1, 2, 3):
        runs.decided(version, 10 + version)
    assert [runs.of(version) for version in (1, 2, 3)] == [0, 12, 13]
