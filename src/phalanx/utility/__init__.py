# SPDX-License-Identifier: Apache-2.0
"""What was lost: a release beside its original, and beside a sample of the same size.

``bins`` are what rows of both are told apart by; ``losses`` figures of tables drawn from a release,
``workloads`` random counts, ``learning`` what a model learns; ``measured`` puts them together.
"""

from phalanx.utility.measured import Measured, measure

__all__ = ["Measured", "measure"]
