"""Two ends of a link, joined by something that fails as told."""
