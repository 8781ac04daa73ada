# SPDX-License-Identifier: Apache-2.0
"""m-invariance of a series: ``guarantee``; ``m_uniqueness`` of each release; ``signatures``.

``following``: one pass over a series: ``hosts``, who stood under which signature; ``candidates``, the
public view. ``remembered``: the last release beside what the series remembers.
"""
