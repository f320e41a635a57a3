"""What one fit knows on its device: sizes, variants of kernels, shared arrays."""
