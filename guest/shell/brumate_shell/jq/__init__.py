"""The language of `jq`."""
