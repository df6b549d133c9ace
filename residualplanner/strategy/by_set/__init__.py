"""Strategies in which an attribute has other bases in other sets: equations (T2) to (T4)."""
