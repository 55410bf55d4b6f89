"""The interface of kaleido before version 1."""
