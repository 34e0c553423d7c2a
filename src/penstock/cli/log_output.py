"""``--verbose`` and ``--log-file``: where the records of Penstock's loggers go."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Final

from penstock.cli.terminal_text import visible

FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _VisibleFormatter(logging.Formatter):
    """Formats records without control characters, which may come from names and documents."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def configure_logging(*, verbose: bool, log_file: Path | None) -> None:
    """Sends INFO records to stderr (``verbose``), DEBUG records to a file, or both.

    Replaces the handlers of an earlier call in the same process.
    """
    logger = logging.getLogger("penstock")
    for handler in [each for each in logger.handlers if not isinstance(each, logging.NullHandler)]:
        logger.removeHandler(handler)
        handler.close()
    handlers: list[logging.Handler] = []
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
        handlers[0].setLevel(logging.INFO)
    if log_file is not None:
        handlers.append(logging.FileHandler(log_file, encoding="utf-8", errors="backslashreplace"))
    for handler in handlers:
        handler.setFormatter(_VisibleFormatter(FORMAT))
        logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if handlers else logging.NOTSET)


def show_warnings() -> None:
    """Sends WARNING records to stderr, unless ``--verbose`` sends more.

    For processes that run for long: nobody would see what they report otherwise.
    """
    logger = logging.getLogger("penstock")
    if any(type(each) is logging.StreamHandler for each in logger.handlers):
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_VisibleFormatter(FORMAT))
    logger.addHandler(handler)
