"""The command line: what it prints where, and what its exit codes mean.

Rules guarded: standard output carries the answer (or JSON lines) and nothing else; every failure is one readable
message and the documented exit code, never a stack trace; no secret is printed.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_modules import forgotten

from toolsmith import Agent, __version__
from toolsmith.cli import main
from toolsmith.cli._view import Mask
from toolsmith.testing import ScriptedModel, call, deliver, fail, html, refuse, say, turn
from toolsmith.testing.server import ScriptServer

SHOP = '''
import os, sys, time
from toolsmith import Agent, ToolError, ToolRegistry, tool

print("noise while importing")

@tool
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    print("noise from a tool")
    sys.stdout.flush()
    os.system("echo noise from a subprocess")
    return a + b

@tool
def refund(order: str) -> str:
    """Pay an order back."""
    if order == "unknown":
        raise ToolError("There is no such order.", hint="List the orders first.")
    if order == "crash":
        raise RuntimeError("the key was " + os.environ.get("SHOP_API_KEY", ""))
    return f"Order {order} is paid back.\\n" * (40 if order == "many" else 1)

@tool
def wait(seconds: float) -> str:
    """Wait."""
    time.sleep(seconds)
    return "waited"

@tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"

def plain(word: str) -> str:
    """Say a word backwards."""
    return word[::-1]

registry = ToolRegistry([add, refund])
both = [add, plain]
price = 3
prices = [add, 3]
agent = Agent("fast", tools=[refund], instructions="You help customers.", name="desk")
other = Agent("fast")
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with tools, as the current folder; what its code leaves in this process is taken away again."""
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    for name in ("TOOLSMITH_MODEL", "TOOLSMITH_CONFIG", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHOP_API_KEY", "sk-shop-0123456789")
    with forgotten(tmp_path):
        yield tmp_path


class Shop:
    """The command line in a project whose model follows a script."""

    def __init__(self, folder: Path, model: ScriptedModel, server: ScriptServer) -> None:
        self.folder = folder
        self.model = model
        (folder / "toolsmith.toml").write_text(
            f'[models.fast]\nmodel = "openai-chat:x"\nbase_url = "{server.url("openai-chat")}"\n'
            'api_key_env = "SHOP_API_KEY"\n\n'
            '[agents.support]\nmodel = "fast"\ntools = ["shop:refund"]\ninstructions = "You help customers."\n'
            "limits = { turns = 2 }\n"
        )

    @contextmanager
    def start(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        terminal: bool = False,
    ) -> Generator[subprocess.Popen[str]]:
        """Begin a command; `terminal` makes its standard input the terminal that Ctrl-C comes from."""
        with subprocess.Popen(
            [sys.executable, "-m", "toolsmith", *words],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            text=True,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=terminal,
            preexec_fn=_take_terminal if terminal else None,
        ) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """A whole command: its exit code, standard output and standard error."""
        with self.start(*words, env=env) as process:
            out, err = process.communicate(timeout=60)
            return process.returncode, out, err

    def system_text(self, request: int = 0) -> str:
        first = self.model.requests[request].body["messages"][0]
        return first["content"] if first["role"] in ("system", "developer") else ""

    def offered(self, request: int = 0) -> list[str]:
        return [t["function"]["name"] for t in self.model.requests[request].body.get("tools", [])]


@pytest.fixture
def scripted(folder: Path) -> Iterator[Any]:
    """Call it with a script; gives the command line in a project that runs on that script."""
    servers: list[ScriptServer] = []

    def make(*script: Any) -> Shop:
        model = ScriptedModel(list(script))
        servers.append(model.serve().__enter__())
        return Shop(folder, model, servers[-1])

    yield make
    for server in servers:
        server.__exit__(None, None, None)


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


class TestRun:
    def test_the_answer_alone_is_on_standard_output(self, scripted: Any) -> None:
        """Not even what tools, their subprocesses and imported modules print."""
        shop = scripted(call("add", a=19, b=23), say("It is 42."))
        code, out, err = shop.run("run", "shop:registry", "--profile", "fast", "19 + 23?")
        assert (code, out) == (0, "It is 42.\n"), err
        for noise in ("while importing", "from a tool", "from a subprocess"):
            assert f"noise {noise}" in err
        shop.model.assert_exhausted()

    def test_the_trace_shows_each_call_as_it_happens(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted([call("add", a=1, b=2), call("refund", order="unknown")], say("Done."))
        assert main(["run", "shop:registry", "--profile", "fast", "Do both."]) == 0
        err = capsys.readouterr().err
        assert "[1] → add(a=1, b=2)" in err
        assert '[2] → refund(order="unknown")' in err
        assert re.search(r"\[1\] ✓ add \(\d+ ms\)\n      3\n", err)
        assert re.search(r"\[2\] ✗ refund \(\d+ ms\)\n      .*There is no such order", err)
        assert re.search(r"2 turns, 2 tool calls, [\d,]+ tokens, [\d.]+ m?s\n$", err)

    def test_long_results_are_shown_in_part(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(call("refund", order="many"), say("Done."))
        assert main(["run", "shop:refund", "--profile", "fast", "Do it."]) == 0
        err = capsys.readouterr().err
        assert err.count("Order many is paid back.") == 12
        assert "more lines" in err

    def test_a_crash_of_a_tool_is_told_without_a_stack_trace(
        self, scripted: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        scripted(call("refund", order="crash"), say("It failed."))
        assert main(["run", "shop:refund", "--profile", "fast", "Do it."]) == 0
        err = capsys.readouterr().err
        assert "raised RuntimeError: the key was [secret]" in err
        assert "Tool refund failed (reference" in err
        assert "Traceback" not in err
        assert "sk-shop" not in err

    def test_verbose_shows_the_stack_trace(self, scripted: Any) -> None:
        shop = scripted(call("refund", order="crash"), say("It failed."))
        code, out, err = shop.run("run", "-v", "shop:refund", "--profile", "fast", "Do it.")
        assert (code, out) == (0, "It failed.\n")
        assert "Traceback" in err

    def test_quiet(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(call("add", a=1, b=2), say("3"))
        assert main(["run", "-q", "shop:add", "--profile", "fast", "1 + 2?"]) == 0
        captured = capsys.readouterr()
        assert captured.out.splitlines()[-1] == "3"
        assert captured.err == ""

    def test_terminal_codes_are_written_out(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        """What a model or a tool says cannot steer the terminal."""
        scripted(call("plain", word="\x1b]0;owned\x07"), say("Done."))
        assert main(["run", "shop:plain", "--profile", "fast", "Do it."]) == 0
        err = capsys.readouterr().err
        assert "\x1b" not in err
        assert "\\x1b" in err

    def test_an_answer_survives_a_poor_encoding(self, scripted: Any) -> None:
        shop = scripted(say("naïve → 42 😀"))
        code, out, _ = shop.run("run", "--profile", "fast", "Hi.", env={"PYTHONIOENCODING": "ascii"})
        assert (code, out) == (0, "na\\xefve \\u2192 42 \\U0001f600\n")

    def test_who_stops_reading_gets_no_stack_trace(self, scripted: Any) -> None:
        shop = scripted(say("Hello."))
        read, write = os.pipe()
        os.close(read)
        with shop.start("run", "--profile", "fast", "Hi.", stdout=write) as process:
            os.close(write)
            _, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        assert "Exception ignored" not in err

    @pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-", ">/dev/full"])
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no such device")
    def test_streams_that_are_closed_or_full(self, scripted: Any, stream: str) -> None:
        """What is closed gives and takes nothing; what cannot be written is told. No stack trace."""
        shop = scripted(say("Hello."))
        words = f'"{sys.executable}" -m toolsmith run --profile fast "Hi." {stream}'
        done = subprocess.run(["sh", "-c", words], cwd=shop.folder, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        if stream == ">/dev/full":
            assert done.returncode == 1
            assert "the output cannot be written: No space left on device." in done.stderr
        else:
            assert (done.returncode, done.stdout) == (0, "" if stream == ">&-" else "Hello.\n"), done.stderr

    @pytest.mark.parametrize("verb", ["run", "simulate"])
    def test_interrupted_while_importing(self, folder: Path, verb: str) -> None:
        (folder / "slow.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n")
        command = [sys.executable, "-m", "toolsmith", verb, "slow:tool", *(["Hi."] if verb == "run" else [])]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (130, "")
        assert "nterrupted" in done.stderr
        assert "Traceback" not in done.stderr

    def test_interrupted(self, scripted: Any) -> None:
        """Ctrl-C ends at once, though a tool sits in a blocking call."""
        shop = scripted(call("wait", seconds=50))
        with shop.start(
            "run", "shop:wait", "--profile", "fast", "--json", "Wait.", stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            assert any("tool_call_ready" in line for line in iter(process.stdout.readline, ""))
            time.sleep(0.2)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert time.monotonic() - began < 5
        assert lines_of(out)[-1]["exit_code"] == 130


class TestJson:
    def test_each_event_is_a_line_and_the_last_is_the_end(self, scripted: Any) -> None:
        shop = scripted(call("add", a=19, b=23), say("It is 42 → done."))
        code, out, err = shop.run("run", "--json", "shop:registry", "--profile", "fast", "19 + 23?")
        assert code == 0, err
        events = lines_of(out)
        assert [e["event"] for e in events] == [
            "run_started",
            "tool_call_ready",
            "tool_result_ready",
            "turn_ended",
            "turn_ended",
            "end",
        ]
        assert events[1]["name"] == "add"
        assert json.loads(events[1]["arguments"]) == {"a": 19, "b": 23}
        assert events[2] | {"seconds": 0} == {
            "event": "tool_result_ready",
            "id": events[1]["id"],
            "name": "add",
            "success": True,
            "data": 42,
            "error": None,
            "notes": [],
            "ran": True,
            "seconds": 0,
            "exception": None,
        }
        end = events[-1]
        assert (end["output"], end["stop_reason"], end["exit_code"], end["error"]) == (
            "It is 42 → done.",
            "end",
            0,
            None,
        )
        assert (end["turns"], end["calls"]) == (2, 1)
        assert end["usage"]["total_tokens"] > 0

    def test_failures_are_lines_too(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(fail("auth"))
        assert main(["run", "--json", "--profile", "fast", "Hi."]) == 3
        end = lines_of(capsys.readouterr().out)[-1]
        assert (end["event"], end["exit_code"], end["output"]) == ("end", 3, None)
        assert (end["error"]["type"], end["error"]["category"], end["error"]["status"]) == (
            "ProviderError",
            "auth",
            401,
        )

    def test_every_problem_of_the_settings(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "toolsmith.toml").write_text("[models.fast]\nmodle = 1\n")
        assert main(["run", "--json", "--profile", "fast", "Hi."]) == 2
        (end,) = lines_of(capsys.readouterr().out)
        assert end["error"]["type"] == "ConfigError"
        assert len(end["error"]["problems"]) == 2

    def test_secrets_are_masked(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(call("plain", word="sk-shop-0123456789"), say("Your key is sk-shop-0123456789."))
        assert main(["run", "--json", "shop:plain", "--profile", "fast", "Hi."]) == 0
        out = capsys.readouterr().out
        assert "sk-shop-0123456789" not in out
        assert lines_of(out.partition("\n")[2])[-1]["output"] == "Your key is [secret]."


class TestExitCodes:
    def test_no_answer(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(refuse("I cannot help with that."))
        assert main(["run", "--profile", "fast", "Hi."]) == 1
        assert "The run ended without an answer: refusal" in capsys.readouterr().err

    def test_an_answer_that_was_cut_off(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        """What there is of it is printed, and the exit code says that it is not all."""
        scripted(turn(say("Once upon"), stop="length"))
        assert main(["run", "--profile", "fast", "A story."]) == 1
        captured = capsys.readouterr()
        assert captured.out == "Once upon\n"
        assert "length" in captured.err

    def test_out_of_turns_is_an_answer_with_a_remark(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(call("refund", order="1"), call("refund", order="2"), say("Two are paid back."))
        assert main(["run", "--agent", "support", "All orders."]) == 0
        captured = capsys.readouterr()
        assert captured.out.endswith("Two are paid back.\n")
        assert "turn limit" in captured.err

    def test_a_service_that_answers_html(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(html())
        assert main(["run", "--profile", "fast", "Hi."]) == 3
        assert "Traceback" not in capsys.readouterr().err

    def test_a_service_that_is_not_there(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The attempts are seen as they are made, and the address is named."""
        (folder / "toolsmith.toml").write_text(
            '[models.fast]\nmodel = "openai-chat:x"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "SHOP_API_KEY"\n'
        )
        assert main(["run", "--profile", "fast", "Hi."]) == 3
        err = capsys.readouterr().err
        assert "Attempt 1 failed; again in" in err
        assert "http://127.0.0.1:9/v1" in err.splitlines()[-1]

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["run", "shop:refnd", "Hi."], "Did you mean 'refund'?"),
            (["run", "shp:refund", "Hi."], "Did you mean 'shop:refund'?|Did you mean 'shop'?"),
            (["run", "shop.py:refnd", "Hi."], "Did you mean 'refund'?"),
            (["run", "shpo.py:refund", "Hi."], "Did you mean 'shop.py'?"),
            (["run", f"{'x' * 300}.py:refund", "Hi."], "There is no file "),
            (["run", "shop:price", "Hi."], "shop:price is of type int"),
            (["run", "shop:agent", "shop:other", "Hi."], "one agent"),
            (["run", "Hi,", "how are you?"], "names no Python object"),
            (["run", "Hi there,", "you?"], "in quotes"),
            (["run", "shop:refund"], "there is no prompt ('shop:refund' names a tool)"),
            (["run"], "there is no prompt"),
            (["run", "shop:refund", " "], "the prompt is empty"),
            (["run", "shop:refund", ""], "the prompt is empty"),
            (["run", "-"], "stands for the text of standard input"),
            (["run", "Hi", "shop:refund"], "put it before the prompt"),
            (["run", "How are you?", "shop:refund"], "Tools stand before the prompt"),
            (["run", "shop.refund", "How are you?"], "'shop.refund' names no Python object"),
            (["run", "shop.py", "How are you?"], "shop.py:NAME"),
            (["run", "shop.py"], "shop.py:NAME"),
            (["run", "shop", "add", "2", "and", "3"], "'shop' is a module here"),
            (["run", "tools/shop:refund", "Hi"], "a module's name, with dots"),
            (["run", "openai:gpt-6-astra", "How are you?"], "write --model openai:gpt-6-astra"),
            (["chat", "local:smollm2"], "write --model local:smollm2"),
            (["chat", "Hi,", "how are you?"], "in quotes"),
            (["run", "--model", "", "Hi."], "--model is empty"),
            (["chat", "--config", " "], "--config is empty"),
            (["run", "caf\udce9"], "the prompt is no text: there is a byte at position 3"),
            (["run", "--instructions", "\udce9", "Hi."], "--instructions is no text"),
            (["run", "shop:prices", "Hi."], "shop:prices holds a value of type int: no tool and no function"),
            (["run", "--model", "antropic:claude", "Hi."], "Did you mean 'anthropic'?"),
            (["run", "--model", "fsat", "Hi."], "Did you mean 'fast'?"),
            (["run", "--profile", "fsat", "Hi."], "Did you mean 'fast'?"),
            (["run", "--profile", "openai:x", "Hi."], "write --model"),
            (["run", "--agent", "suport", "Hi."], "Did you mean 'support'?"),
            (["run", "--config", "gone.toml", "Hi."], "gone.toml: cannot be read"),
            (["run", "--model", "anthropic:claude-opus-5-5", "Hi."], "ANTHROPIC_API_KEY"),
            (["run", "--model", "openai:gpt-6-astra", "Hi."], "OPENAI_API_KEY"),
            (["chat", "shop:refnd"], "Did you mean 'refund'?"),
        ],
    )
    def test_usage_and_settings(
        self,
        scripted: Any,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        words: Sequence[str],
        expected: str,
    ) -> None:
        scripted()
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        assert main(words) == 2
        err = capsys.readouterr().err
        assert any(text in err for text in expected.split("|")), err
        assert "Traceback" not in err

    def test_what_is_wrong_is_told_at_once(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """In the settings file, in the names that its agent's tools have, and in those of the command line."""
        (folder / "desk.py").write_text("def lend(book: str) -> None: ...\n")
        (folder / "toolsmith.toml").write_text('[agents.shop]\ntools = ["desk.py:lnd"]\nturns = 3\n')
        assert main(["run", "--agent", "shop", "desk.py:lent", "Hi."]) == 2
        err = capsys.readouterr().err
        assert "turns" in err
        assert "desk.py:lnd" in err
        assert "desk.py:lent" in err
        assert main(["run", "--agent", "shp", "Hi."]) == 2
        err = capsys.readouterr().err
        assert "turns" in err
        assert "there is no agent 'shp'. Did you mean 'shop'?" in err

    def test_a_setting_without_a_file(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for words in (["--agent", "support"], ["--profile", "fast"]):
            assert main(["run", *words, "Hi."]) == 2
            err = capsys.readouterr().err
            assert str(folder) in err
            assert "TOOLSMITH_CONFIG" in err

    def test_a_missing_key_names_its_variable(
        self, scripted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        scripted()
        monkeypatch.delenv("SHOP_API_KEY")
        assert main(["run", "--profile", "fast", "Hi."]) == 2
        assert "export SHOP_API_KEY=" in capsys.readouterr().err

    def test_a_function_that_cannot_be_a_tool(
        self, folder: Path, scripted: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "odd.py").write_text("def odd(x):\n    '''No annotation.'''\n")
        scripted()
        assert main(["run", "odd.py:odd", "--profile", "fast", "Hi."]) == 2
        assert "odd.py:1" in capsys.readouterr().err

    @pytest.mark.parametrize("words", [["--bogus"], ["walk"], ["run", "--bogus"], ["run", "--json", "-q", "Hi."]])
    def test_wrong_options(self, words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2
        assert "usage: toolsmith" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["run", "--modle", "x"], "there is no option --modle. Did you mean --model?"),
            (["run", "--modle=x"], "there is no option --modle. Did you mean --model?"),
            (["run", "-m", "x", "Hi."], "there is no option -m. Did you mean --model?"),
            (["run", "--system", "Be brief.", "Hi."], "Did you mean --instructions?"),
            (["run", "--where", "a=b"], "It is one of toolsmith rag."),
            (["run", "-x"], "stand behind --"),
            (["chat", "--profil", "x", "--quite"], "there is no option --quite. Did you mean --quiet?"),
            (["simulate", "--starct", "shop:add"], "there is no option --starct. Did you mean --strict?"),
            (["simulate", "--provider", "opnai", "shop:add"], "there is no 'opnai'; there are: anthropic, openai"),
            (["rag", "search", "--lmit", "3"], "there is no option --lmit. Did you mean --limit?"),
            (["rag", "search", "x", "--limit", "many"], "'many' must be 1 to 100"),
            (
                ["rag", "serach", "x"],
                "there is no 'serach'; there are: add, search, stats, remove. Did you mean search?",
            ),
            (["rnu", "Hi."], "Did you mean run?"),
            (["How are you?"], 'For a prompt: toolsmith run "PROMPT".'),
            (["--model", "fast", "run", "Hi."], "write toolsmith run --model ..."),
            (["version"], "Did you mean --version?"),
            (["--verson"], "there is no option --verson. Did you mean --version?"),
        ],
        ids=str,
    )
    def test_what_was_meant_is_told(
        self, folder: Path, capsys: pytest.CaptureFixture[str], words: Sequence[str], told: str
    ) -> None:
        """A misspelt option, command or choice names the one that is near, in every command."""
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2
        err = capsys.readouterr().err
        assert err.startswith("usage: toolsmith")
        assert told in err

    @pytest.mark.parametrize("words", [["--modle", "x"], [], ["shop.py", "Hi there"]], ids=" ".join)
    @pytest.mark.parametrize("verb", ["run", "simulate", "rag"])
    def test_machines_are_told_of_a_wrong_command_line_too(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        verb: str,
        words: Sequence[str],
    ) -> None:
        """The last line has the exit code, whatever is wrong."""
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        try:
            code = main([verb, *words, "--json"])
        except SystemExit as error:
            code = error.code
        assert code == 2
        assert lines_of(capsys.readouterr().out)[-1]["exit_code"] == 2

    def test_no_words_at_all(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([]) == 2
        assert "usage: toolsmith" in capsys.readouterr().err

    def test_help_documents_the_exit_codes(self, capsys: pytest.CaptureFixture[str]) -> None:
        for words in (["--help"], ["run", "--help"], ["chat", "--help"]):
            with pytest.raises(SystemExit) as caught:
                main(words)
            assert caught.value.code == 0
            out = capsys.readouterr().out
            assert all(re.search(rf"^  {code} ", out, re.MULTILINE) for code in (0, 1, 2, 3, 130))

    def test_help_as_a_word(self, capsys: pytest.CaptureFixture[str]) -> None:
        for words, told in ((["help"], "commands:"), (["help", "chat"], "toolsmith chat [options]")):
            with pytest.raises(SystemExit) as caught:
                main(words)
            assert caught.value.code == 0
            assert told in capsys.readouterr().out

    def test_version(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "toolsmith", "--version"], capture_output=True, text=True, check=True
        )
        assert done.stdout == f"toolsmith {__version__}\n"


class TestWhatIsRun:
    def test_tools_of_every_form(self, scripted: Any) -> None:
        """Functions, tools, lists and registries, by module or by file; options may stand anywhere between them."""
        shop = scripted(say("Hello."))
        assert main(["run", "shop:both", "--profile", "fast", "shop:wait", "-q", "shop.py:refund", "Hi."]) == 0
        assert shop.offered() == ["add", "plain", "wait", "refund"]

    def test_an_agent_of_a_module(self, scripted: Any) -> None:
        shop = scripted(say("Hello."))
        assert main(["run", "shop:agent", "Hi."]) == 0
        assert shop.offered() == ["refund"]
        assert shop.system_text() == "You help customers."

    def test_an_agent_of_the_settings(self, scripted: Any) -> None:
        shop = scripted(say("Hello."))
        assert main(["run", "--agent", "support", "Hi."]) == 0
        assert shop.offered() == ["refund"]
        assert shop.system_text() == "You help customers."

    def test_an_agent_with_more_tools_another_model_and_other_instructions(
        self, scripted: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What the command line says wins; the rest stays the agent's, and its observers are told too."""
        shop = scripted(call("plain", word="abc"), say("Done."))
        words = ["run", "shop:agent", "shop:plain", "--model", "fast", "--instructions", "Be brief.", "Hi."]
        assert main(words) == 0
        assert shop.offered() == ["refund", "plain"]
        assert shop.system_text() == "Be brief."
        assert "→ plain" in capsys.readouterr().err

    def test_the_model_of_the_environment(self, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        scripted(say("Hello."), say("Hello."))
        monkeypatch.setenv("TOOLSMITH_MODEL", "fast")
        assert main(["run", "Hi."]) == 0
        assert main(["run", "--config", "toolsmith.toml", "shop:add", "Hi."]) == 0

    def test_the_prompt_from_standard_input(self, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        shop = scripted(say("Hello."), say("Hello."))
        for words in (["shop:add"], ["shop:add", "-"]):
            monkeypatch.setattr("sys.stdin", io.StringIO("A long\nquestion.\n"))
            assert main(["run", "--profile", "fast", *words]) == 0
            assert shop.model.requests[-1].body["messages"][-1]["content"] == "A long\nquestion."

    def test_a_text_from_standard_input_behind_the_prompt(self, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only where "-" asks for it: what is open there by chance must not be waited for."""
        shop = scripted(say("Short."), say("Short."))
        monkeypatch.setattr("sys.stdin", io.StringIO("A long\ntext.\n"))
        assert main(["run", "--profile", "fast", "Make it short:"]) == 0
        assert main(["run", "--profile", "fast", "Make it short:", "-"]) == 0
        prompts = [request.body["messages"][-1]["content"] for request in shop.model.requests]
        assert prompts == ["Make it short:", "Make it short:\n\nA long\ntext."]

    @pytest.mark.parametrize(
        ("words", "prompt"),
        [
            (["what", "is", "2+2"], "what is 2+2"),
            (["shop:add", "what", "is", "2+2"], "what is 2+2"),
            (["what", "is", "--instructions", "Be brief.", "in", "here:", "5", "-", "3"], "what is in here: 5 - 3"),
            (["--", "--help", "me"], "--help me"),
            (["shop:add", "--", "-5"], "-5"),
            (["-5 + 3?"], "-5 + 3?"),
            (["shop:add", "explain shop.py:main and gone.py:add"], "explain shop.py:main and gone.py:add"),
            (["12:30", "is", "noon"], "12:30 is noon"),
            (["Translate:", "hello"], "Translate: hello"),
            ([f"{'very ' * 99}long: what is in long.py:main"], f"{'very ' * 99}long: what is in long.py:main"),
            ([f"{'x' * 300}:5", "and", "so", "on"], f"{'x' * 300}:5 and so on"),
        ],
        ids=str,
    )
    def test_a_prompt_without_quotes(
        self, scripted: Any, monkeypatch: pytest.MonkeyPatch, words: Sequence[str], prompt: str
    ) -> None:
        """Words that cannot be the names of tools are the prompt, as in other programs for models."""
        shop = scripted(say("Hello."))
        monkeypatch.setenv("TOOLSMITH_MODEL", "fast")
        assert main(["run", "-q", *words]) == 0
        assert shop.model.requests[-1].body["messages"][-1]["content"] == prompt


class TestApproval:
    def test_without_a_person_the_run_ends_there(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(call("pay", amount=7))
        assert main(["run", "shop:pay", "--profile", "fast", "Pay 7."]) == 1
        err = capsys.readouterr().err
        assert "pay waits for approval" in err
        assert "The run ended without an answer: approval" in err
        assert "run it at a terminal, or with an agent that has approve=..." in " ".join(err.split())

    def test_machines_are_told_which_calls_wait(self, scripted: Any, capsys: pytest.CaptureFixture[str]) -> None:
        scripted(call("pay", amount=7))
        assert main(["run", "--json", "shop:pay", "--profile", "fast", "Pay 7."]) == 1
        end = lines_of(capsys.readouterr().out.partition("\n")[2])[-1]
        assert [(c["name"], c["arguments"]) for c in end["pending"]] == [("pay", {"amount": 7})]

    def test_at_a_terminal_the_user_is_asked(self, scripted: Any) -> None:
        """Only a yes is a yes; words are the reason for a no, which the model is told; half a yes is asked about."""
        pty = pytest.importorskip("pty")
        question = "Run it? [y/N, or why not] "
        answers = {
            "y": "paid 1",
            " Yes. ": "paid 2",
            "": "the user did not allow it. Do not",
            "No": "the user did not allow it. Do not",
            "no, use the other account": "Their reason: no, use the other account.",
            "yes, but only 5\nTake 5": "Their reason: Take 5.",
            "ok\ny": "paid 7",
        }
        shop = scripted([call("pay", amount=n + 1) for n in range(len(answers))], say("That is all."))
        ours, theirs = pty.openpty()
        words = ("run", "shop:pay", "--profile", "fast", "Pay.")
        with shop.start(*words, stdin=theirs, stderr=theirs, terminal=True) as process:
            os.close(theirs)
            screen = Screen(ours)
            for number, typed in enumerate(answers, 1):
                screen.expect(f"pay(amount={number}) needs your approval.")
                first, *again = typed.split("\n")
                screen.expect(question)
                screen.type(f"{first}\n")
                for more in again:
                    screen.expect("y alone runs it as it is; n or anything else does not.")
                    screen.expect(question)
                    screen.type(f"{more}\n")
            screen.expect("turns")
            out, _ = process.communicate(timeout=20)
        os.close(ours)
        assert (process.returncode, out) == (0, "That is all.\n")
        told = [m["content"] for m in shop.model.requests[-1].body["messages"] if m["role"] == "tool"]
        for expected, heard in zip(answers.values(), told, strict=True):
            assert expected in heard
            assert ("paid" in heard) == ("paid" in expected)


def test_an_agent_that_is_changed_keeps_all_its_other_settings() -> None:
    """A new option of `Agent` must be carried over by `cli/_assemble.py` too."""
    given = {"model", "observers", "tools", "instructions"}
    among_the_tools = {"rag", "web"}
    taken_over = {"name", "limits", "settings", "parallel_tool_calls", "output_type", "approve", "expose_errors"}
    taken_over |= {"untrusted", "paging", "feedback"}
    within_limits = {"max_calls_per_run", "tool_timeout"}
    assert set(inspect.signature(Agent).parameters) == given | among_the_tools | taken_over | within_limits


class TestChat:
    def test_lines_of_standard_input_are_one_conversation(
        self, scripted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shop = scripted(say("Hello."), say("You said hi."), say("Who?"))
        monkeypatch.setattr("sys.stdin", io.StringIO("Hi.\n\nWhat did I say?\n/tools\n/help\n/reset\nAnd now?\n"))
        assert main(["chat", "shop:add", "--profile", "fast"]) == 0
        captured = capsys.readouterr()
        assert captured.out.splitlines()[-3:] == ["Hello.", "You said hi.", "Who?"]
        assert "add: Add two whole numbers." in captured.err
        assert [len(r.body["messages"]) for r in shop.model.requests] == [1, 3, 1]

    def test_a_first_message(self, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Given with the command, in quotes or without; the conversation goes on from it."""
        shop = scripted(say("Hello."), say("You said hi."))
        monkeypatch.setattr("sys.stdin", io.StringIO("What did I say?\n"))
        assert main(["chat", "shop:add", "--profile", "fast", "Hi", "there"]) == 0
        said = [m["content"] for m in shop.model.requests[-1].body["messages"]]
        assert said == ["Hi there", "Hello.", "What did I say?"]

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("/nope", "There is no command /nope. The commands are /tools (lists the tools), "),
            ("/rest", "There is no command /rest. Did you mean /reset?"),
            ("/save the file", "There is no command /save."),
            ("/", "There is no command /."),
            ("/tools add", "/tools stands alone on its line."),
        ],
    )
    def test_a_wrong_command_is_not_sent_to_the_model(
        self, scripted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, told: str
    ) -> None:
        shop = scripted(say("Hello."), say("Hello."))
        for how in ("-q", "--json"):
            monkeypatch.setattr("sys.stdin", io.StringIO(f"{line}\nHi.\n"))
            assert main(["chat", how, "--profile", "fast"]) == 0
        assert [request.body["messages"][-1]["content"] for request in shop.model.requests] == ["Hi.", "Hi."]
        captured = capsys.readouterr()
        assert told in captured.err
        ends = [one for one in lines_of(captured.out.partition("\n")[2]) if one["event"] == "end"]
        assert [end["exit_code"] for end in ends] == [2, 0]
        assert ends[0]["error"]["message"].startswith(told)

    @pytest.mark.parametrize(
        ("line", "sent"),
        [
            ("/etc/hosts is what?", "/etc/hosts is what?"),
            ("// what does this comment mean?", "// what does this comment mean?"),
            (" /tmp is full", "/tmp is full"),
            (" /quit", "/quit"),
            ("/.bashrc does what?", "/.bashrc does what?"),
        ],
    )
    def test_lines_with_a_slash_that_the_model_is_to_read(
        self, scripted: Any, monkeypatch: pytest.MonkeyPatch, line: str, sent: str
    ) -> None:
        """A path has a second slash, or a space before it."""
        shop = scripted(say("Hello."))
        monkeypatch.setattr("sys.stdin", io.StringIO(line))
        assert main(["chat", "--profile", "fast"]) == 0
        assert shop.model.requests[-1].body["messages"][-1]["content"] == sent

    def test_a_line_that_is_no_text(
        self, scripted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The others are answered."""
        shop = scripted(say("Hello."), say("Bye."))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Hi.\n\xff\xfe\nBye.\n"), encoding="utf-8"))
        assert main(["chat", "-q", "--profile", "fast"]) == 0
        assert (
            capsys.readouterr().err == "toolsmith: this is no text: there is a byte at position 0 that is no UTF-8.\n"
        )
        assert len(shop.model.requests) == 2

    def test_what_was_asked_for_is_shown_though_quiet(
        self, scripted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Commands answer machines too; their case does not matter."""
        scripted()
        for how in ("-q", "--json"):
            monkeypatch.setattr("sys.stdin", io.StringIO("/TOOLS\n/reset\n/exit\nHi.\n"))
            assert main(["chat", "shop:add", how, "--profile", "fast"]) == 0
        captured = capsys.readouterr()
        assert captured.err == "add: Add two whole numbers.\nThe conversation is forgotten.\n"
        told = [one for one in captured.out.splitlines() if "Add two" in one]
        assert json.loads(told[0]) == {"event": "command", "text": "add: Add two whole numbers."}

    def test_quit(self, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        shop = scripted(say("Hello."))
        monkeypatch.setattr("sys.stdin", io.StringIO("Hi.\n/quit\nStill there?\n"))
        assert main(["chat", "--profile", "fast"]) == 0
        assert len(shop.model.requests) == 1

    def test_a_failed_turn_does_not_end_the_conversation(
        self, scripted: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shop = scripted(say("Hello."), fail("auth"), say("Better now."))
        monkeypatch.setattr("sys.stdin", io.StringIO("Hi.\nAgain.\nOnce more.\n"))
        assert main(["chat", "--json", "--profile", "fast"]) == 0
        ends = [e for e in lines_of(capsys.readouterr().out) if e["event"] == "end"]
        assert [e["exit_code"] for e in ends] == [0, 3, 0]
        assert [m["content"] for m in shop.model.requests[-1].body["messages"]] == ["Hi.", "Hello.", "Once more."]

    def test_at_a_terminal(self, scripted: Any, folder: Path) -> None:
        """Ctrl-C cancels the turn and not the conversation, Ctrl-D leaves, and what was typed is kept.

        So are calls that may have had an effect: the model is told that the user cancelled them.
        """
        pty = pytest.importorskip("pty")
        shop = scripted(say("Hello there."), call("wait", seconds=50), say("Still here."))
        ours, theirs = pty.openpty()
        env = {"XDG_STATE_HOME": str(folder / "state"), "TERM": "xterm"}
        with shop.start(
            *("chat", "shop:wait", "--profile", "fast", "Hi."),
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            terminal=True,
        ) as process:
            os.close(theirs)
            screen = Screen(ours)
            screen.expect("> Hi.\r\n")
            screen.expect("Hello there.")
            screen.expect("> ")
            screen.type("Wait.\n")
            screen.expect("wait(seconds=50")
            screen.type("\x03")
            screen.expect("The turn is cancelled; the model is told which calls were begun.")
            screen.expect("> ")
            screen.type("Still there?\n")
            screen.expect("Still here.")
            screen.expect("> ")
            screen.type("\x04")
            process.wait(timeout=20)
        os.close(ours)
        assert process.returncode == 0
        messages = shop.model.requests[-1].body["messages"]
        contents = [m["content"] for m in messages if m["role"] != "tool"]
        assert contents == ["Hi.", "Hello there.", "Wait.", None, "Still there?"]
        assert re.search("cancelled|not run", messages[-2]["content"])  # as far as it had come
        history = folder / "state/toolsmith/history"
        assert [line for line in history.read_text().splitlines() if not line.startswith("_")] == [
            "Hi.",
            "Wait.",
            "Still there?",
        ]
        assert history.stat().st_mode & 0o077 == 0


class TestLive:
    """At a terminal the words of the model are shown as they come."""

    LONG = " ".join(f"word{n}" for n in range(40))

    @pytest.mark.parametrize("chat", [False, True], ids=["run", "chat"])
    def test_words_come_one_by_one_and_once(self, scripted: Any, chat: bool) -> None:
        """Also those between calls, on lines of their own; a spinner while nothing comes, the account at the end."""
        slow = deliver(say(self.LONG), pace=0.02, chop=6)
        shop = scripted([say("I add them."), call("add", a=1, b=2)], slow)
        words = ("chat", "shop:add") if chat else ("run", "shop:add", "1 + 2?")
        with at_terminal(shop, *words, "--profile", "fast") as screen:
            if chat:
                screen.expect("> ")
                screen.type("1 + 2?\n")
            screen.expect("working")
            screen.expect("I add them.\r\n")
            screen.expect("add(a=1, b=2)")
            screen.expect("word0")
            begun = time.monotonic()
            between = screen.expect("word39")
            assert time.monotonic() - begun > 0.4
            assert between.count("word38") == 1
            assert "word" not in screen.expect("2 turns, 1 tool call")
            if chat:
                screen.expect("> ")
                screen.type("\x04")
        assert [request.streamed for request in shop.model.requests] == [True, True]

    def test_elsewhere_the_answer_comes_at_once(self, scripted: Any) -> None:
        """So that it can be asked for again when the connection breaks, as long as nobody has seen its beginning."""
        shop = scripted([say("I add them."), call("add", a=1, b=2)], say("3"))
        assert shop.run("run", "shop:add", "--profile", "fast", "1 + 2?")[:2] == (0, "3\n")
        assert not any(request.streamed for request in shop.model.requests)

    def test_secrets_are_masked_though_they_come_in_pieces(self, scripted: Any) -> None:
        shop = scripted(deliver(say("The key is sk-shop-0123456789, and sk-shop- is none."), chop=3))
        with at_terminal(shop, "run", "--profile", "fast", "Key?") as screen:
            screen.expect("The key is [secret], and sk-shop- is none.\r\n")

    def test_an_end_that_might_have_become_a_secret(self, scripted: Any) -> None:
        """What was held back is shown when nothing follows."""
        shop = scripted([say("It begins with sk-sho"), call("add", a=1, b=2)], say("sk"))
        with at_terminal(shop, "run", "shop:add", "--profile", "fast", "Key?") as screen:
            screen.expect("It begins with sk-sho\r\n")
            screen.expect("sk\r\n")

    def test_terminal_codes_are_written_out(self, scripted: Any) -> None:
        shop = scripted(deliver(say("a\x1b[2Jb"), chop=1))
        with at_terminal(shop, "run", "--profile", "fast", "x") as screen:
            screen.expect("a\\x1b[2Jb")

    def test_ctrl_c_in_the_middle_of_words(self, scripted: Any) -> None:
        """The turn is cancelled on a new line; the conversation goes on without it."""
        shop = scripted(deliver(say(self.LONG), pace=0.3), say("Still here."))
        with at_terminal(shop, "chat", "--profile", "fast") as screen:
            screen.expect("> ")
            screen.type("Talk.\n")
            screen.expect("word1")
            screen.type("\x03")
            assert screen.expect("Interrupted.").endswith("\r\nInterrupted.")
            screen.expect("> ")
            screen.type("Still there?\n")
            screen.expect("Still here.")
            screen.expect("> ")
            screen.type("\x04")
        assert [m["content"] for m in shop.model.requests[-1].body["messages"]] == ["Still there?"]

    def test_ctrl_c_in_a_single_run(self, scripted: Any) -> None:
        shop = scripted(deliver(say(self.LONG), pace=0.3))
        with at_terminal(shop, "run", "--profile", "fast", "Talk.", code=130) as screen:
            screen.expect("word1")
            screen.type("\x03")
            assert screen.expect("Interrupted.").endswith("\r\nInterrupted.")

    def test_a_service_that_fails_in_the_middle_of_words(self, scripted: Any) -> None:
        """They stay where they are; the error stands on a line of its own, and its exit code holds."""
        shop = scripted(deliver(say("Hello there, you"), error="overloaded", error_after=2))
        with at_terminal(shop, "run", "--profile", "fast", "Hi.", code=3) as screen:
            screen.expect("Hello")
            assert screen.expect("toolsmith: openai-chat:x").endswith("\r\ntoolsmith: openai-chat:x")

    def test_typed_answers_are_shown_whole(self, scripted: Any) -> None:
        """What the service makes of them is not for people."""
        shop = scripted(call("final_answer", answer=3))
        shop.folder.joinpath("typed.py").write_text(
            "from toolsmith import Agent\nagent = Agent('fast', output_type=int)\n"
        )
        with at_terminal(shop, "run", "typed:agent", "1 + 2?") as screen:
            screen.expect("3\r\n")
        assert not shop.model.requests[0].streamed

    @given(st.lists(st.sampled_from(["abc1", "abc12", "c1a", "a", "b", "c", "1", "2", " "])), st.data())
    def test_no_way_to_cut_a_text_shows_a_secret(self, pieces: list[str], data: st.DataObject) -> None:
        """Law: what is shown of a stream holds no secret whole, and of a text without secrets it shows all."""
        secrets = ("abc123", "abc12", "2c1a")
        text = "".join(pieces)
        with patch.dict(os.environ, {f"SECRET{n}": value for n, value in enumerate(secrets)}):
            mask = Mask(["SECRET0", "SECRET1", "SECRET2"])
        shown, held = "", ""
        for piece in cut_up(text, data):
            more, held = mask.stream(held + piece)
            shown += more
        assert not any(secret in shown for secret in secrets)
        if not any(secret in text for secret in secrets):
            assert shown + held == text


def cut_up(text: str, data: st.DataObject) -> Iterator[str]:
    while text:
        size = data.draw(st.integers(1, len(text)))
        yield text[:size]
        text = text[size:]


@contextmanager
def at_terminal(shop: Shop, *words: str, code: int = 0) -> Generator[Screen]:
    """A command that has a terminal for all three streams; it must end with this exit code."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    env = {"XDG_STATE_HOME": str(shop.folder / "state"), "TERM": "xterm", "COLUMNS": "400"}
    with shop.start(*words, env=env, stdin=theirs, stdout=theirs, stderr=theirs, terminal=True) as process:
        os.close(theirs)
        yield Screen(ours)
        process.wait(timeout=20)
    os.close(ours)
    assert process.returncode == code


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """A terminal seen from its other end."""

    def __init__(self, end: int) -> None:
        self._end = end
        self._seen = ""

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def expect(self, text: str) -> str:
        """Read on until `text` has come, and past it; gives what came, up to and with it, without colours."""
        import select

        until = time.monotonic() + 20
        while text not in self._seen:
            ready, _, _ = select.select([self._end], [], [], max(until - time.monotonic(), 0))
            assert ready, f"{text!r} did not come; the screen shows:\n{self._seen}"
            self._seen += _CODES.sub("", os.read(self._end, 4096).decode(errors="replace"))
        before, _, self._seen = self._seen.partition(text)
        return before + text


_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
