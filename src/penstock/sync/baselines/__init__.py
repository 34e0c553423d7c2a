"""The paper's algorithms, to compare with: conflicts by paths, its cascade, its messages."""
