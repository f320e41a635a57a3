"""Contributions of features to predictions (SHAP values); `docs/contributions.md` has the rule."""
