"""The committed pictures: what a page that shows them would load, and what they show."""

from __future__ import annotations

import re
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
