"""The searches behind a plan: the best noise, the best bases, bases by set, and the singular value bound.

Source: eqs. (14) to (18), (29) to (33), (36), (37) and (39) to (42).
"""
