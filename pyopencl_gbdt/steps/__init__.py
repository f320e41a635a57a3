"""The steps of training; a step imports primitives, dtypes and device, never another step."""
