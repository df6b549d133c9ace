"""The best noise for given bases: closed form, minimax with a certificate, any convex loss."""
