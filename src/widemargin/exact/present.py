"""A model as if there were only the classes that have an example with a weight.

Where intercepts are free the others have no problem of their own: they are left out of training.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin.data.training_set import TrainingSet


def of_present(model: Any, data: TrainingSet, joint: bool) -> tuple[Any, TrainingSet]:
    """Return the model and the data without the classes that were left out of training."""
    present = data.present
    few = copy.copy(model)
    for name in ("coef_", "intercept_", "dual_coef_"):
        values = getattr(model, name)
        rows = (sp.csr_array(values) if sp.issparse(values) else np.asarray(values))[present]
        if present.size == 2:
            # Two classes share one line. Of all classes at once, the lines are its halves.
            rows = rows[[1]] - rows[[0]] if joint else rows[[1]]
        setattr(few, name, rows)
    if not joint:
        kept = present[[1]] if present.size == 2 else present
        few.primal_, few.dual_ = model.primal_[kept], model.dual_[kept]
    return few, data.of_present()
