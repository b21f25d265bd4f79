"""Change one port in `config.json`: two tools whose words, and one enum, lead a model to the smaller one of them.

    python examples/09_edit_config.py
    python examples/09_edit_config.py --model anthropic:claude-opus-5-5

Given a tool that writes files, a model likes to write the whole file, and loses what it did not look at. Three things
keep it from that: each description names the neighbour and when to take it; `mode` has no value for changing a file in
part; and what is refused says which tool to call instead, and with what.

The model is scripted (`toolsmith.testing`), so that it surely makes each of these mistakes first. The files are real,
in a temporary folder, and the texts are those that any model would read. With `--model` a real model does the work.
"""

from __future__ import annotations

import argparse
import difflib
import json
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from toolsmith import Agent, ToolError, ToolRegistry, ToolResultReady, tool
from toolsmith.events import Event
from toolsmith.testing import ScriptedModel, call, raw_call, say

CONFIG = """\
{
  "name": "shop",
  "server": {
    "host": "0.0.0.0",
    "port": 3000,
    "workers": 4
  },
  "metrics": {
    "enabled": true,
    "port": 3000
  },
  "features": ["search", "gift-cards"]
}
"""
TASK = "The server in config.json must listen on port 8080. The metrics stay where they are."

RelativePath = Annotated[str, Field(min_length=1, pattern=r"^[^/\\]", examples=["config.json"])]
folder = Path()


def inside(path: str) -> Path:
    """The file of a path, which must not lead out of the folder."""
    file = (folder / path).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise ToolError(f"{path} is outside of the project.", hint="Give a path within it, such as config.json.")
    return file


def lines_of(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


@tool
def read_file(path: RelativePath) -> str:
    """Read a text file of the project."""
    file = inside(path)
    if not file.is_file():
        names = ", ".join(sorted(f.name for f in folder.iterdir()))
        raise ToolError(f"There is no file {path}.", hint=f"The files are: {names}.")
    return file.read_text(encoding="utf-8")


@tool
def write_file(path: RelativePath, content: str, mode: Literal["create", "replace_all"]) -> str:
    """Write a whole file. To change a part of a file that exists, take edit_file.

    Args:
        path: within the project
        content: all of the file, from its first line to its last
        mode: "create" makes a new file, and never touches one that exists; "replace_all" throws away all that stands
            in the file
    """
    file = inside(path)
    if mode == "create" and file.exists():
        size = lines_of(len(file.read_text(encoding="utf-8").splitlines()))
        raise ToolError(f"{path} exists and has {size}, which would be lost.", use="edit_file", args={"path": path})
    if mode == "replace_all" and not file.exists():
        raise ToolError(f"There is no {path} to replace.", hint='To make a new file, send mode "create".')
    file.write_text(content, encoding="utf-8")
    return f"{path} has {lines_of(len(content.splitlines()))} now."


@tool
def edit_file(path: RelativePath, old: Annotated[str, Field(min_length=1)], new: str) -> str:
    """Change one place of a file that exists, and nothing else in it. For a new file take write_file.

    Gives back the changed lines with their numbers.

    Args:
        path: within the project
        old: the text to replace, exactly as it stands in the file, and long enough to stand there only once
        new: what to put there
    """
    text = read_file(path)
    if old == new:
        raise ToolError("`old` and `new` are the same, so nothing would change.", hint="Send in `new` what is wanted.")
    match text.count(old):
        case 0:
            raise ToolError(f"`old` does not stand in {path}.", hint=nearest_line(text, old))
        case 1:
            inside(path).write_text(text.replace(old, new), encoding="utf-8")
            first = text[: text.index(old)].count("\n")
            changed = text.replace(old, new).splitlines()[first : first + new.count("\n") + 1]
            return "\n".join(f"{number}: {line}" for number, line in enumerate(changed, first + 1))
        case many:
            places = ", ".join(str(n) for n, line in enumerate(text.splitlines(), 1) if old.split("\n")[0] in line)
            raise ToolError(
                f"`old` stands {many} times in {path}, in lines {places}.",
                hint="Send more of the lines around the one that is meant.",
            )


def nearest_line(text: str, old: str) -> str:
    """What to do about a text that is not there."""
    wanted = old.strip().splitlines()[0] if old.strip() else old
    near = difflib.get_close_matches(wanted, [line.strip() for line in text.splitlines()], n=1, cutoff=0.5)
    return f"The line most like it is `{near[0]}`: copy it exactly." if near else "Read the file first, with read_file."


tools = ToolRegistry([read_file, write_file, edit_file])

SCRIPT = [
    # A model in a strict mode could not write this one; others do.
    raw_call("write_file", '{"path": "config.json", "content": "{\\"server\\": {\\"port\\": 8080}}", "mode": "edit"}'),
    call("write_file", path="config.json", content='{"server": {"port": 8080}}', mode="create"),
    call("edit_file", path="config.json", old="port: 3000", new="port: 8080"),
    call("edit_file", path="config.json", old='"port": 3000', new='"port": 8080'),
    call("edit_file", path="config.json", old='"port": 3000,\n    "workers"', new='"port": 8080,\n    "workers"'),
    say("The server listens on port 8080 now."),
]


def show(event: Event) -> None:
    """Print each call with what the model reads of it."""
    if isinstance(event, ToolResultReady):
        print(f"{event.call.name}({event.call.arguments})")
        for line in (event.result.error or str(event.result.data)).splitlines():
            print(f"    {line}")


def main() -> None:
    global folder
    parser = argparse.ArgumentParser(description="Change one port in config.json.")
    parser.add_argument("--model", help="PROVIDER:MODEL of a real model, instead of the script")
    model = parser.parse_args().model or ScriptedModel(SCRIPT).provider("openai")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "config.json"
        config.write_text(CONFIG, encoding="utf-8")
        result = Agent(model, tools=tools, observers=[show]).run_sync(TASK)
        after = config.read_text(encoding="utf-8")
    print(f"\n{result.output}\n")
    print("".join(difflib.unified_diff(CONFIG.splitlines(True), after.splitlines(True), "before", "after", n=1)))
    wanted = json.loads(CONFIG)
    wanted["server"]["port"] = 8080
    try:
        right = json.loads(after) == wanted
    except ValueError:
        right = False
    print("The port is changed, and nothing else." if right else "This is not what was asked for.")


if __name__ == "__main__":
    main()
