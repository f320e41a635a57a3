"""Ours beside XGBoost over a table of cases: the same trees, and the same quality elsewhere.

``python -m tests.conformance`` runs every case, the tests a seeded sample of them. To add a case is
to add a value to an axis of ``table.AXES``. Values that ``parameters.Parameters`` or ``Dataset``
does not take are left out with the reason that they give, until they do.
"""
