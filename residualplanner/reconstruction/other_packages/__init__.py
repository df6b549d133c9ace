"""What was measured, in the forms of other packages.

Reads: noisy answers.  Gives: their domains and measurements.  Each module imports its package when it is called.
"""
