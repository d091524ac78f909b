"""The committed pictures: what a page that shows them would load, and what they show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

PICTURES = sorted((ROOT / "screenshots").glob("*.svg"))


def test_there_are_pictures_of_every_scene() -> None:
    wanted = {"start", "turn", "meter", "meter-warning", "meter-over", "approval", "context", "prune", "compacted"}
    assert wanted <= {picture.stem for picture in PICTURES}


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_a_picture_loads_nothing_and_names_no_font_of_its_own(picture: Path) -> None:
    svg = picture.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"' )<]*", svg)) == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"font-family:\s*([^;\"}]*)", svg)) == {"monospace"}
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", svg)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.stem)
def test_no_picture_shows_a_folder_of_the_machine_it_was_made_on(picture: Path) -> None:
    text = "".join(re.findall(r">([^<]*)</text>", picture.read_text(encoding="utf-8"))).replace("&#160;", " ")
    assert re.findall(r"/(?:home|root|work|Users)/\S*", text) == []


def test_readme_shows_pictures_that_are_there() -> None:
    shown = re.findall(r'src="([^"]+)"', (ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown
    assert [name for name in shown if not (ROOT / name).is_file()] == []


def lines(picture: Path) -> list[str]:
    """What a picture says, line by line; a number is a number, since machines differ in what a prompt is worth."""
    svg = picture.read_text(encoding="utf-8")
    rows: dict[str, str] = {}
    for y, text in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        rows[y] = rows.get(y, "") + text.replace("&#160;", " ")
    numbered = (re.sub(r"~?\$?\d[\d.,:]*k?", "0", row) for row in rows.values())
    return [re.sub(r"[ #%=+|!:;.-]{2,}", "  ", row).strip() for row in numbered]


def test_the_pictures_show_what_the_screens_show_today(tmp_path: Path) -> None:
    """`make screenshots` was run after the last change of a screen; every scene, in its plainest kind."""
    subprocess.run(
        [sys.executable, "screenshots/make.py", tmp_path, "ascii"], cwd=ROOT, check=True, capture_output=True
    )
    fresh = {picture.name: lines(picture) for picture in tmp_path.glob("*.svg")}
    assert len(fresh) >= 8
    assert {name: lines(ROOT / "screenshots" / name) for name in fresh} == fresh
