"""Settings: `toolsmith.toml`, profiles and the environment.

Rules guarded: every problem of a file is told at once, with file, line, table and key; what a name means is never a
guess; no value that may be a secret is ever printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_modules import forgotten

from toolsmith import Agent, ConfigError, DefinitionError, Limits, ModelSettings, config
from toolsmith.config import Config

GOOD = """
[models.fast]
model = "openai-chat:qwen"
base_url = "http://localhost:8080/v1"
api_key_env = "SHOP_KEY"
settings = { max_tokens = 2000, reasoning = { effort = "low" } }

[models."two words"]
model = "anthropic:claude-opus-5-5"

[agents.support]
model = "fast"
tools = ["shop.tools:registry", "shop.tools:refund"]
instructions = "You help customers of the shop."
limits = { turns = 5, seconds = "none" }
max_calls_per_run = 10
tool_timeout = 5

[agents.fallback]
model = ["fast", "anthropic:claude-opus-5-5", "two words"]
tools = "shop/tools.py:refund"

[agents.empty]
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLSMITH_MODEL", raising=False)
    monkeypatch.delenv("TOOLSMITH_CONFIG", raising=False)
    with forgotten(tmp_path):
        yield


def write(text: str | bytes, name: str = "toolsmith.toml") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def problems(text: str | bytes) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        config.load(write(text))
    return caught.value.problems


def write_shop() -> None:
    write("", "shop/__init__.py")
    write(
        "def refund(order: int) -> str:\n    return f'refunded {order}'\n\n"
        "class Desk:\n    @staticmethod\n    def close() -> str:\n        return 'closed'\n\n"
        "registry = [refund]\n",
        "shop/tools.py",
    )


class TestAGoodFile:
    def test_profiles_become_model_settings(self) -> None:
        loaded = config.load(write(GOOD))
        assert loaded.models["fast"] == ModelSettings(
            model="openai-chat:qwen",
            base_url="http://localhost:8080/v1",
            api_key_env="SHOP_KEY",
            settings={"max_tokens": 2000, "reasoning": {"effort": "low"}},
        )
        assert loaded.models["two words"] == ModelSettings(model="anthropic:claude-opus-5-5")

    def test_agents_keep_the_defaults_of_what_they_leave_out(self) -> None:
        loaded = config.load(write(GOOD))
        support = loaded.agents["support"]
        assert support.limits == Limits(turns=5, seconds=None)
        assert (support.max_calls_per_run, support.tool_timeout) == (10, 5)
        assert loaded.agents["empty"] == config.AgentSettings()
        assert loaded.agents["empty"].limits == Limits()

    def test_one_text_is_a_list_of_one(self) -> None:
        loaded = config.load(write(GOOD))
        assert loaded.agents["fallback"].tools == ("shop/tools.py:refund",)
        assert loaded.agents["support"].model == ("fast",)

    def test_none_lifts_a_bound(self) -> None:
        """TOML has no null, and a default bound must still be liftable."""
        loaded = config.load(write('[agents.a]\nlimits = { turns = "none", calls = "none", tool_timeout = "none" }\n'))
        assert loaded.agents["a"].limits == Limits(turns=None, calls=None, tool_timeout=None)

    def test_an_empty_file_is_a_file_without_profiles(self) -> None:
        assert config.load(write("")) == Config(path=Path("toolsmith.toml"), models={}, agents={})

    def test_byte_order_mark_is_skipped(self) -> None:
        assert "fast" in config.load(write(b"\xef\xbb\xbf" + GOOD.encode())).models

    def test_loading_imports_no_tool_and_needs_no_key(self) -> None:
        assert config.load(write(GOOD)).agents["support"].tools == ("shop.tools:registry", "shop.tools:refund")
        assert "shop" not in sys.modules


class TestABadFile:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                '[models.fast]\nmodel = "openai-chat:q"\nbase_ulr = "http://x"\n',
                "toolsmith.toml:3: [models.fast] base_ulr: there is no such setting. Did you mean base_url? "
                "Allowed here: model, base_url, api_key_env, settings.",
            ),
            (
                '[models.fast]\nbase_url = "http://x"\n',
                "toolsmith.toml:1: [models.fast] model: is missing. This table must have it.",
            ),
            (
                '[models.fast]\nmodel = "openai-chat:q"\n\nbase_url = 8080\n',
                "toolsmith.toml:4: [models.fast] base_url: takes text in quotes, not a number.",
            ),
            (
                '[models.fast]\nmodel = "openai-chat:q"\nbase_url = "localhost:8080"\n',
                "toolsmith.toml:3: [models.fast] base_url: must begin with http:// or https://.",
            ),
            ("[models]\nfast = 3\n", "toolsmith.toml:2: [models] fast: takes a table, [models.fast], not a number."),
            ("models = []\n", "toolsmith.toml:1: models: takes a table, [models], not a list."),
            (
                "[model.fast]\n",
                "toolsmith.toml: [model]: there is no such setting. Did you mean models? Allowed here: models, agents.",
            ),
            (
                '[agents.a]\nmodel = "fsat"\n[models.fast]\nmodel = "local:smollm2"\n',
                "toolsmith.toml:2: [agents.a] model: there is no model profile 'fsat'. Did you mean 'fast'? "
                "This file has fast. Or write PROVIDER:MODEL.",
            ),
            (
                '[agents.a]\ntools = ["shop.tools"]\n',
                "toolsmith.toml:2: [agents.a] tools: 'shop.tools' is not written module:name or path/file.py:name.",
            ),
            (
                "[agents.a]\ntools = [3]\n",
                "toolsmith.toml:2: [agents.a] tools: takes a list of texts, not a list of other things.",
            ),
            (
                "[agents.a]\nlimits = { turns = 2.5 }\n",
                "toolsmith.toml:2: [agents.a.limits] turns: takes a whole number, "
                'or "none" for no bound, not a number with a fraction.',
            ),
            (
                "[agents.a]\nlimits = { turns = true }\n",
                'toolsmith.toml:2: [agents.a.limits] turns: takes a whole number, or "none" for no bound, '
                "not true or false.",
            ),
            (
                "[agents.a.limits]\ntunrs = 3\n",
                "toolsmith.toml:2: [agents.a.limits] tunrs: there is no such setting. Did you mean turns? "
                "Allowed here: turns, calls, groups, seconds, tokens, tool_timeout, result_chars.",
            ),
            (
                "[agents.a]\nlimits = { turns = 0 }\n",
                "toolsmith.toml:2: [agents.a.limits]: Limits(turns=0) must be more than 0, or None for no limit.",
            ),
            (
                "[agents.a]\ntool_timeout = 0\n",
                "toolsmith.toml:2: [agents.a] tool_timeout: must be more than 0 seconds.",
            ),
            (
                "[agents.a]\ntool_timeout = nan\n",
                "toolsmith.toml:2: [agents.a] tool_timeout: must be more than 0 seconds.",
            ),
            (
                "[agents.a]\nmax_calls_per_run = -1\n",
                "toolsmith.toml:2: [agents.a] max_calls_per_run: must be 0 or more.",
            ),
            (
                "[agents.a]\ninstructions = 2026-11-30\n",
                "toolsmith.toml:2: [agents.a] instructions: takes text in quotes, not a date or time.",
            ),
            (
                '[models."a:b"]\nmodel = "local:smollm2"\n',
                'toolsmith.toml:1: [models.a:b]: the name of a profile has no ":" and no "/": '
                "these mark PROVIDER:MODEL.",
            ),
        ],
    )
    def test_says_where_and_what_is_allowed(self, text: str, expected: str) -> None:
        assert problems(text) == (expected,)

    def test_unknown_provider_names_the_known_ones(self) -> None:
        (only,) = problems('[models.fast]\nmodel = "antropic:claude"\n')
        assert only.startswith("toolsmith.toml:2: [models.fast] model: ")
        assert "Did you mean 'anthropic'?" in only
        assert "openai-chat" in only

    def test_all_problems_at_once(self) -> None:
        """A fault in one key hides no other, in the same table or another one."""
        found = problems(
            "speed = 3\n"
            '[models.fast]\nmodel = "nobody:x"\nbase_url = "x"\napi_key = "k"\n'
            '[models.good]\nmodel = "local:smollm2"\n'
            '[agents.a]\nmodel = "fast"\ntools = ["x"]\nlimits = { turns = -1, colls = 2 }\nbogus = 1\n'
        )
        assert [p.split(": ")[1] for p in found] == [
            "speed",
            "[models.fast] api_key",
            "[models.fast] model",
            "[models.fast] base_url",
            "[agents.a] bogus",
            "[agents.a] tools",
            "[agents.a.limits] colls",
            "[agents.a.limits]",
        ]

    def test_broken_toml_says_the_line(self) -> None:
        (only,) = problems('[models.fast]\nmodel = "x\n')
        assert only.startswith("toolsmith.toml: is not valid TOML: ")
        assert "line 2" in only

    def test_not_utf8(self) -> None:
        assert "is not UTF-8" in problems(b'[models.fast]\nmodel = "\xff"\n')[0]

    def test_missing_file(self) -> None:
        with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read: No such file"):
            config.load("nowhere.toml")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read"):
            config.load(tmp_path)

    def test_a_line_is_told_only_where_it_is_certain(self) -> None:
        """A text of several lines that looks like TOML must not send anyone to the wrong line."""
        (only,) = problems(
            '[agents.a]\ninstructions = """\nbogus = 1\n"""\n[agents.b]\n[agents.a.limits]\nturns = "x"\n'
        )
        assert only.startswith("toolsmith.toml:7: ")
        (only,) = problems('[agents.a]\ninstructions = """\nbogus = 1\n"""\nbogus = 2\n')
        assert only.startswith("toolsmith.toml: [agents.a] bogus")


class TestSecrets:
    SECRET = "sk-live-0123456789"

    @pytest.mark.parametrize(
        "text",
        [
            '[models.fast]\nmodel = "local:smollm2"\napi_key = "{}"\n',
            '[models.fast]\nmodel = "local:smollm2"\napi_key_env = "{}"\n',
            '[models.fast]\nmodel = "local:smollm2"\nsettings = "{}"\n',
            '[models.fast]\nmodel = "local:smollm2"\nbase_url = "user:{}@example"\n',
            'api_key = "{}"\n',
            '[agents.a]\nlimits = "{}"\n',
            '[agents.a]\ntool_timeout = "{}"\n',
            '[agents.a]\ntool_timeout = ["{}"\n',
        ],
    )
    def test_a_key_in_the_wrong_place_is_never_printed(self, text: str) -> None:
        found = "\n".join(problems(text.format(self.SECRET)))
        assert self.SECRET not in found

    def test_a_key_in_the_file_is_refused_with_the_way_out(self) -> None:
        (only,) = problems(f'[models.fast]\nmodel = "local:smollm2"\napi_key = "{self.SECRET}"\n')
        assert "Did you mean api_key_env?" in only

    def test_settings_do_not_show_their_key(self) -> None:
        assert self.SECRET not in repr(ModelSettings(model="openai:x", api_key=self.SECRET))

    def test_missing_variable_is_told_when_the_model_is_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("SHOP_KEY", raising=False)
        fast = config.load(write(GOOD)).models["fast"]
        with pytest.raises(ConfigError, match="SHOP_KEY, which is not set"):
            fast.key()
        monkeypatch.setenv("SHOP_KEY", self.SECRET)
        assert fast.key() == self.SECRET


class TestWhichModel:
    def test_default_is_local_unless_the_environment_says_otherwise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert config.default_model() == "local:smollm2"
        assert config.find_model() == ModelSettings(model="local:smollm2")
        monkeypatch.setenv("TOOLSMITH_MODEL", "openai:gpt-6-astra")
        assert config.find_model() == ModelSettings(model="openai:gpt-6-astra")

    @pytest.mark.parametrize("model", ["openai:fast", "openai/fast", "local:models/x.gguf"])
    def test_a_provider_is_never_taken_for_a_profile(self, model: str) -> None:
        """Even a settings file that cannot be read is no obstacle then."""
        write("broken [")
        assert config.find_model(model) == ModelSettings(model=model)

    def test_a_profile_of_the_current_folder(self) -> None:
        write(GOOD)
        assert config.find_model("fast").model == "openai-chat:qwen"

    def test_the_variable_wins_over_the_current_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write(GOOD)
        write('[models.fast]\nmodel = "local:smollm2"\n', "other/settings.toml")
        monkeypatch.setenv("TOOLSMITH_CONFIG", "other/settings.toml")
        assert config.find_model("fast").model == "local:smollm2"

    def test_the_variable_names_no_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write(GOOD)
        monkeypatch.setenv("TOOLSMITH_CONFIG", "gone.toml")
        with pytest.raises(ConfigError, match=r"gone\.toml: cannot be read"):
            config.find_model("fast")

    def test_the_default_may_be_a_profile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write(GOOD)
        monkeypatch.setenv("TOOLSMITH_MODEL", "fast")
        assert config.find_model().model == "openai-chat:qwen"

    def test_unknown_profile(self) -> None:
        write(GOOD)
        with pytest.raises(
            ConfigError, match=r"toolsmith\.toml: there is no model profile 'fsat'. Did you mean 'fast'"
        ):
            config.find_model("fsat")

    def test_unknown_profile_and_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError) as caught:
            config.find_model("claude-opus-5-5")
        assert "PROVIDER:MODEL" in str(caught.value)
        assert str(tmp_path) in str(caught.value)
        assert "TOOLSMITH_CONFIG" in str(caught.value)

    def test_unknown_provider(self) -> None:
        with pytest.raises(ConfigError, match="Did you mean 'openai'"):
            config.find_model("opanai:gpt-6-astra")


class TestTools:
    def arguments(self, tools: str, name: str = "toolsmith.toml") -> list[object]:
        write(f"[agents.a]\ntools = {tools}\n", name)
        return list(config.load(name).agent_arguments("a")["tools"])

    def refused(self, tools: str) -> tuple[str, ...]:
        with pytest.raises(ConfigError) as caught:
            self.arguments(tools)
        return caught.value.problems

    def test_modules_files_and_attributes(self) -> None:
        write_shop()
        found = self.arguments('["shop.tools:registry", "shop/tools.py:refund", "shop.tools:Desk.close"]')
        refund = sys.modules["shop.tools"].refund
        assert found[0] == [refund]
        assert getattr(found[1], "__name__", "") == "refund"
        assert found[2]() == "closed"  # type: ignore[operator]

    def test_modules_are_found_beside_the_file_wherever_one_stands(self, tmp_path: Path) -> None:
        write("def hello() -> str:\n    return 'hello'\n", "deep/er/greetings.py")
        assert len(self.arguments('["greetings:hello"]', "deep/er/toolsmith.toml")) == 1
        assert sys.modules["greetings"].__file__ == str(tmp_path / "deep/er/greetings.py")

    def test_a_file_does_not_take_the_place_of_a_module(self) -> None:
        """`json.py` of the user is his; `import json` still means Python's."""
        import json

        write("def load() -> str:\n    return 'mine'\n", "sub/json.py")
        (found,) = self.arguments('["sub/json.py:load"]')
        assert found() == "mine"  # type: ignore[operator]
        assert sys.modules["json"] is json
        (again,) = self.arguments('["sub/json.py:load"]')
        assert again is found

    def test_every_missing_tool_is_named(self) -> None:
        write_shop()
        found = self.refused(
            '["shop.tolls:refund", "shop.tools:refnd", "nowhere:x", "shop/tols.py:refund", "shop.tools:Desk.opn"]'
        )
        assert len(found) == 5
        assert all(p.startswith("toolsmith.toml: [agents.a] tools: ") for p in found)
        assert "There is no module 'shop.tolls'" in found[0]
        assert "Did you mean 'shop.tools'?" in found[0]
        assert "has no 'refnd'. Did you mean 'refund'?" in found[1]
        assert "There is no module 'nowhere': looked in" in found[2]
        assert "There is no file" in found[3]
        assert "Did you mean 'tools.py'?" in found[3]
        assert "has no 'opn'" in found[4]

    def test_missing_names_are_told_with_the_other_mistakes_of_the_file(self) -> None:
        """One reading of the file, one list."""
        write_shop()
        path = write(
            '[agents.a]\nlimits = { tunrs = 3 }\ntools = ["shop.tools:refnd", 3]\nfeedback = "shop.tools:refund"\n'
            "[agents.b]\ntols = []\n"
        )
        with pytest.raises(ConfigError) as caught:
            Agent.from_config(path, "a")
        told = "\n".join(caught.value.problems)
        for words in (
            "tunrs: there is no such setting",
            "tols: there is no such",
            "no 'refnd'",
            "is no toolsmith.Feedback",
        ):
            assert words in told

    def test_what_a_module_has_imported_is_not_what_was_meant(self) -> None:
        """`tool`, which every module of tools imports, is near to `tools`; its own names are proposed."""
        write(
            "import json\nfrom toolsmith import Agent, ToolRegistry, tool\n@tool\ndef find(x: str) -> str:\n"
            "    'Find.'\n    return x\nregistry = ToolRegistry([find])\nhelper = Agent()\n",
            "kit.py",
        )
        found = self.refused('["kit:tools", "kit:jsn", "kit:registri", "kit:fnd", "kit:helpr"]')
        assert [p.partition(" has no ")[2] for p in found] == [
            "'tools'. It defines: find, helper, registry.",
            "'jsn'. It defines: find, helper, registry.",
            "'registri'. Did you mean 'registry'?",
            "'fnd'. Did you mean 'find'?",
            "'helpr'. Did you mean 'helper'?",
        ]

    def test_a_far_off_name_lists_what_there_is(self) -> None:
        write_shop()
        (only,) = self.refused('["shop.tools:zzz"]')
        assert "It defines: Desk, refund, registry." in only

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("import nowhere_at_all\n", "bad.py:1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
            ("x = 1\ny = x +\n", "bad.py:2: SyntaxError"),
            ("\n\n1 / 0\n", "bad.py:3: ZeroDivisionError"),
            ("raise SystemExit(4)\n", "bad.py:1: SystemExit: 4"),
        ],
    )
    @pytest.mark.parametrize("reference", ["bad:x", "bad.py:x"])
    def test_a_module_that_cannot_be_imported_says_where(self, source: str, expected: str, reference: str) -> None:
        write(source, "bad.py")
        (only,) = self.refused(f'["{reference}"]')
        assert "Importing" in only
        assert expected in only

    @pytest.mark.parametrize("reference", ["odd:x", "odd.py:x"])
    def test_a_tool_that_cannot_be_defined_keeps_its_own_error(self, reference: str) -> None:
        write("from toolsmith import DefinitionError\nraise DefinitionError(['first', 'second'])\n", "odd.py")
        with pytest.raises(DefinitionError) as caught:
            self.arguments(f'["{reference}"]')
        assert caught.value.problems == ("first", "second")

    def test_unknown_agent(self) -> None:
        with pytest.raises(ConfigError, match=r"no agent 'suport'. Did you mean 'support'. Its agents: support, fall"):
            config.load(write(GOOD)).agent_arguments("suport")

    def test_arguments_of_an_agent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write_shop()
        loaded = config.load(write(GOOD))
        support = loaded.agent_arguments("support")
        assert support["model"] == [loaded.models["fast"]]
        assert support["name"] == "support"
        assert support["limits"].turns == 5
        fallback = loaded.agent_arguments("fallback")["model"]
        assert [m.model for m in fallback] == ["openai-chat:qwen", *["anthropic:claude-opus-5-5"] * 2]
        monkeypatch.setenv("TOOLSMITH_MODEL", "two words")
        assert loaded.agent_arguments("empty")["model"] == [loaded.models["two words"]]


_plain = st.text(st.characters(codec="utf-8", exclude_characters='"\\', exclude_categories=["Cc", "Cs"]), max_size=12)
_values = st.recursive(
    st.one_of(
        st.integers(-5, 5).map(str),
        st.floats(-5, 5).map(repr),
        st.sampled_from(["true", "false", "2026-11-30", '"none"', '"local:smollm2"', '"http://x"', '"a.b:c"']),
        _plain.map(lambda s: f'"{s}"'),
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda v: f"[{', '.join(v)}]"),
    max_leaves=4,
)
_keys = st.sampled_from(
    ["model", "base_url", "api_key_env", "settings", "tools", "instructions", "limits.turns", "limits.calls", "bogus"]
)
_tables = st.lists(
    st.tuples(
        st.sampled_from(["models.a", "models.b", "agents.a", "agents.b", "other"]),
        st.dictionaries(_keys, _values, max_size=4),
    ),
    max_size=4,
    unique_by=lambda t: t[0],
)


@given(_tables)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_read_or_refused(tables: list[tuple[str, dict[str, str]]]) -> None:
    """Law: a file is either a Config or a ConfigError whose every problem says the file; nothing else comes out."""
    text = "\n".join(f"[{name}]\n" + "\n".join(f"{k} = {v}" for k, v in keys.items()) for name, keys in tables)
    path = write(text)
    try:
        loaded = config.load(path)
    except ConfigError as error:
        found = error.problems
    else:
        assert {f"models.{n}" for n in loaded.models} | {f"agents.{n}" for n in loaded.agents} == {n for n, _ in tables}
        return
    assert found
    assert all(p.startswith("toolsmith.toml") for p in found)
