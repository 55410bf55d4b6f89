"""What the measurements share: contestants, processes, figures, the report."""
