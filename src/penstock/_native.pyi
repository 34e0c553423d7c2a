"""The native core, private: everything public wraps it."""

__version__: str
