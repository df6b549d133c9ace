"""The best bases where an attribute may have others in other sets."""
