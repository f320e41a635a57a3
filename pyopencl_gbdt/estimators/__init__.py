"""scikit-learn's manners."""
