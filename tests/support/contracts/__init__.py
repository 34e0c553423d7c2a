"""Contract suites that every engine passes."""
