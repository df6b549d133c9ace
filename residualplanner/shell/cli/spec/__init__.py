"""The spec: the TOML file that says what to publish.

Each wrong entry is refused with a line that says where it is and what to write instead.
"""
