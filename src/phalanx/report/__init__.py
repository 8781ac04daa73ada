# SPDX-License-Identifier: Apache-2.0
"""The report: one self-contained HTML page per release, which names released values only."""

from phalanx.report.page import AUDIENCES, Audience, write_report

__all__ = ["AUDIENCES", "Audience", "write_report"]
