"""The queries to publish, and the downward closure whose residuals answer them.  Nothing here ever sees a record."""
