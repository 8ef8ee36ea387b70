"""A headless Chromium that lays out a page and answers questions about it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Ask = Callable[..., object]

ANSWER = """<script>addEventListener("load", () => {{
  let answer;
  try {{ answer = {{value: ({question})()}}; }} catch (error) {{ answer = {{error: String(error)}}; }}
  const told = document.createElement("pre");
  told.id = "answer-to-the-test";
  told.textContent = JSON.stringify(answer);
  document.body.append(told);
}});</script>"""


@pytest.fixture(scope="session")
def chromium() -> str:
    """Its path. Without it these tests fail rather than say nothing: `make test-browser` installs it."""
    path = shutil.which("chromium")
    assert path, "no chromium here; `make test-browser` installs it"
    return path


@pytest.fixture
def ask(chromium: str, tmp_path: Path) -> Ask:
    """ask(page, "() => document.title"): what a function says of the page once it is laid out, `width` pixels wide."""

    def answer(page: str, question: str, width: int = 1280) -> object:
        file = tmp_path / "page.html"
        file.write_text(page + ANSWER.format(question=question))
        command = [
            chromium,
            "--headless",
            "--no-sandbox",  # which root cannot have
            "--disable-gpu",
            "--disable-dev-shm-usage",  # containers give little of it
            "--host-resolver-rules=MAP * ~NOTFOUND",  # whatever a page would load is missing
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900",
            "--dump-dom",
            file.as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        told = re.search(r'<pre id="answer-to-the-test">(.*?)</pre>', done.stdout, re.DOTALL)
        assert told, f"the page did not answer: {done.stderr[-2000:]}"
        said = json.loads(html.unescape(told.group(1)))
        assert "error" not in said, said["error"]
        return said["value"]

    return answer
