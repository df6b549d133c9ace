"""One linear map per axis, batched over stacks of equal-shaped tables, for libraries of the array API standard."""
