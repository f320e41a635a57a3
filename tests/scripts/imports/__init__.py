"""Scripts of users of other libraries: each runs as it is, and with one import changed."""
