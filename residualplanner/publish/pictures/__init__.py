"""Pictures of errors, budgets and estimates, in one style; beside maps the only room that knows matplotlib."""
