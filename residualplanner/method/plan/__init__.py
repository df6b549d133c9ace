"""The whole decision, made without data: what to measure, with how much noise, and how accurate every table will be.

Source: docs/mathematics.md sections 2 and 3; paper section 6.
"""
