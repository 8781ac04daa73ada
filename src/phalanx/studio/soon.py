# SPDX-License-Identifier: Apache-2.0
"""Answers that may take longer than a person who moves a slider waits for."""

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final

_MOST: Final = 256


class Soon:
    """Computes one answer at a time, beside the pages, and remembers the newest ones. Of questions
    that come meanwhile the last one is next, and the others are dropped: a slider has moved on.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._answers: dict[Hashable, Any] = {}
        self._next: tuple[Hashable, Callable[[], Any]] | None = None
        self._now: Hashable = None
        self._works = False

    def get(self, key: Hashable, make: Callable[[], Any], seconds: float) -> Any:
        """The answer for a key, or None where it takes longer than ``seconds``: ask again then.
        What ``make`` raises is raised here, and not remembered.
        """
        with self._changed:
            if key not in self._answers and key != self._now:
                self._next = key, make
                if not self._works:
                    self._works = True
                    threading.Thread(target=self._work, daemon=True).start()
            self._changed.wait_for(lambda: key in self._answers, seconds)
            answer = self._answers.get(key)
            if isinstance(answer, Exception):
                del self._answers[key]
                raise answer
            return answer

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._next is None:
                    self._now, self._works = None, False
                    return
                (self._now, make), self._next = self._next, None
            answer: Any
            try:
                answer = make()
            except Exception as error:  # noqa: BLE001 - raised where it was asked for
                answer = error
            with self._changed:
                while len(self._answers) >= _MOST:
                    del self._answers[next(iter(self._answers))]
                self._answers[self._now], self._now = answer, None
                self._changed.notify_all()
