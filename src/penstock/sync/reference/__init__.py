"""The reference of synchronisation: definitions on lxml trees."""
