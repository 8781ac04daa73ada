# SPDX-License-Identifier: Apache-2.0
"""m-invariance of a series: ``guarantee``; ``m_uniqueness`` of each release; ``signatures``."""
