"""The measurements, one module each; every one has `measure(contestants, options)` and returns a `Section`."""
