"""What is measured, before any noise, and what follows from it: its cost, and how accurate every query is.

Source: eqs. (8), (11), (12), (23), (26) to (28), (37) and (38) to (41).
"""
