"""Where much is to be done: engines, workers, measurements in a store, and a device."""
