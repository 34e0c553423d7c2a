"""Rewriting by definition: oracle of the tests, and fallback without the native core."""
