# SPDX-License-Identifier: Apache-2.0
"""A page as its reader has it: elements, attributes, and the text."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags, attributes and the text outside of the style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.parts, self.open, self._skip = [], [], [], [], False
        self.feed(text)
        self.text = " ".join(" ".join(self.parts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._skip = tag == "style"
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        self._skip = False
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if not self._skip:
            self.parts.append(data)
