"""Tables that can be published as they are: non-negative, rounded, in agreement with what is known anyway.

Reads: releases, facts.  Gives: releases of other numbers, with their mark.
Everything here is post-processing: it sees no record and costs no privacy budget.
"""
