# SPDX-License-Identifier: Apache-2.0
"""Published files as the checks see them.

``groups``: the groups of any form; ``boxes``, ``box_search``: who lies in which box; ``holding``:
what boxes hold; ``members``: who is in a group; ``sliced``: a sliced release as numbers;
``hierarchies``: as a manifest publishes them; ``widening``: least widths.
"""
