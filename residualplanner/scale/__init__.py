"""Large releases: engines, workers, measurements in a store, and a GPU."""
