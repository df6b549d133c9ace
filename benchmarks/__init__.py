"""Programs that reproduce every published figure and measure every claim about speed."""
