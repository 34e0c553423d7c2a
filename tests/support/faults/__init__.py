"""A folder for the path of Python processes that are subject to injected faults."""
