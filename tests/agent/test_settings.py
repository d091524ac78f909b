"""Settings: layers, origins, unknown keys, wrong values, models, trust, and writing."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from agent import places as place
from agent.models.catalogue import Claim
from agent.places import Places, project, slug, under
from agent.settings import ModelEntry, Settings, SettingsError, load
from agent.settings.file import save, save_budget
from agent.settings.keys import KEYS
from agent.trust import Trust
from compaction.budget import DEFAULT_RULE, Policy
from compaction.cache import Prices


def made(tmp_path: Path, own: str = "", theirs: str = "", trusted: bool = True) -> tuple[Places, Path]:
    """A user with a settings file, and a project with one."""
    places = under(tmp_path / "user")
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    if own:
        places.config.mkdir(parents=True)
        places.settings.write_text(own)
    if theirs:
        (folder / ".ullage").mkdir()
        file = folder / ".ullage" / "config.toml"
        file.write_text(theirs)
        if trusted:
            Trust(places).grant(file, file.read_bytes())
    return places, folder


def settings(
    tmp_path: Path,
    own: str = "",
    theirs: str = "",
    environ: Mapping[str, str] | None = None,
    trusted: bool = True,
    **flags: Any,
) -> Settings:
    places, folder = made(tmp_path, own, theirs, trusted)
    return load(folder, places, environ or {}, flags)


# ── layers ──


def test_without_any_file_everything_is_at_its_default(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert {key.name: getattr(found, key.field) for key in KEYS} == {key.name: key.default for key in KEYS}
    assert set(found.origin.values()) == {"default"}
    assert (found.notices, found.untrusted, found.policy_for("any")) == ((), None, Policy())


def test_each_layer_is_stronger_than_the_one_before(tmp_path: Path) -> None:
    places, folder = made(
        tmp_path,
        'model = "a"\neffort = "low"\nmax_steps = 1\ntheme = "one"\n',
        'model = "b"\neffort = "high"\nmax_steps = 2\n',
    )
    found = load(folder, places, {"ULLAGE_EFFORT": "max", "ULLAGE_MAX_STEPS": "3"}, {"max_steps": 4, "mode": None})
    assert (found.theme, found.model, found.effort, found.max_steps, found.mode) == ("one", "b", "max", 4, "ask")
    assert {name: found.origin[name] for name in ("theme", "model", "effort", "max_steps", "mode")} == {
        "theme": str(places.settings),
        "model": str(folder / ".ullage" / "config.toml"),
        "effort": "variable ULLAGE_EFFORT",
        "max_steps": "flag --max-steps",
        "mode": "default",
    }


def test_the_example_of_the_contract_is_read_without_a_word(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        """
model = "anthropic/claude-sonnet-4-5"
[context]
budget = "min(200k, 80%)"
reserve = 16384
keep_recent = "20k"
prune_protect = "40k"
prune_minimum = "20k"
automatic = true
summariser = "same"
summary_mode = "in_context"
[models."openai/my-model"]
api_base = "http://127.0.0.1:8080/v1"
api_key_env = "MY_KEY"
window = 32768
max_output = 4096
output_apart = true
alternate = true
budget = "24k"
cache_ttl = "1h"
prices = { input = 3.0, cached = 0.3, cache_write = 3.75, output = 15 }
""",
    )
    assert found.notices == ()
    assert found.summary_mode == "in_context"
    assert found.policy_for("anthropic/claude-sonnet-4-5") == Policy(reserve=16_384)
    assert found.policy_for("openai/my-model") == Policy("24k", 16_384)
    assert found.entry_for("openai/my-model") == ModelEntry(
        "http://127.0.0.1:8080/v1", "MY_KEY", 32_768, 4_096, True, "24k", None, 3_600.0, None,
        Prices(3.0, 15.0, 0.3, 3.75), alternate=True,
    )  # fmt: skip


@pytest.mark.parametrize("spelling", ["100000", '"100000"', '"100_000"', '"100k"'])
def test_a_budget_of_a_hundred_thousand_stays_that(tmp_path: Path, spelling: str) -> None:
    from compaction.budget import chosen

    found = settings(tmp_path, f"[context]\nbudget = {spelling}\n")
    assert chosen(found.policy_for("m").rule, 200_000) == 100_000


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("budget", "24k", "24k"),
        ("reserve", "2k", 2_000),
        ("automatic", "off", False),
        ("automatic", "YES", True),
        ("cache_ttl", "1h", 3_600.0),
        ("cache_ttl", "90", 90.0),
        ("window", "32_768", 32_768),
        ("max_steps", "1,000", 1_000),
        ("mode", "Plan", "plan"),
        ("shell_drop", "A_*, B", ("A_*", "B")),
        ("model", " openai/x ", "openai/x"),
    ],
)
def test_variables_and_flags_are_read_the_same_way(tmp_path: Path, field: str, text: str, value: object) -> None:
    places, folder = made(tmp_path)
    by_variable = load(folder, places, {f"ULLAGE_{field.upper()}": text})
    assert getattr(by_variable, field) == getattr(load(folder, places, {}, {field: text}), field) == value


def test_an_empty_variable_is_none(tmp_path: Path) -> None:
    assert settings(tmp_path, environ={"ULLAGE_BUDGET": "", "ULLAGE_MODEL": " "}).budget == DEFAULT_RULE


def test_bytes_in_a_variable_that_are_no_text_become_replacement_characters(tmp_path: Path) -> None:
    assert settings(tmp_path, environ={"ULLAGE_MODEL": "x\udcff"}).model == "x\ufffd"


def test_every_key_is_shown_with_its_origin(tmp_path: Path) -> None:
    found = settings(tmp_path, '[models."a*"]\nwindow = 5000\n', theme="dark")
    rows = {name: (value, origin) for name, value, origin in found.shown()}
    assert set(rows) == {key.name for key in KEYS} | {'models."a*".window'}
    assert rows["theme"] == ("dark", "flag --theme")
    assert rows['models."a*".window'][1].endswith("config.toml")


# ── unknown keys and wrong values ──


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('modell = "x"', "line 1: unknown key modell; did you mean model?"),
        ('# a\n\n[context]\nbugdet = "9k"', "line 4: unknown key context.bugdet; did you mean context.budget?"),
        ('budget = "9k"', "line 1: unknown key budget; did you mean context.budget?"),
        ("context.reserv = 5", "line 1: unknown key context.reserv; did you mean context.reserve?"),
        ("context = { reserv = 5 }", "line 1: unknown key context.reserv; did you mean context.reserve?"),
        ("[contxt]\nreserve = 5", "line 1: unknown key contxt; did you mean context?"),
        ('[models."a.b/*"]\nwindw = 9', 'unknown key models."a.b/*".windw; did you mean models."a.b/*".window?'),
        (
            "[models.x]\nprices = { input = 1, output = 2, inputs = 1 }",
            "unknown key models.x.prices.inputs; did you mean models.x.prices.input?",
        ),
        ("zzz = 1", "line 1: unknown key zzz"),
        ('"a\\u001b" = 1', r'unknown key "a\x1b"'),
    ],
)  # fmt: skip
def test_an_unknown_key_is_named_with_its_line_and_the_nearest_right_key(tmp_path: Path, text: str, says: str) -> None:
    (notice,) = settings(tmp_path, text).notices
    assert notice.startswith(str(tmp_path / "user" / "config" / "config.toml"))
    assert notice.endswith(says)


def test_a_misspelt_variable_is_named_and_a_strange_one_is_left_alone(tmp_path: Path) -> None:
    found = settings(tmp_path, environ={"ULLAGE_BUGDET": "9k", "ULLAGE_TEST_RUN": "1", "BUDGET": "1"})
    assert found.notices == ("the variable ULLAGE_BUGDET is not known; did you mean ULLAGE_BUDGET?",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model = 5", "line 1: model must be a text in quotes"),
        ('model = ""', "line 1: model must be a text in quotes"),
        ("\nmode = 'fast'", "line 2: mode must be one of plan, ask, edits, auto; it is 'fast'"),
        ("max_steps = true", "line 1: max_steps must be a whole number; it is True"),
        ("max_steps = 0", "line 1: max_steps must be at least 1; it is 0"),
        ('[context]\nbudget = "1000"', "line 2: context.budget cannot be used: budget 1000 is below the least"),
        ('[context]\nbudget = "120%"', "context.budget cannot be used"),
        ("[context]\nbudget = [1]", "context.budget must be a budget"),
        ('[context]\nkeep_recent = "many"', "context.keep_recent must be a number of tokens"),
        ("[context]\nreserve = 0", "context.reserve must be at least 1 token"),
        ('[context]\nautomatic = "yes"', "context.automatic must be true or false; it is 'yes'"),
        ('[context]\ncache_ttl = "soon"', "context.cache_ttl must be a time"),
        ('[models.x]\nprices = { input = -1 }', "models.x.prices.input must be a number, 0 or more"),
        ('[models.x]\nprices = { input = nan }', "models.x.prices.input must be a number, 0 or more"),
        ("models = 1", "models must be tables"),
        ("[models]\nx = 1", "models must be tables"),
        ("shell.drop = 'A'", "shell.drop must be a list of texts"),
        ("keys = 'x'", "keys must be a table of texts"),
        ("a = ", "not TOML"),
        ("a = 1\na = 2", "not TOML"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_an_error_with_file_line_and_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError) as error:
        settings(tmp_path, text)
    assert str(tmp_path / "user" / "config" / "config.toml") in str(error.value)
    assert says in str(error.value)


def test_a_wrong_flag_and_a_wrong_variable_are_named(tmp_path: Path) -> None:
    places, folder = made(tmp_path)
    with pytest.raises(SettingsError, match=r"^--max-steps must be a whole number; it is 'x'"):
        load(folder, places, {}, {"max_steps": "x"})
    with pytest.raises(SettingsError, match=r"^the variable ULLAGE_BUDGET cannot be used"):
        load(folder, places, {"ULLAGE_BUDGET": "12"})


def test_a_file_that_is_no_text_or_far_too_long_is_an_error(tmp_path: Path) -> None:
    places, folder = made(tmp_path, "x")
    places.settings.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8 at byte 0"):
        load(folder, places, {})
    places.settings.write_bytes(b"#" * 1_000_001)
    with pytest.raises(SettingsError, match="longer than 1,000,000 bytes"):
        load(folder, places, {})


# ── models ──


def test_globs_are_merged_the_more_literal_one_winning_and_the_exact_name_last(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        """
[models."openai/gpt-5"]
window = 3000
[models."*"]
window = 1000
max_output = 100
budget = "9k"
[models."openai/*"]
window = 2000
budget = "8k"
prices = { input = 1, output = 2 }
[models."openai/gpt-*"]
prices = { output = 3, input = 1, cached = 0.5 }
""",
    )
    assert found.entry_for("openai/gpt-5") == ModelEntry(
        window=3000, max_output=100, budget="8k", prices=Prices(input=1.0, output=3.0, cached=0.5)
    )
    assert found.entry_for("openai/o9") == ModelEntry(
        window=2000, max_output=100, budget="8k", prices=Prices(input=1.0, output=2.0)
    )
    assert found.entry_for("other") == ModelEntry(window=1000, max_output=100, budget="9k")


def test_a_name_with_brackets_is_found_by_its_exact_name(tmp_path: Path) -> None:
    assert settings(tmp_path, '[models."x[1]"]\nwindow = 5000\n').entry_for("x[1]").window == 5_000


def test_a_flag_about_the_model_wins_over_its_entry_for_the_sessions_model_alone(tmp_path: Path) -> None:
    own = '[models."*"]\nwindow = 9000\nbudget = "5k"\napi_base = "http://entry"\ncache_ttl = "1h"\n'
    places, folder = made(tmp_path, own)
    flags = {"model": "a", "window": "128000", "budget": "6k", "api_base": "http://flag", "cache_ttl": "1m"}
    found = load(folder, places, {}, flags)
    assert (found.entry_for("a").window, found.entry_for("b").window) == (128_000, 9_000)
    assert (found.entry_for("a").api_base, found.entry_for("b").api_base) == ("http://flag", "http://entry")
    assert (found.policy_for("a").rule, found.policy_for("b").rule) == ("6k", "5k")
    assert found.cache_ttl_for("a") == 60.0


def test_a_global_choice_in_a_file_gives_way_to_the_models_entry(tmp_path: Path) -> None:
    own = '[context]\nbudget = "50k"\nreserve = "5k"\n[models.a]\nbudget = "20k"\nreserve = "2k"\ncache_ttl = "1h"\n'
    found = settings(tmp_path, own)
    assert (found.policy_for("a").rule, found.policy_for("a").reserve) == ("20k", 2_000)
    assert (found.policy_for("b").rule, found.policy_for("b").reserve) == ("50k", 5_000)
    assert (found.cache_ttl_for("a"), found.cache_ttl_for("b")) == (3_600.0, 300.0)
    assert found.policy_for("a", "30k").rule == "30k"


@pytest.mark.parametrize(
    ("named", "stored"),
    [("my-model", "openai/my-model"), ("embedded", "embedded/smollm2"), ("m/x.gguf", "embedded//home/m/x.gguf")],
)
def test_a_flag_is_about_the_model_however_short_it_was_named(tmp_path: Path, named: str, stored: str) -> None:
    found = settings(tmp_path, model=named, window="5k")
    assert (found.claim_for(stored), found.claim_for("other/model")) == (Claim(5_000), Claim())


def test_prices_are_known_only_with_input_and_output(tmp_path: Path) -> None:
    found = settings(tmp_path, "[models.x]\nprices = { input = 1.0 }\n")
    assert found.entry_for("x").prices is None
    assert found.notices[0].endswith("the prices of x are known only with input and output")


def test_the_effort_of_a_model_is_its_own_or_the_general_one(tmp_path: Path) -> None:
    found = settings(tmp_path, 'effort = "low"\n[models.a]\neffort = "high"\n')
    assert (found.effort_for("a"), found.effort_for("b")) == ("high", "low")


# ── projects ──


def test_a_projects_settings_wait_for_trust_in_their_exact_content(tmp_path: Path) -> None:
    places, folder = made(tmp_path, theirs='[context]\nbudget = "30k"\n', trusted=False)
    file = folder / ".ullage" / "config.toml"
    before = load(folder, places, {})
    assert (before.budget, before.untrusted) == (DEFAULT_RULE, file)
    assert "wait until you trust" in before.notices[0]
    trust = Trust(places)
    trust.grant(file, file.read_bytes())
    assert (load(folder / "sub", places, {}).budget, load(folder, places, {}).untrusted) == ("30k", None)
    file.write_text('[context]\nbudget = "31k"\n')
    assert load(folder, places, {}).budget == DEFAULT_RULE
    trust.grant(file, file.read_bytes())
    trust.withdraw(file)
    assert load(folder, places, {}).budget == DEFAULT_RULE


def test_a_file_nobody_wants_to_be_asked_about_is_silent_until_it_changes(tmp_path: Path) -> None:
    places, folder = made(tmp_path, theirs='theme = "x"\n', trusted=False)
    file = folder / ".ullage" / "config.toml"
    Trust(places).refuse(file, file.read_bytes())
    found = load(folder, places, {})
    assert (found.theme, found.notices, found.untrusted) == ("auto", (), file)
    file.write_text('theme = "y"\n')
    assert "wait until you trust" in load(folder, places, {}).notices[0]


def test_trust_in_one_project_is_none_in_another_with_the_same_file(tmp_path: Path) -> None:
    places, folder = made(tmp_path, theirs='theme = "x"\n')
    other = tmp_path / "other" / ".ullage"
    other.mkdir(parents=True)
    (other / "config.toml").write_bytes((folder / ".ullage" / "config.toml").read_bytes())
    assert (load(folder, places, {}).theme, load(other.parent, places, {}).theme) == ("x", "auto")


def test_a_damaged_list_of_trusted_files_trusts_nothing(tmp_path: Path) -> None:
    places, folder = made(tmp_path, theirs='theme = "x"\n')
    for content in ("{", "[]", '{"a": 1}'):
        Trust(places).path.write_text(content)
        assert load(folder, places, {}).theme == "auto"


@pytest.mark.parametrize(
    "text",
    [
        'api_base = "http://evil"',
        'api_key_env = "AWS_SECRET"',
        'mode = "auto"',
        '[sandbox]\nuse = "off"',
        "[sandbox]\nnetwork = true",
        '[permissions]\nallow = ["bash"]',
        '[shell]\nkeep = ["*"]',
        'instructions = ["~/.ssh/id_ed25519"]',
        '[models."*"]\napi_base = "http://evil"',
        '[models."*"]\napi_key_env = "AWS_SECRET"',
    ],
)
def test_even_a_trusted_project_cannot_set_an_address_a_key_or_what_is_asked(tmp_path: Path, text: str) -> None:
    found = settings(tmp_path, theirs=text)
    (notice,) = found.notices
    assert "is not taken from a project's file" in notice
    plain = {f.name: getattr(found, f.name) for f in fields(Settings) if f.name not in ("notices", "origin", "models")}
    assert {name: plain[name] for name in (k.field for k in KEYS)} == {k.field: k.default for k in KEYS}
    assert found.entry_for("openai/x") == ModelEntry()


def test_the_users_own_folder_is_no_project_of_its_own(tmp_path: Path) -> None:
    places = Places(tmp_path / ".ullage", tmp_path / "d", tmp_path / "s", tmp_path / "c")
    places.config.mkdir()
    places.settings.write_text('theme = "x"\n')
    found = load(tmp_path, places, {})
    assert (found.theme, found.untrusted) == ("x", None)


# ── places ──


def test_the_folders_are_those_that_xdg_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    assert place.here() == Places(*(tmp_path / kind / "ullage" for kind in ("CONFIG", "DATA", "STATE", "CACHE")))


def test_a_slug_is_readable_and_never_shared(tmp_path: Path) -> None:
    one, other = slug(tmp_path / "a b"), slug(tmp_path / "a-b")
    assert one != other
    assert one.rsplit("-", 1)[0].endswith("a-b")
    assert slug(Path("/")).startswith("root-")
    assert len(slug(tmp_path / ("x" * 300))) < 60


def test_the_project_is_where_git_is(tmp_path: Path) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    assert project(tmp_path / "a" / "b" / "c") == (tmp_path / "a").resolve()


# ── writing ──

COMMENTED = """# my settings
model = "anthropic/claude-sonnet-4-5"  # the good one

[context]
# not too much
budget = "min(200k, 80%)"   # policy

[models."openai/*"]
prices = { input = 3.0, output = 15.0 }  # dollars
"""


def test_a_saved_value_leaves_all_else_as_it_was(tmp_path: Path) -> None:
    places, folder = made(tmp_path, COMMENTED)
    save(places, ("context", "budget"), "60%")
    assert places.settings.read_text() == COMMENTED.replace('"min(200k, 80%)"', '"60%"')
    assert load(folder, places, {}).budget == "60%"


def test_a_budget_is_kept_for_its_model_and_forgotten_by_default(tmp_path: Path) -> None:
    places, folder = made(tmp_path, COMMENTED)
    save_budget(places, "openai/x[1].y", "24k")
    assert places.settings.read_text().startswith(COMMENTED)
    found = load(folder, places, {})
    assert (found.policy_for("openai/x[1].y").rule, found.policy_for("openai/z").rule) == ("24k", "min(200k, 80%)")
    save_budget(places, "openai/x[1].y", "default")
    assert load(folder, places, {}).policy_for("openai/x[1].y").rule == "min(200k, 80%)"


@pytest.mark.parametrize(
    "own", ["", 'model = "x"', "context.reserve = 5\n", "context = { reserve = 5 }\n", "[models]\n"]
)
def test_values_are_saved_into_any_shape_of_file(tmp_path: Path, own: str) -> None:
    places, folder = made(tmp_path, own)
    save_budget(places, "m", "20k")
    save(places, ("context", "automatic"), False)
    save(places, ("theme",), "dark")
    save(places, ("shell", "drop"), ["A"])
    found = load(folder, places, {})
    assert (found.policy_for("m").rule, found.automatic, found.theme, found.shell_drop) == (
        "20k",
        False,
        "dark",
        ("A",),
    )
    assert stat.S_IMODE(places.settings.stat().st_mode) == 0o600


def test_a_value_that_would_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    places, _ = made(tmp_path, COMMENTED)
    with pytest.raises(SettingsError, match="cannot be used"):
        save_budget(places, "m", "12")
    with pytest.raises(SettingsError, match="max_steps"):
        save(places, ("max_steps",), "many")
    assert places.settings.read_text() == COMMENTED


def test_a_broken_file_is_not_written_to(tmp_path: Path) -> None:
    places, _ = made(tmp_path, "a = ")
    with pytest.raises(SettingsError, match="not TOML"):
        save_budget(places, "m", "12k")
    assert places.settings.read_text() == "a = "


def test_saving_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    places, folder = made(tmp_path, "x")
    places.settings.unlink()
    (tmp_path / "dotfiles.toml").write_text(COMMENTED)
    places.settings.symlink_to(tmp_path / "dotfiles.toml")
    save(places, ("theme",), "dark")
    assert places.settings.is_symlink()
    assert load(folder, places, {}).theme == "dark"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    places, _ = made(tmp_path, COMMENTED)
    places.config.chmod(0o500)
    with pytest.raises(SettingsError, match="cannot be changed"):
        save_budget(places, "m", "12k")
