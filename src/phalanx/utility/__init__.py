# SPDX-License-Identifier: Apache-2.0
"""What was lost: a release beside its original, and beside a sample of the same size.

``losses`` are figures of the published form and of tables drawn from it, ``workloads`` the errors
of queries, ``learning`` what a model learns; ``measured`` puts them together.
"""

from phalanx.utility.measured import Measured, measure

__all__ = ["Measured", "measure"]
