"""Files of rows: their formats, read whole or batch by batch, and how files are written."""
