"""Reads publishers' schemas with the values of their sample documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from penstock.cli.input_files import errors_in, read_schema_tree
from penstock.cli.sample_documents import read_samples, summarize

if TYPE_CHECKING:
    from penstock.schema import SampleValues, SchemaTree


@dataclass(frozen=True, slots=True)
class SchemaSource:
    """A publisher's schema and the values of its sample documents."""

    tree: SchemaTree
    values: SampleValues


def is_documents(path: Path) -> bool:
    """Whether a path is a document or a folder of documents, not a schema."""
    return path.is_dir() or path.suffix == ".xml"


class SourceReader:
    """Reads schemas and samples; counts the sample documents that were refused."""

    def __init__(self, *, as_json: bool) -> None:
        self.refused = 0
        self._as_json = as_json

    def read_all(
        self, locals_: Sequence[Path], samples: Sequence[Path] | None
    ) -> list[SchemaSource]:
        """Reads schema files, or documents instead of them, and the samples of each."""
        if samples and len(samples) != len(locals_):
            message = f"{len(locals_)} schemas need as many samples, not {len(samples)}"
            raise typer.BadParameter(message, param_hint="--samples")
        return [
            self._source(path, [samples[number]] if samples else [])
            for number, path in enumerate(locals_)
        ]

    def values(self, samples: Sequence[Path]) -> SampleValues:
        """The values of sample documents."""
        from penstock.schema import SampleValues

        found, refused = summarize(samples, SampleValues.of, SampleValues(), as_json=self._as_json)
        self.refused += refused
        return found

    def _source(self, path: Path, samples: Sequence[Path]) -> SchemaSource:
        if is_documents(path):
            inferred = self._inferred(path)
            return SchemaSource(inferred.tree, inferred.values.merged(self.values(samples)))
        return SchemaSource(read_schema_tree(path, as_json=self._as_json), self.values(samples))

    def _inferred(self, path: Path) -> SchemaSource:
        from penstock.documents import read_events
        from penstock.schema import SampleReader, SampleValues

        reader = SampleReader()
        values = SampleValues()

        def add(document: bytes) -> None:
            nonlocal values
            reader.add(document)
            values = values.merged(SampleValues.of(read_events(document)))

        with errors_in(path, as_json=self._as_json):
            self.refused += read_samples([path], add, as_json=self._as_json)
            return SchemaSource(reader.summary().tree(), values)
