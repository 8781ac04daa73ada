# SPDX-License-Identifier: Apache-2.0
"""The published forms, one file each; ``phalanx.release.form`` says what they have in common."""
