"""`pip`, over the packages of the host."""
