"""Workload generators, benchmarks and the experiments of papers."""
