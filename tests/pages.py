"""The Markdown pages as programs: their fenced blocks, run in order and compared with what the page says they print.

What the kinds of blocks mean:

    python    run; all blocks of a page share one namespace, as if they were one file. A block whose first line is a
              comment with a file's name is saved under that name too.
    text      right after a `python` or `sh` block: what that block prints. `...` stands for anything.
    toml      saved: as the name in its first line's comment, else as `toolsmith.toml`.
    sh        one command a line. `toolsmith` and `python` are run; `UNTRIED` says which are not, and why.

Any other kind is an error, so that nothing is left out unseen. Run as a program, in the folder that may be written to,
this file runs one page: `python pages.py /path/to/page.md`.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolsmith.testing import ScriptedModel, call, fail, say
from toolsmith.testing.script import Step

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^(?P<fence>```+)(?P<kind>\w*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
KINDS = frozenset({"python", "text", "toml", "sh"})

# What the services answer, page by page, request by request. The pages' code is run as it stands: it finds a scripted
# model where its base URLs point to.
SCRIPTS: Mapping[str, Sequence[Step]] = {
    "README.md": [
        call("search_files", word="tenacity"),
        call("build_index"),
        call("search_files", word="tenacity"),
        say("Several files mention it."),
        call("price", fruit="plums", kilos=2),
        say("4.80 euros."),
        call("price", fruit="plums", kilos=3),
        say("7.20 euros."),
    ],
    "speed.md": [say("Yes, 12 kilos.")] * 3,
    "providers.md": [
        call("rooms", city="Oslo"),
        say("Two rooms are free in Oslo."),
        call("rooms", city="Bergen"),
        say("There is none in Bergen."),
        say("You are welcome."),
        say("Yes, two."),
        say("Two."),
        say("There are two."),
        fail("quota"),
        say("Yes: two rooms."),
        say("Two are left."),
        call("rooms", city="Oslo"),
        say("Two."),
        say("Two."),
    ],
    "rag.md": [call("rag_search", query="opening hours of the shop"), say("It opens at nine [docs-1].")],
    "TOUR.md": [call("search", word="pydantic", limit=1), say("One line.")],
}

# What changes from run to run.
_VARYING = (
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), "0 s"),
    (re.compile(r"\(reference [0-9a-f]{8}\)"), "(reference 00000000)"),
    (re.compile(r"\b[\d,]+ (tokens|files)\b"), r"0 \1"),
    # What a search finds in this repository is checked by itself, see test_readme.
    (re.compile(r"^  - file: .*$", re.MULTILINE), "  - file: one"),
    (re.compile(r'^ *\[\{"file": .*$', re.MULTILINE), "[files]"),
)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        line: of its first line in the page, from 1.
        body: without the fences.
        prints: what the page says it prints, None where it says nothing.
    """

    kind: str
    line: int
    body: str
    prints: str | None = None

    @property
    def file(self) -> str | None:
        """The name in the comment of its first line."""
        found = re.match(r"# ([\w/.-]+\.(?:py|toml))\n", self.body)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, each output put with the block that prints it."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<!-- begin: .*?<!-- end: [^\n]*", _unless_code, text, flags=re.DOTALL)
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        block = Block(match["kind"], line, match["body"])
        assert block.kind in KINDS, f"{page.name}:{line - 1}: a block of kind {block.kind!r}; there are {sorted(KINDS)}"
        if block.kind == "text":
            before = text[end : match.start()].strip()
            follows = bool(found) and not before and found[-1].prints is None
            assert follows, f"{page.name}:{line - 1}: a text block stands right after the block that prints it"
            found[-1] = Block(found[-1].kind, found[-1].line, found[-1].body, block.body)
        else:
            found.append(block)
        end = match.end()
    return found


def _unless_code(match: re.Match[str]) -> str:
    """Of a generated part only Python is run; its texts are compared with the generator's by another test."""
    return match[0] if "```python" in match[0] else "\n" * match[0].count("\n")


def same(expected: str, got: str) -> bool:
    """Whether an output is what the page says, but for times, references and `...`."""
    pattern = re.escape(settled(expected)).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, settled(got), re.DOTALL) is not None


def settled(text: str) -> str:
    """A text without what changes from run to run."""
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def difference(expected: str, got: str) -> str:
    """For people: the page's lines against the real ones."""
    lines = difflib.unified_diff(
        settled(expected).splitlines(), settled(got).splitlines(), "the page", "printed", lineterm=""
    )
    return "\n".join(lines)


def commands(block: Block) -> list[str]:
    """The commands of an `sh` block; a comment is none."""
    joined = block.body.replace("\\\n", " ").replace("&&", "\n")
    return [line for line in (raw.strip() for raw in joined.splitlines()) if line and not line.startswith("#")]


def run(page: Path) -> None:
    """Run all blocks of a page in the current folder, with a scripted model at the services' addresses.

    Raises:
        AssertionError: a block prints something else than the page says, or the page asks the services for more or
            less than is in its script.
    """
    model = ScriptedModel(SCRIPTS.get(page.name, []))
    with model.serve() as server:
        os.environ |= {"ANTHROPIC_BASE_URL": server.url("anthropic"), "OPENAI_BASE_URL": server.url("openai")}
        os.environ |= {"ANTHROPIC_API_KEY": "any", "OPENAI_API_KEY": "any"}
        module = types.ModuleType("page")
        sys.modules["page"] = module
        for block in blocks(page):
            run_block(page, block, module)
    model.assert_exhausted()


def run_block(page: Path, block: Block, module: types.ModuleType) -> str:
    """Run one block; gives what it printed."""
    match block.kind:
        case "python":
            got = _run_python(page, block, module)
        case "toml":
            _save(block, block.file or "toolsmith.toml")
            return ""
        case _:
            # The README's reader stands in the repository, that of the other pages in a folder of their own.
            folder = ROOT if page.parent == ROOT else Path.cwd()
            got = "".join(_output(command, folder) for command in commands(block) if is_tried(command))
    if block.prints is not None:
        where = f"{page.name}:{block.line}"
        assert same(block.prints, got), f"{where} prints something else:\n{difference(block.prints, got)}"
    return got


def _run_python(page: Path, block: Block, module: types.ModuleType) -> str:
    if block.file:
        _save(block, block.file)
        name, source = block.file, block.body
    else:
        # Errors then name the page and its line.
        name, source = page.name, "\n" * (block.line - 1) + block.body
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, name, "exec"), module.__dict__)
    return printed.getvalue()


def _save(block: Block, name: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.body, encoding="utf-8")


def is_tried(command: str) -> bool:
    """Whether a command is run here. `test_docs` holds the list of those that are not."""
    return command.split()[0] in {"toolsmith", "python"}


def _output(command: str, folder: Path) -> str:
    first, *words = shlex.split(command)
    program = [sys.executable, *(["-m", "toolsmith"] if first == "toolsmith" else []), *words]
    done = subprocess.run(
        program,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def all_pages() -> list[Path]:
    """Every page that people read, the tour included."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "toolsmith" / "TOUR.md"]


def links(page: Path) -> Iterator[tuple[int, str]]:
    """Where a page's links lead: line and target."""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for target in re.findall(r"\[[^\]]+\]\(([^)\s]+)\)", line):
            yield number, target


if __name__ == "__main__":
    run(Path(sys.argv[1]))
