# SPDX-License-Identifier: Apache-2.0
"""``python -m phalanx``: the command line, by the Python that is named."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder, whose modules may have come with a release
    from phalanx.watching import start

    start()
