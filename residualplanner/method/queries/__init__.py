"""Kinds of query on one attribute: the basic matrices of generalized marginals, with labels for their answers."""
