"""PDFs through pypdf, in a process of its own: what hangs or swells there is ended, and its pages so far are kept.

pypdf is Python: a page made to be slow cannot be interrupted in a thread, and one made to be large takes the memory of
the whole program. The process costs about a third of a second.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from toolsmith import _extras
from toolsmith.rag._chunks import Section
from toolsmith.rag._reading import Bounds, Reading, Unreadable

_MEMORY: Final = 2_000_000_000  # bytes of address space for the process
_MAX_PAGES: Final = 20_000


def read_pdf(data: bytes, bounds: Bounds) -> Reading:
    """The text of a PDF, a section for each page.

    Raises:
        Unreadable: it is broken or encrypted, or holds pictures of text alone.
        ConfigError: pypdf is not installed.
    """
    _extras.load("pypdf", extra="rag", purpose="Reading PDFs")
    lines, cut = _in_process(data, bounds)
    title, failure, sections, size = "", "", list[Section](), 0
    for line in lines:
        match line:
            case {"title": str(said)}:
                title = said
            case {"page": int(page), "text": str(text)}:
                if size + len(text) > bounds.characters:
                    cut = cut or f"only its first {bounds.characters:,} characters"
                    break
                size += len(text)
                if text.strip():
                    sections.append(Section(text, page=page, lines=False, markdown=False))
            case {"failed": str(said)}:
                failure = said
            case _:
                pass
    if not sections:
        raise Unreadable(failure or cut or "it has no text, only pictures of it perhaps")
    return Reading(sections, title, cut or failure)


def _in_process(data: bytes, bounds: Bounds) -> tuple[list[dict[str, Any]], str]:
    """What the other process wrote, and why that is not all."""
    if getattr(sys, "frozen", False):  # there is no Python to start
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            _write(io.BytesIO(data))
        return _parsed(out.getvalue()), ""
    home = str(Path(__file__).parents[2])
    path = os.pathsep.join(p for p in (home, os.environ.get("PYTHONPATH", "")) if p)
    command = [sys.executable, "-P", "-m", "toolsmith.rag._pdf"]
    # A file, not a pipe: what has been written is there when the process is ended.
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
        with process:
            try:
                process.communicate(data, timeout=bounds.seconds)
                cut = "" if process.returncode == 0 else f"its reader ended early (exit code {process.returncode})"
            except subprocess.TimeoutExpired:
                cut = f"not read to its end within {bounds.seconds:g} s"
            finally:
                process.kill()
        out.seek(0)
        # Text as ASCII in JSON has at most six bytes a character; beyond the bound nothing is looked at.
        return _parsed(out.read(bounds.characters * 6 + 1_000).decode("ascii", "replace")), cut


def _parsed(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):  # the last one may have been cut off
            found.append(json.loads(line))
    return found


def _write(file: BinaryIO) -> None:
    """Write title and pages to standard output, a JSON object a line."""
    try:
        for found in _pages(file):
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
    except MemoryError:
        sys.stdout.write('{"failed": "it takes more memory than a PDF may"}\n')
    except Exception as error:  # noqa: BLE001 - whatever a broken file does to its reader is a broken file
        said = f"it is broken: {type(error).__name__}: {error}"
        sys.stdout.write(json.dumps({"failed": said[:300]}) + "\n")


def _pages(file: BinaryIO) -> Iterator[dict[str, Any]]:
    pypdf = _extras.load("pypdf", extra="rag", purpose="Reading PDFs")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = pypdf.PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        yield {"failed": "it is encrypted, and needs a password"}
        return
    with contextlib.suppress(Exception):  # the title alone may be broken
        yield {"title": str(reader.metadata.title or "")[:300]}
    broken: list[int] = []
    for number, page in enumerate(reader.pages, 1):
        if number > _MAX_PAGES:
            yield {"failed": f"only its first {_MAX_PAGES:,} pages"}
            return
        try:
            yield {"page": number, "text": page.extract_text() or ""}
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - a broken page does not lose the others
            broken.append(number)
    if broken:
        shown = ", ".join(map(str, broken[:10])) + (", ..." if len(broken) > 10 else "")
        yield {"failed": f"{len(broken):,} of its pages are broken ({shown})"}


def _main() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        pass
    else:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    _write(io.BytesIO(sys.stdin.buffer.read()))


if __name__ == "__main__":
    _main()
