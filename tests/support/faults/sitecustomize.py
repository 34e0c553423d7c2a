"""Subjects every Python process that has this folder on its path to the faults of documents."""

from support.spark.injected_faults import install

if __name__ == "sitecustomize":
    install()
