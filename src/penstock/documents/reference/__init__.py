"""The reference reader: oracle of the tests, and fallback without the native core."""
