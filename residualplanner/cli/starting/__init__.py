"""The first spec, made from a header, a data dictionary or a public schema."""
