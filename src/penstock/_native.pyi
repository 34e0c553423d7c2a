"""The native core, private: everything public wraps it. A test compares this with the module."""

__version__: str
BUILD_PROFILE: str
