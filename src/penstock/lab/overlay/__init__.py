"""Measurements of overlays: the experiments of the CoDD paper."""
