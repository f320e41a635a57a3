"""Check HTML pages: well formed, self-contained, and as wide as the window in a browser."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

VOID = {"br", "hr", "img", "input", "link", "meta"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Page(HTMLParser):
    """Reads a page; raises ``AssertionError`` for tags that do not match, or that fetch.

    Attributes
    ----------
    text : str
        All text that is shown, and what styles hold.
    tags : list of str
        Every element, in order.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert tag not in ("script", "iframe", "link", "object", "embed"), tag
        for name, value in attrs:
            own = name in ("href", "src", "xlink:href") and (value or "").startswith("#")
            fetched = name in ("href", "src", "xlink:href", "srcset", "data") and not own
            assert not fetched or (value or "").startswith("data:image/"), (tag, name, value)
            assert not name.startswith("on"), (tag, name)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> after {self.open}"

    def handle_data(self, data):
        self.text += data


def check_page(html: str, most_bytes: int) -> Page:
    """Return a page that is well formed, needs nothing from elsewhere, and is not too large."""
    assert len(html.encode()) <= most_bytes, len(html)
    page = Page(html)
    assert "@import" not in html
    assert "url(http" not in html.replace("'", "").replace('"', "")
    return page


def browser() -> str | None:
    """Return a headless browser of this machine, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


_MEASURE = """<script>addEventListener("load", () => {
const root = document.documentElement, wide = [];
for (const e of document.querySelectorAll("body *"))
  if (e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scrolls"))
    wide.push(e.tagName);
parent.postMessage([root.clientWidth, root.scrollWidth, getComputedStyle(document.body).color,
  wide.slice(0, 3).join("+")].join(";"), "*");});</script>"""

_FRAMES = """<!doctype html><html style="color-scheme:{scheme}"><body><script>
addEventListener("message", e => document.documentElement.setAttribute("data-measured",
(document.documentElement.getAttribute("data-measured") || "") + "|" + e.data));</script>
<iframe src="{file}" style="width:1280px;height:900px;border:0"></iframe>
<iframe src="{file}" style="width:390px;height:900px;border:0"></iframe></body></html>"""


@dataclass(frozen=True)
class Opened:
    """A page in a window: widths in pixels, the colour of text, and elements that are too wide."""

    window: int
    content: int
    color: str
    wide: str


def opened(html: str, folder: Path, *, dark: bool) -> list[Opened]:
    """Open a page in a headless browser, in windows of a desktop's and of a phone's width."""
    (folder / "page.html").write_text(html + _MEASURE, encoding="utf-8")
    frames = _FRAMES.format(file="page.html", scheme="dark" if dark else "light")
    (folder / "frames.html").write_text(frames, encoding="utf-8")
    command = [
        browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--window-size=1700,900", f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom",
        f"file://{folder / 'frames.html'}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = done.stdout.split('data-measured="|')[1].split('"')[0].split("|")
    parts = [one.split(";") for one in found]
    pages = [Opened(int(own), int(all_), color, wide) for own, all_, color, wide in parts]
    return sorted(pages, key=lambda page: -page.window)
