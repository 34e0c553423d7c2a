"""Spark sessions, clusters and pipeline processes."""
