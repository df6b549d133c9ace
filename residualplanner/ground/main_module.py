"""Scripts whose main part is not guarded: processes that they start run it a second time."""

import multiprocessing

from residualplanner.ground.errors import ArgumentError

#: What such a script has to do.
GUARD = 'put the main part of the script into a function, and call it under  if __name__ == "__main__":'


def require_guarded_main(step: str) -> None:
    """Raise ArgumentError in a process that is still importing the main module of the one that started it.

    New processes import the script that starts them.  What is not guarded there runs again, in each of them: it would
    measure, and spend the budget, once more.

    Args:
        step: what would be done a second time.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing itself asks
        raise ArgumentError(
            f"{step} was reached in a process that this script has started, which imports the script anew; {GUARD}"
        )
