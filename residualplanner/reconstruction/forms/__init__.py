"""What a table or a release is turned into: columns of labels, tidy frames, views, measurements for other packages.

Reads: tables, releases.  Gives: pages, frames, arrays.
"""
