"""Training parameters, checked before training starts.

`Parameters` has one typed attribute for each entry of `table.TABLE`, in the same order;
a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.names import ROWS, as_mapping, check_foreign
from pyopencl_gbdt.parameters.refused_parameters import OF_PARAMETERS
from pyopencl_gbdt.parameters.row import refuse
from pyopencl_gbdt.parameters.table import DROPPING, POISSON_DELTA_STEP, TABLE
from pyopencl_gbdt.parameters.values import ParameterValues


@dataclass(frozen=True)
class Parameters(ParameterValues):
    """Checked training parameters; `TABLE` has the meaning, default and bounds of each.

    Use `from_dict` to build it. Direct construction and `dataclasses.replace` check values too.
    """

    def __post_init__(self) -> None:
        """Convert and check every attribute, then refuse combinations of attributes."""
        for field in fields(self):
            checked = ROWS[field.name].convert(getattr(self, field.name))
            object.__setattr__(self, field.name, checked)
        refuse(FitFacts(self), OF_PARAMETERS)

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object] | Sequence[tuple[str, object]]) -> Parameters:
        """Check a user's parameters and fill in defaults.

        Parameters
        ----------
        mapping : mapping of str to object, or sequence of (str, object)
            XGBoost's names or aliases. None means "not given", as in XGBoost. NumPy scalars, an int
            for a float, 6.0 for an int and numbers as strings are accepted. If a name occurs in
            several pairs, the last counts.

        Returns
        -------
        checked : Parameters
            Every attribute is a plain int, float, str, tuple of float, or None.

        Raises
        ------
        ParameterError
            A name is unknown or given in two spellings; a value has the wrong type or is out of
            range; an unsupported parameter of XGBoost has a value that would have an effect.
        """
        values: dict[str, Any] = {row.name: row.default for row in TABLE}
        spelled: dict[str, str] = {}
        for name, value in as_mapping(mapping).items():
            row = ROWS.get(name) if isinstance(name, str) else None
            if row is None:
                check_foreign(name, value)
            elif value is not None:
                if row.name in spelled:
                    raise ParameterError(
                        f"{spelled[row.name]} and {name} are two spellings of one parameter; "
                        f"give one of them"
                    )
                spelled[row.name] = name
                values[row.name] = row.convert(value, name)
        if values["objective"] == "count:poisson" and "max_delta_step" not in spelled:
            values["max_delta_step"] = POISSON_DELTA_STEP
        if values["path_smooth"] > 0 and "min_samples_leaf" not in spelled:
            values["min_samples_leaf"] = 2
        return cls(**values)

    def with_least_hessian(self, *, unit_hessians: bool) -> Parameters:
        """Return parameters in which the least Hessian says ``min_samples_leaf``, if it can.

        It can where each row that counts has a Hessian of 1: a child's is then the number of its
        rows. Otherwise, and for ``path_smooth``, kernels count rows, see
        ``cl_kernels/counted_children.h``.
        """
        if not (self.limits_rows and unit_hessians) or self.weighs_samples or self.smooths:
            return self
        rows = np.float32(self.min_samples_leaf)
        if float(rows) < self.min_samples_leaf:  # float32 has no number between
            rows = np.nextafter(rows, np.float32(np.inf))
        least = max(self.min_child_weight, float(rows))
        return replace(self, min_child_weight=least, min_samples_leaf=0)

    @property
    def unused_dropping(self) -> dict[str, Any]:
        """The parameters of dropped trees that were given to a booster that drops none."""
        names = () if self.booster == "dart" else DROPPING
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value != ROWS[name].default}
