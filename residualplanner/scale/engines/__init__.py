"""Workers that count records where they are, and draw noise there: only receipts come back from them."""
