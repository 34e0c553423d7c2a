"""Reference implementation of relations, and the only one that takes a schema.

Used for comparison, and as fallback without the native core.
"""
