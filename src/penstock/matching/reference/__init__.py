"""The reference engines: oracle of the tests, and fallback without the native core."""
