"""What every ring stands on: errors, checks of arguments, JSON, files that are written whole or not at all."""
