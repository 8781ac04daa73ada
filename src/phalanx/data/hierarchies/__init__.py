# SPDX-License-Identifier: Apache-2.0
"""``hierarchy``: trees over an attribute's values; ``files``: as a steward writes them."""
