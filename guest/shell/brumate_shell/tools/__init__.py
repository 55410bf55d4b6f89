"""Commands that are no language of their own."""
