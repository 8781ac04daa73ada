# SPDX-License-Identifier: Apache-2.0
"""The report: one self-contained HTML page per release, made from released values only."""

from phalanx.report.page import write_report

__all__ = ["write_report"]
