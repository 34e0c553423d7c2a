"""Support for tests of services."""
