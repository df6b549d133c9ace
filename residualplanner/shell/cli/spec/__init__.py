"""The spec: the TOML file that says what to publish."""
