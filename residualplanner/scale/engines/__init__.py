"""Workers that count records where they are, and draw noise there.

Reads: records of any kind, tasks that follow from a plan alone.  Gives: `Cluster`, from whose workers only receipts
come back.  `LocalCluster` is this process; an engine's clusters are its workers.
"""
