"""The commands: what each checks before it calls the function that does the work.

Reads: arguments.  Gives: calls of `runs` and its neighbors.  typer's home, with `app` and `options`.

The library is imported within the functions, so that help and wrong arguments do not wait for it.
"""
