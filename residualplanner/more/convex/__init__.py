"""The best noise for any convex function of the variances.  Source: eq. (18)."""
