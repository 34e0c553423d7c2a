"""A simulator of a network of routers, with faults, random traffic and a checker."""
