# SPDX-License-Identifier: Apache-2.0
"""Over a series: ``intersection``, ``history``, ``series_learning``; ``sightings``: who is
followed; ``possible``: the values that each may have.

``growth`` (``growing``, ``joining``) replays how groups grew, ``counterfeits`` why they were needed;
``composition``: two publishers.
"""
