"""Network services on top of the library and of workspaces."""
