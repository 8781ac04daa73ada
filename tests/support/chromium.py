# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests, where there is one: Debian's Chromium under Playwright."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from phalanx.studio.place import Place
from phalanx.studio.serving import serve


def executable() -> str:
    """Chromium; where there is none, the test is skipped and says why."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("there is no chromium on the path")
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    path = executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=path, args=sandbox)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def served(place: Place) -> Iterator[list[str]]:
    """A studio that is served on this machine; the addresses that it announced, newest last."""
    addresses: list[str] = []
    ready = threading.Event()

    def announce(address: str) -> None:
        addresses.append(address)
        ready.set()

    stop: list[Any] = []
    begun = threading.Event()  # which is after the first address

    def started(server: Any) -> None:
        stop.append(server)
        begun.set()

    thread = threading.Thread(
        target=serve, args=(place,), kwargs={"announce": announce, "started": started}
    )
    thread.start()
    try:
        assert ready.wait(60)
        yield addresses
    finally:
        begun.wait(60)
        for server in stop:
            server.should_exit = True
        thread.join(30)
