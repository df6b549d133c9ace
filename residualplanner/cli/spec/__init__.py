"""The TOML file that says what to publish: read, checked, made into a domain, a workload and a budget."""
