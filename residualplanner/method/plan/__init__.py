"""The whole decision, made without data: what to measure, with how much noise, and how accurate every table will be.

Reads: a workload, a budget or a limit, a loss; files.  Gives: Plan, its error table, and answers to what other budgets,
losses and queries would cost.  Never sees a record.
Source: docs/mathematics.md sections 2 and 3; paper section 6.
"""
