# SPDX-License-Identifier: Apache-2.0
"""The types of arrays, declared once."""

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
"""Whole numbers of any width."""
Ints = npt.NDArray[np.int64]
