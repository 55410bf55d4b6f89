"""The language of `sed`."""
