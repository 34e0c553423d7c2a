"""Workloads, experiments and what they are made from."""
