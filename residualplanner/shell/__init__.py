"""What people meet first: the command line, the session, and questions that come up before a plan is made."""
