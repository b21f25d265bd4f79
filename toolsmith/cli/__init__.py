"""The `toolsmith` command: `run`, `chat`, `simulate` to try tools, `rag` to search documents. See `--help`."""

from __future__ import annotations

import argparse
import errno
import io
import logging
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast

from toolsmith import __version__
from toolsmith.cli import _exits, _rag, _simulate
from toolsmith.cli._chat import HELP, converse
from toolsmith.cli._words import Parser, UsageError, check_text, divided, ended_wrong, guess
from toolsmith.errors import ToolsmithError

if TYPE_CHECKING:
    from toolsmith.agent import Agent
    from toolsmith.cli._view import View

_CODES = "\n".join(f"  {code:<4} {meaning}" for code, meaning in _exits.MEANING.items())

EPILOG = f"""\
exit codes:
{_CODES}

output:
  The answer goes to standard output; the tool calls, what went wrong and the account of the run go to standard error,
  and so does whatever the tools themselves print. With --json, standard output has one JSON object a line: each event
  of the run as it happens, last {{"event": "end", "exit_code": ..., "output": ..., "error": ...}}.
  Values of environment variables named *_KEY, *_TOKEN, *_SECRET or *_PASSWORD are masked everywhere.

models:
  PROVIDER:MODEL (anthropic:claude-opus-5-5, openai:gpt-6-astra, openai-chat:NAME, local:smollm2) or a profile of
  toolsmith.toml. Without one: the variable TOOLSMITH_MODEL, else the embedded local:smollm2.
"""


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code.

    Args:
        arguments: the words after the program's name, None for those of this process.

    Raises:
        SystemExit: from `--help`, `--version` and a wrong option.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    top, verbs = _parsers()
    if words[:1] == ["help"]:
        words = [*(word for word in words[1:2] if word in verbs), "--help"]
    if not words:
        top.print_help(sys.stderr)
        return _exits.USAGE
    if words[0] not in verbs:
        _without_verb(top, verbs, words)
    verb = verbs[words[0]]
    options = verb.parse(words[1:])
    try:
        verb.check_given(options)
        return _DO[words[0]](options)
    except UsageError as error:
        verb.complain(str(error))
        return _exits.USAGE
    except BrokenPipeError:
        # Who read our output has left. Python would complain once more when it flushes at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _exits.NO_ANSWER
    except KeyboardInterrupt:
        print("toolsmith: interrupted", file=sys.stderr)
        return _exits.INTERRUPTED
    except OSError as error:
        if error.errno not in _FULL:
            raise
        print(f"toolsmith: the output cannot be written: {error.strerror}.", file=sys.stderr)
        return _exits.NO_ANSWER


def _open_streams() -> None:
    """Streams that our caller has closed: nothing comes from them, and what goes there is nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the rest of the process
    with suppress(AttributeError, io.UnsupportedOperation):
        # What is no text is found, and told, as that of the command line is.
        cast("Any", sys.stdin).reconfigure(errors="surrogateescape")


def _without_verb(top: Parser, verbs: Mapping[str, Parser], words: Sequence[str]) -> NoReturn:
    """`--help`, `--version`, and whatever lacks a command."""
    if words[0] in top.names():
        top.parse_args(words[:1])
    if words[0].startswith("-"):
        option = words[0].partition("=")[0]
        verb = next((word for word in words if word in verbs), "COMMAND")
        known = any(option in one.names() for one in verbs.values())
        near = "" if known else guess(option, top.names())
        stands = f"{option} stands before the command: write toolsmith {verb} {option} ..."
        top.error(f"there is no option {option}.{near}" if near else stands)
    prompt = ' For a prompt: toolsmith run "PROMPT".' if len(" ".join(words).split()) > 1 else ""
    there = f"there is no command {words[0]!r}; there are {', '.join(verbs)}."
    near = guess(words[0], list(verbs)) or guess(f"--{words[0]}", top.names())
    top.error(there + near + prompt)


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    raw = argparse.RawDescriptionHelpFormatter
    top = Parser(
        prog="toolsmith",
        description="Plain Python functions as tools for language models.",
        epilog=EPILOG,
        formatter_class=raw,
    )
    top.add_argument("-V", "--version", action="version", version=f"toolsmith {__version__}")
    verbs = top.add_subparsers(title="commands", metavar="{run,chat,simulate,rag}", parser_class=Parser)
    references = "an agent, tools, functions or a registry, as module:name or path/file.py:name"
    run = verbs.add_parser(
        "run",
        help="answer one prompt",
        usage='%(prog)s [options] [MODULE:NAME ...] "PROMPT"',
        description="Answer one prompt with the given tools.",
        epilog=EPILOG,
        formatter_class=raw,
    )
    run.add_argument(
        "words",
        nargs="*",
        metavar='MODULE:NAME ... "PROMPT"',
        help=f"{references}; then the prompt, in quotes if it has more than letters and spaces. Nothing, or - behind "
        "the prompt, takes the text of standard input",
    )
    chat = verbs.add_parser(
        "chat",
        help="hold a conversation",
        usage='%(prog)s [options] [MODULE:NAME ...] ["MESSAGE"]',
        description=f"Hold a conversation with the given tools. {HELP}",
        epilog=EPILOG,
        formatter_class=raw,
    )
    chat.add_argument(
        "words", nargs="*", metavar='MODULE:NAME ... "MESSAGE"', help=f"{references}; then the first message, if any"
    )
    for verb in (run, chat):
        _add_options(verb)
        verb.end = ended_wrong
    simulate, rag = _simulate.add_to(verbs, references), _rag.add_to(verbs)
    found: dict[str, Parser] = {"run": run, "chat": chat, "simulate": simulate, "rag": rag}
    for verb in found.values():
        verb.others = found
    return top, found


def _add_options(verb: argparse.ArgumentParser) -> None:
    model = verb.add_mutually_exclusive_group()
    model.add_argument("--model", metavar="MODEL", help="PROVIDER:MODEL or the name of a profile")
    model.add_argument("--profile", metavar="NAME", help="a profile: [models.NAME] of the settings file")
    verb.add_argument("--agent", metavar="NAME", help="an agent: [agents.NAME] of the settings file")
    verb.add_argument(
        "--config",
        metavar="FILE",
        help="settings file (default: $TOOLSMITH_CONFIG, else toolsmith.toml of this folder)",
    )
    verb.add_argument("--instructions", metavar="TEXT", help="the system text")
    how = verb.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="one JSON object a line, for machines")
    how.add_argument("-q", "--quiet", action="store_true", help="only the answer, and errors")
    verb.add_argument("-v", "--verbose", action="store_true", help="the log, with stack traces, on standard error")


def _run(options: argparse.Namespace) -> int:
    from toolsmith.cli._view import run_shown

    references, prompt = _question(options.words)
    check_text(prompt, "the prompt")

    def work(agent: Agent[Any], view: View) -> int:
        result = run_shown(agent, view, prompt)
        code = _exits.of_result(result)
        view.ended(result, exit_code=code)
        return code

    return _with_agent(options, references, work, redirect=True)


def _chat(options: argparse.Namespace) -> int:
    interactive = sys.stdin.isatty() and not options.json
    # It reads standard input anyway.
    references, first = divided([word for word in options.words if word != "-"])

    def work(agent: Agent[Any], view: View) -> int:
        converse(agent, view, interactive=interactive, first=first)
        return _exits.ANSWERED

    # Line editing needs the terminal's own standard output.
    return _with_agent(options, references, work, redirect=not interactive)


def _send_mistakes(options: argparse.Namespace) -> int:
    with _answers_only(redirect=True) as out:
        return _simulate.run(options, out)


def _use_documents(options: argparse.Namespace) -> int:
    with _answers_only(redirect=True) as out:
        return _rag.run(options, out)


_DO: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "chat": _chat,
    "simulate": _send_mistakes,
    "rag": _use_documents,
}


def _with_agent(
    options: argparse.Namespace, references: Sequence[str], work: Callable[[Agent[Any], View], int], *, redirect: bool
) -> int:
    """Assemble the agent and let it work; whatever fails is shown and has its exit code."""
    from toolsmith.cli._assemble import Wishes, assemble
    from toolsmith.cli._machine import JsonView
    from toolsmith.cli._people import PeopleView
    from toolsmith.cli._view import Mask

    with _answers_only(redirect=redirect) as out:
        view = JsonView(out, mask=Mask()) if options.json else PeopleView(out, quiet=options.quiet, mask=Mask())
        wishes = Wishes(
            references=references,
            model=options.model,
            profile=options.profile,
            agent=options.agent,
            file=options.config,
            instructions=options.instructions,
        )
        try:
            with _log_shown(view, verbose=options.verbose):
                return work(assemble(wishes, view), view)
        except (ToolsmithError, KeyboardInterrupt) as error:
            code = _exits.of_error(error)
            view.failed(error, exit_code=code)
            return code
        except Exception as error:
            # Not foreseen: people get the stack trace that Python prints, machines their last line too.
            if options.json:
                view.failed(error, exit_code=_exits.NO_ANSWER)
            raise


def _question(words: Sequence[str]) -> tuple[list[str], str]:
    """References and the prompt, which comes from the command line, from standard input, or from both, joined."""
    piped = words[-1:] == ["-"]
    references, prompt = divided(words[:-1] if piped else words)
    if prompt is not None and not prompt.strip():
        raise UsageError("the prompt is empty: say what to do.")
    if prompt is not None and not piped:
        return references, prompt
    read = sys.stdin.read().strip() if piped or not sys.stdin.isatty() else ""
    if not read:
        if piped:
            raise UsageError('"-" stands for the text of standard input, and there is none.')
        last = f" ({words[-1]!r} names a tool)" if words else ""
        raise UsageError(f"there is no prompt{last}: put it last, in quotes, or send it to standard input.")
    return references, read if prompt is None else f"{prompt}\n\n{read}"


@contextmanager
def _answers_only(*, redirect: bool) -> Generator[TextIO]:
    """Standard output for us alone: what tools, their subprocesses and engines print goes to standard error."""
    out = sys.stdout
    try:
        ours = redirect and out.fileno() == 1
    except (OSError, ValueError, AttributeError):
        ours = False
    if not ours:
        yield out
        return
    out.flush()
    with os.fdopen(os.dup(1), "w", encoding=out.encoding, errors="backslashreplace") as answers:
        os.dup2(2, 1)
        try:
            yield answers
        finally:
            out.flush()
            os.dup2(answers.fileno(), 1)


class _Notes(logging.Handler):
    """Shows the log in the trace, a line each: a tool's stack trace is for those who ask for it."""

    def __init__(self, view: View) -> None:
        super().__init__(logging.WARNING)
        self._view = view

    def emit(self, record: logging.LogRecord) -> None:
        self._view.note(record.getMessage())


@contextmanager
def _log_shown(view: View, *, verbose: bool) -> Generator[None]:
    handler: logging.Handler
    if verbose:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    else:
        handler = _Notes(view)
    log = logging.getLogger("toolsmith")
    log.addHandler(handler)
    level = log.level
    if verbose:
        log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
