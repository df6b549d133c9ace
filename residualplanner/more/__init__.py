"""What goes beyond the paper: more kinds of query, searches for bases, bounds, and other notions of cost."""
