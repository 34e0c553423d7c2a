"""Relations between queries: contains, covers, overlaps, generalise."""
