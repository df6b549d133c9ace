"""Statistical classifications, geographies among them, from files and frames: levels of items with codes and names."""
