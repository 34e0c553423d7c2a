"""Services: what runs on top of a workspace and speaks to a network."""
