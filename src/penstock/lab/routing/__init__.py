"""Measurements of networks of routers."""
