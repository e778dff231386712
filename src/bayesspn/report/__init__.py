"""A report on a fitted model: one HTML file that can be read anywhere, without a network.

``write_report(model, "report.html", table)`` writes it. `subject` holds what it is about,
`sections` what it tells, and `markup` sees to it that nothing of a table is taken for markup.
"""

from __future__ import annotations

from bayesspn.report.page import build_report, write_report

__all__ = ["build_report", "write_report"]
