"""Subjects every Python process that has this folder on its path to the faults of documents."""

from pathlib import Path

from support.spark.injected_faults import install

FOLDER = Path(__file__).parent

if __name__ == "sitecustomize":
    install()
