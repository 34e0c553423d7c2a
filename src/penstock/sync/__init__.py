"""Synchronisation: cached parts of a document, kept in step for clients that come and go."""
