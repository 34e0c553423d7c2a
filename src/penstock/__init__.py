"""Penstock delivers XML to those who asked for it."""
