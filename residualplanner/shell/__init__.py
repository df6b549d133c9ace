"""The command line, the session, and answers to the questions that come up before a plan is made."""
