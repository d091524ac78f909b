"""Keys: where each comes from, to whom it goes, and that nothing else ever has one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import places, settings
from agent.endpoints import NO_KEY, Endpoints
from agent.keys import Keys, KeyTrouble, variable_of
from agent.keys.child import NoKeyring, SystemRing
from agent.model import BadKey, Request
from agent.models.providers import HOSTS, KEY_VARIABLES, is_own_address
from agent.models.remote import RemoteModel
from agent.models.scripted import Say
from agent.opening import Opening
from agent.wire import SaveKey
from agent.wishes.saving_keys import KeptKey, SavedKeys
from compaction.records import UserSaid
from tests.agent.loop.harness import Story

SECRET = "sk-very-secret-1"


class Ring:
    """A keyring in memory; `fails` says why it does not work."""

    def __init__(self, fails: str = "", **held: str) -> None:
        self.held, self.fails, self.asked = dict(held), fails, 0

    def _works(self) -> None:
        self.asked += 1
        if self.fails:
            raise NoKeyring(self.fails)

    def get(self, names: Sequence[str]) -> Mapping[str, str]:
        self._works()
        return {name: self.held[name] for name in names if name in self.held}

    def put(self, name: str, value: str) -> None:
        self._works()
        self.held[name] = value

    def drop(self, name: str) -> None:
        self._works()
        self.held.pop(name, None)


def keys_at(path: Path, ring: Ring) -> Keys:
    return Keys(path / "config" / "keys.json", ring)


def again(keys: Keys, ring: Ring) -> Keys:
    """The next process."""
    found = Keys(keys.path, ring)
    found.load()
    return found


def endpoints(
    tmp_path: Path, toml: str = "", environ: Mapping[str, str] | None = None, keys: Keys | None = None
) -> Any:
    place = places.under(tmp_path)
    place.config.mkdir(parents=True, exist_ok=True)
    place.settings.write_text(toml)
    return Endpoints(settings.load(tmp_path, place, {}), environ or {}, keys)


def test_a_key_is_kept_in_the_keyring_and_its_file_only_says_so(tmp_path: Path) -> None:
    ring = Ring()
    keys = keys_at(tmp_path, ring)
    assert keys.save("OPENAI_API_KEY", SECRET) == "keyring"
    assert SECRET not in keys.path.read_text()
    later = again(keys, ring)
    assert (later.value("OPENAI_API_KEY"), later.where("OPENAI_API_KEY")) == (SECRET, "keyring")
    assert SECRET not in repr(later)
    assert later.forget("OPENAI_API_KEY") and not later.forget("OPENAI_API_KEY")
    assert ring.held == {} and again(keys, ring).kept() == []


def test_without_a_keyring_the_file_has_it_and_nobody_else_may_read_that(tmp_path: Path) -> None:
    ring = Ring(fails="there is none")
    keys = keys_at(tmp_path, ring)
    assert keys.save("OPENAI_API_KEY", SECRET) == "file"
    assert keys.path.stat().st_mode & 0o777 == 0o600
    assert again(keys, ring).value("OPENAI_API_KEY") == SECRET
    keys.path.chmod(0o640)
    open_to_others = again(keys, ring)
    assert open_to_others.value("OPENAI_API_KEY") is None
    assert "may be read by others (mode 640)" in open_to_others.trouble and "chmod 600" in open_to_others.trouble
    with pytest.raises(KeyTrouble, match="chmod 600"):
        open_to_others.save("XAI_API_KEY", SECRET)
    with pytest.raises(KeyTrouble, match="chmod 600"):
        open_to_others.forget("OPENAI_API_KEY")


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"keys": {"A": {"kept": "moon"}}}', b'{"keys": {"A": 1}}', b"\xff"])
def test_a_damaged_file_is_named_and_gives_no_key(tmp_path: Path, content: bytes) -> None:
    keys = keys_at(tmp_path, Ring())
    keys.path.parent.mkdir()
    keys.path.write_bytes(content)
    keys.path.chmod(0o600)
    keys.load()
    assert "is damaged" in keys.trouble and keys.kept() == []


def test_what_is_no_file_is_no_file_of_keys(tmp_path: Path) -> None:
    keys = keys_at(tmp_path, Ring())
    keys.path.parent.mkdir()
    os.mkfifo(keys.path, 0o600)
    keys.load()
    assert "no ordinary file" in keys.trouble


def test_a_keyring_that_fails_is_not_asked_again_and_only_its_own_keys_are_missing(tmp_path: Path) -> None:
    ring = Ring()
    keys = keys_at(tmp_path, ring)
    keys.save("OPENAI_API_KEY", SECRET)
    broken = Ring(fails="the system keyring did not answer within 5 s")
    later = Keys(keys.path, broken)
    later.load()
    later._read_at = None  # as after a change of the file
    later.load()
    assert broken.asked == 1
    assert later.trouble == f"{broken.fails}: the keys kept there are missing in this run"
    assert later.value("OPENAI_API_KEY") is None


def test_no_keyring_is_asked_where_nothing_was_put_into_one(tmp_path: Path) -> None:
    ring = Ring()
    keys_at(tmp_path, ring).load()
    assert ring.asked == 0


def test_what_is_no_key_is_not_saved_and_not_repeated(tmp_path: Path) -> None:
    for wrong in ("", "two words", "line\nbreak", "schlüssel", "x" * 5_000):
        with pytest.raises(KeyTrouble) as raised:
            keys_at(tmp_path, Ring()).save("OPENAI_API_KEY", wrong)
        assert wrong == "" or wrong not in str(raised.value)
    with pytest.raises(KeyTrouble) as raised:
        variable_of(SECRET)
    assert SECRET not in str(raised.value)


# ── the system's own, in its process ──

BACKEND = """
import json, os, time
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError
PLACE = os.environ["RING_AT"]

class Ring(KeyringBackend):
    priority = 1
    def held(self):
        return json.load(open(PLACE)) if os.path.exists(PLACE) else {}
    def get_password(self, service, name):
        print("a backend may print what it likes")
        return self.held().get(service + ":" + name)
    def set_password(self, service, name, value):
        held = self.held() | {service + ":" + name: value}
        json.dump(held, open(PLACE, "w"))
    def delete_password(self, service, name):
        held = self.held()
        if service + ":" + name not in held:
            raise PasswordDeleteError("not there")
        del held[service + ":" + name]
        json.dump(held, open(PLACE, "w"))

class Stuck(Ring):
    def get_password(self, service, name):
        time.sleep(600)

class Raising(Ring):
    def get_password(self, service, name):
        raise OSError("the secret is " + self.held()["ullage:A"])

class Empty(Ring):
    def set_password(self, service, name, value):
        pass
"""


def system(tmp_path: Path, backend: str, patience: float = 60.0) -> SystemRing:
    (tmp_path / "a_backend.py").write_text(BACKEND)
    environ = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "PYTHON_KEYRING_BACKEND": f"a_backend.{backend}",
        "RING_AT": str(tmp_path / "ring.json"), "HOME": str(tmp_path),
    }  # fmt: skip
    return SystemRing(sys.executable, environ, patience)


def test_a_working_keyring_keeps_gives_and_forgets(tmp_path: Path) -> None:
    ring = system(tmp_path, "Ring")
    ring.put("A", SECRET)
    assert json.loads((tmp_path / "ring.json").read_text()) == {"ullage:A": SECRET}
    assert ring.get(["A", "B"]) == {"A": SECRET}
    ring.drop("A")
    ring.drop("A")
    assert ring.get(["A"]) == {}


def test_a_keyring_that_hangs_raises_or_keeps_nothing_is_a_sentence_without_a_key(tmp_path: Path) -> None:
    system(tmp_path, "Ring").put("A", SECRET)
    with pytest.raises(NoKeyring, match="did not answer within 1 s"):
        system(tmp_path, "Stuck", patience=1.0).get(["A"])
    with pytest.raises(NoKeyring) as raised:
        system(tmp_path, "Raising").get(["A"])
    assert SECRET not in str(raised.value)
    with pytest.raises(NoKeyring, match="does not keep"):
        system(tmp_path, "Empty").put("B", SECRET)
    with pytest.raises(NoKeyring, match="no system keyring"):
        SystemRing(environ={"PATH": os.environ["PATH"], "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}).put(
            "A", SECRET
        )


# ── to whom a key goes ──


def test_the_environment_comes_before_what_is_saved(tmp_path: Path) -> None:
    keys = keys_at(tmp_path / "k", Ring())
    keys.save("OPENAI_API_KEY", SECRET)
    assert endpoints(tmp_path, keys=keys).resolve("openai/gpt-5").key == SECRET
    assert endpoints(tmp_path, keys=keys).way_in("openai/gpt-5") == (True, "key in the system keyring")
    own = {"OPENAI_API_KEY": "sk-env"}
    assert endpoints(tmp_path, environ=own, keys=keys).resolve("openai/gpt-5").key == "sk-env"
    assert endpoints(tmp_path).resolve("openai/gpt-5").missing_key == "OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("base", "key"),
    [
        ("http://127.0.0.1:8080/v1", NO_KEY),
        ("https://gateway.example/v1", NO_KEY),
        ("https://openai.com.example/v1", NO_KEY),
        ("https://notopenai.com/v1", NO_KEY),
        ("http://api.openai.com/v1", NO_KEY),
        ("https://api.openai.com@evil.example/v1", NO_KEY),
        ("https://api.openai.com/v1", SECRET),
        ("https://eu.api.openai.com/v1", SECRET),
    ],
)
def test_a_providers_key_goes_to_that_provider_only(tmp_path: Path, base: str, key: str) -> None:
    found = endpoints(tmp_path, f'[models."openai/mine"]\napi_base = "{base}"', {"OPENAI_API_KEY": SECRET})
    assert found.resolve("openai/mine").key == key
    flat = endpoints(tmp_path, f'model = "openai/mine"\napi_base = "{base}"', {"OPENAI_API_KEY": SECRET})
    assert flat.resolve("openai/mine").key == key
    adopted = endpoints(tmp_path, "", {"OPENAI_API_KEY": SECRET})
    adopted.adopt("openai/mine", base, remember=False)
    assert adopted.resolve("openai/mine").key == key


def test_an_entry_may_name_the_variable_itself_wherever_its_server_is(tmp_path: Path) -> None:
    entry = '[models."openai/mine"]\napi_base = "http://127.0.0.1:1/v1"\napi_key_env = "OPENAI_API_KEY"'
    assert endpoints(tmp_path, entry, {"OPENAI_API_KEY": SECRET}).resolve("openai/mine").key == SECRET
    assert endpoints(tmp_path, entry).resolve("openai/mine").missing_key == "OPENAI_API_KEY"


def test_every_provider_with_a_key_has_addresses_that_it_may_go_to() -> None:
    assert [name for name in KEY_VARIABLES if not is_own_address(f"{name}/x", f"https://x.{HOSTS[name][0]}/v1")] == []


async def test_a_missing_key_says_how_to_save_one(tmp_path: Path) -> None:
    model = RemoteModel(environ={})
    endpoint = endpoints(tmp_path).resolve("anthropic/claude-sonnet-4-5")
    with pytest.raises(BadKey, match="`ullage keys set anthropic`"):
        async for _ in model.stream(endpoint, Request(())):
            pass


async def test_a_key_saved_from_the_screen_is_used_and_is_in_no_log(tmp_path: Path) -> None:
    async with Story(tmp_path, [Say("Hello.")]) as story:
        keys = Keys(story.places.keys, Ring(fails="none"))
        session = story.session
        object.__setattr__(session.kit, "endpoints", Endpoints(session.kit.settings, {}, keys))
        finished = await story.wish(SaveKey("openai", SECRET))
        assert finished.committed and "a file that only you can read" in finished.text
        assert session.target.endpoint.key == SECRET
        await story.say("hi")
        assert SECRET not in session.log.path.read_text()
        assert SECRET not in repr(story.events) and SECRET not in repr(SaveKey("openai", SECRET))


def test_the_list_names_keys_and_where_they_are(tmp_path: Path) -> None:
    keys = keys_at(tmp_path, Ring())
    saved = SavedKeys(places.under(tmp_path), {"XAI_API_KEY": SECRET}, ["MY_KEY"], keys)
    assert "kept in the system keyring" in saved.save("openai", f" {SECRET}\n")
    assert "XAI_API_KEY is set and comes before it" in saved.save("xai", SECRET)
    saved.save("MY_KEY", SECRET)
    rows, trouble = saved.kept()
    assert (rows, trouble) == (
        [
            KeptKey("openai", "OPENAI_API_KEY", "keyring"), KeptKey("xai", "XAI_API_KEY", "environment"),
            KeptKey("xai", "XAI_API_KEY", "keyring"), KeptKey("", "MY_KEY", "keyring"),
        ],
        "",
    )  # fmt: skip
    assert saved.forget("openai") == "the key for openai is forgotten" and saved.forget("openai") is None


async def test_a_session_says_at_its_start_why_saved_keys_are_missing(tmp_path: Path) -> None:
    story = Story(tmp_path, ["x"])
    keys = Keys(story.places.keys, Ring(fails="none"))
    keys.save("OPENAI_API_KEY", SECRET)
    keys.path.chmod(0o644)
    made = story.kit()
    kit = replace(made, endpoints=Endpoints(made.settings, {}, Keys(keys.path, Ring())))
    opening = Opening(kit, story.folder)
    for path in (None, "last"):
        session = await opening.open(path, story.heard)
        assert [notice for notice in session.notices if "chmod 600" in notice]
        await session.append(UserSaid("one"))
        await session.aclose()
