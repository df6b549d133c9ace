"""What one asks of plans: how two compare, which budget reaches an error, what one more table costs."""
