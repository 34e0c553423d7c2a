"""Opens the files of an XSD: only those in its folder and below, within limits."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import OpenerDirector, url2pathname

from xmlschema import XMLResourceError

from penstock.documents import read_summary
from penstock.errors import error
from penstock.schema.limits import XSD_BYTES_MAX, XSD_FILES_MAX


def check_size(size: int) -> None:
    """Refuse an XSD of more bytes, with all its files, than the limit."""
    if size > XSD_BYTES_MAX:
        message = f"the XSD and the files it includes are longer than {XSD_BYTES_MAX} bytes"
        raise error("schema.limit", message)


class XsdFileOpener(OpenerDirector):
    """Opens files in a folder and below it, after symbolic links are resolved."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder.resolve()
        self._sizes: dict[Path, int] = {}

    def open(self, fullurl: Any, data: Any = None, timeout: Any = None) -> Any:  # noqa: ANN401
        """The content of a file, which Penstock's reader has accepted."""
        path = Path(url2pathname(urlsplit(str(fullurl)).path)).resolve()
        if not path.is_relative_to(self._folder):
            raise XMLResourceError(f"block access to {fullurl}: it is outside of the XSD's folder")
        if not path.is_file():
            raise XMLResourceError(f"can't access to resource {fullurl}: there is no such file")
        self._sizes[path] = path.stat().st_size
        check_size(sum(self._sizes.values()))
        if len(self._sizes) > XSD_FILES_MAX:
            raise error("schema.limit", f"the XSD includes more than {XSD_FILES_MAX} files")
        content = path.read_bytes()
        read_summary(content)
        return io.BytesIO(content)
