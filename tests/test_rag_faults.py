"""What goes wrong while documents are indexed: kills, other processes, damaged and hostile files. Nothing is lost."""

from __future__ import annotations

import io
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
import rag_indexing

from toolsmith import RAG, Document, RAGError

pytest.importorskip("lxml")


def start(path: Path, count: int, size: int = 20) -> subprocess.Popen[str]:
    command = [sys.executable, rag_indexing.__file__, str(path), str(count), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def sound(path: Path) -> None:
    """The file and its full-text tables agree."""
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        for (bucket,) in file.execute("SELECT id FROM buckets").fetchall():
            for table in (f"words_{bucket}", f"trigrams_{bucket}"):
                file.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    file.close()


@pytest.mark.parametrize("after", [1, 150, 700])
def test_killed_while_indexing(tmp_path: Path, after: int) -> None:
    """The index is whole, each document is in it whole or not at all, and adding again brings the rest."""
    path = tmp_path / "index.sqlite3"
    process = start(path, 3_000)
    assert process.stdout is not None
    while int(process.stdout.readline()) < after:
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with RAG(path=path, embeddings=False) as rag:
        there = rag.sources()
        assert len(there) < 3_000
        assert path.exists() or not there  # the first documents are written together
        if path.exists():
            sound(path)
        for source in there[:: max(len(there) // 20, 1)]:
            number = source.removeprefix("d")
            assert rag.search(f"number{number}x", 1)[0].source == source
        account = rag.add(rag_indexing.documents(3_000, 20))
        assert len(account.unchanged) == len(there)
        assert len(account.added) == 3_000 - len(there)
        assert rag.stats().documents == 3_000
    sound(path)


def test_killed_within_a_large_document(tmp_path: Path) -> None:
    """A document that replaces another is there whole, or the old one is."""
    path = tmp_path / "index.sqlite3"
    with RAG(path=path, embeddings=False) as rag:
        rag.add(Document("The old text.", "d0"))
    process = start(path, 1, 500_000)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.7)
    process.kill()
    process.communicate()
    with RAG(path=path, embeddings=False) as rag:
        assert [hit.text for hit in rag.search("old text")] == ["The old text."]
        assert rag.stats().passages == 1
    sound(path)


def test_two_processes_index_at_once(tmp_path: Path) -> None:
    """Both end, each document is in the index once, and a search meanwhile waits for nobody."""
    path = tmp_path / "index.sqlite3"
    processes = [start(path, 1_000), start(path, 1_000)]
    with RAG(path=path, embeddings=False) as rag:
        while any(process.poll() is None for process in processes):
            if path.exists():
                rag.search("number5x words")
        outs = [process.communicate()[0].split("\n")[-2] for process in processes]
        counts = [list(map(int, out.split())) for out in outs]
        assert all(added + unchanged == 1_000 and failed == 0 for added, unchanged, failed in counts)
        assert sum(added for added, _, _ in counts) == 1_000
        assert rag.stats().documents == 1_000
        assert len([h for h in rag.search("number77x", 100) if h.source == "d77"]) == 1
    sound(path)


def test_threads_share_an_index(tmp_path: Path) -> None:
    """A tool is called from worker threads while another thread adds."""
    failures: list[BaseException] = []
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False) as rag:

        def work(number: int) -> None:
            try:
                for n in range(20):
                    rag.add(Document(f"Thread {number} wrote note{n}.", f"{number}-{n}"))
                    assert rag.search(f"note{n}")
            except BaseException as error:  # noqa: BLE001 - shown by the assertion below
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert rag.stats().documents == 120


def test_a_search_does_not_wait_for_a_large_document(tmp_path: Path) -> None:
    """A program that answers people may add at the same time."""
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False) as rag:
        rag.add(Document("The shop opens at nine.", "hours"))
        large = Document("\n\n".join(f"Paragraph {n} of a large document." for n in range(60_000)), "large")
        thread = threading.Thread(target=rag.add, args=(large,))
        thread.start()
        searches = 0
        while thread.is_alive():
            assert rag.search("shop opens", 1)[0].source == "hours"
            searches += 1
        thread.join()
        assert searches >= 5
        assert rag.stats().documents == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_opens_the_file_anew(tmp_path: Path) -> None:
    """SQLite's connections do not survive a fork; a pre-forking server's workers may still search and add."""
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False) as rag:
        rag.add(Document("Before the fork.", "before"))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                rag.add(Document("In the child.", "child"))
                code = 0 if rag.search("fork") else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert rag.sources() == ["before", "child"]


# ---- damaged stores


def test_a_file_that_is_no_index(tmp_path: Path) -> None:
    """It is left as it is, and the error says what to do."""
    path = tmp_path / "index.sqlite3"
    path.write_bytes(b"This is no database, but some text." * 100)
    with pytest.raises(RAGError, match=r"damaged, or no index .*Move it away .* add the documents again"):
        RAG(path=path).search("text")
    assert path.read_bytes().startswith(b"This is no database")


def test_a_damaged_index(tmp_path: Path) -> None:
    """Pages overwritten in the middle of the file: an error that says so, not a wrong answer or a crash."""
    path = tmp_path / "index.sqlite3"
    with RAG(path=path, embeddings=False) as rag:
        rag.add(rag_indexing.documents(500, 20))
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with RAG(path=path, embeddings=False) as rag:
        with pytest.raises(RAGError, match="damaged"):
            rag.search("number5x")
        with pytest.raises(RAGError, match="damaged"):
            rag.add(Document("New.", "new"))


def test_a_database_of_another_program(tmp_path: Path) -> None:
    """Nothing is written into it."""
    path = tmp_path / "other.sqlite3"
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE accounts (id)")
    file.close()
    before = path.read_bytes()
    with pytest.raises(RAGError, match="a database of another program"):
        RAG(path=path).add(Document("A text.", "a"))
    assert path.read_bytes() == before


def test_an_index_of_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    with RAG(path=path, embeddings=False) as rag:
        rag.add(Document("A text.", "a"))
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(RAGError, match="made by a newer version"):
        RAG(path=path).search("text")


def test_an_index_that_is_busy(tmp_path: Path) -> None:
    """Who waits too long is told so; what was there stays."""
    from toolsmith.rag.sqlite import SQLiteBackend

    path = tmp_path / "index.sqlite3"
    with RAG(path=path, embeddings=False) as rag:
        rag.add(Document("A text.", "a"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with RAG(backend=SQLiteBackend(path, patience=0.2), embeddings=False) as rag:
        with pytest.raises(RAGError, match=r"written by another process for more than 0\.2 s"):
            rag.add(Document("Another.", "b"))
        assert rag.search("text")
    other.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RAGError, match=r"folder of the index .* cannot be made"):
        RAG(path=tmp_path / "file" / "index.sqlite3").add(Document("A text.", "a"))


# ---- files

BOMB_XML = b"<w:document>" + b"a" * 100_000_000


def docx_with(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def test_hostile_files_are_reported_and_the_others_are_indexed(tmp_path: Path) -> None:
    """Each with its reason; none of them stops, swells or loses the rest."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nThe good page is found.")
    bad = {
        "bomb.docx": (docx_with({"word/document.xml": BOMB_XML}), "unpacks from"),
        "junk.docx": (os.urandom(5_000), "no Word document"),
        "old.docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "without a password"),
        "hollow.docx": (docx_with({"word/document.xml": b"<x/>"}), "no Word document that can be read"),
        "junk.pdf": (b"%PDF-1.7\n" + os.urandom(5_000), "broken"),
        "empty.pdf": (b"", "broken"),
        "junk.txt": (os.urandom(5_000), "binary data"),
        "nul.md": (b"abc\x00def", "binary data"),
        "empty.txt": (b"", "no text in it"),
        "blank.html": (b"<html><script>alert(1)</script></html>", "no text in this page"),
        "binary.html": (bytes(range(256)) * 20, ""),
    }
    for name, (data, _) in bad.items():
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "pipe.txt")
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False) as rag:
        account = rag.add(folder)
        assert (folder / "good.md").as_posix() in account.added
        reasons = {Path(failure.source).name: failure.reason for failure in account.failed}
        assert reasons.pop("pipe.txt") == "it is no regular file"
        for name, (_, reason) in bad.items():
            if reason:
                assert reason in reasons.get(name, "not reported"), name
        assert rag.search("good page found")[0].position.headings == ("Good",)


def test_what_was_known_of_a_file_is_kept_when_it_breaks(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("The words that were there.")
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False) as rag:
        rag.add(path)
        path.write_bytes(bytes(100))
        assert rag.add(path).failed[0].reason == "it holds binary data, not text"
        assert rag.search("words that were there")


def test_a_file_over_the_bound_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with open(path, "wb") as file:
        file.truncate(300_000_000)  # sparse: it takes no room
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False) as rag:
        reason = rag.add(path).failed[0].reason
    assert reason == "it has 300,000,000 bytes; 128,000,000 are the most: RAG(max_file_bytes=...)"


def test_a_large_file(tmp_path: Path) -> None:
    """20 MB of text, with a needle at its end; lines of all lengths."""
    path = tmp_path / "large.txt"
    with open(path, "w") as file:
        for n in range(90_000):
            file.write(f"Entry {n}: " + f"some ordinary words about topic{n % 500} " * 6 + "\n" * (1 + n % 3))
        file.write("z" * 1_000_000 + "\n" + "The needle is the word quetzalcoatl.\n")
    assert path.stat().st_size > 20_000_000
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False) as rag:
        assert rag.add(path).passages > 10_000
        assert "needle" in rag.search("quetzalcoatl", 1)[0].text
        assert max(len(hit.text) for hit in rag.search("z" * 100 + " ordinary topic7", 50)) <= 1_600


def test_text_beyond_the_bound_is_left_out_and_said(tmp_path: Path) -> None:
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False, max_characters=1_000) as rag:
        account = rag.add(Document("Some words. " * 500, "long"))
        assert str(account.partial[0]) == "long: only its first 1,000 characters"
        assert rag.stats().characters <= 1_000


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 200_000 + "needle",
        "<p>needle</p>" + "<b>" * 100_000,
        "<p>needle</p><!--" * 50_000,
        "<table><tr><td>needle" * 3_000,
        "<p>needle <a " + " ".join(f"a{n}=1" for n in range(50_000)) + ">x</a>",
        "<p>needle</p>" + "<" * 500_000,
        "<p>needle</p>" + "&" * 500_000,
        "<p>needle</p><script>" * 10_000,
        "<ul><li>needle" * 3_000,
    ],
    ids=lambda html: html[:14],
)
def test_hostile_pages_end(tmp_path: Path, html: str) -> None:
    """Depth, size and broken markup cost no more than they are long."""
    (tmp_path / "page.html").write_text("<h1>Start</h1><p>first needle</p>" + html)
    with RAG(path=tmp_path / "index.sqlite3", embeddings=False) as rag:
        account = rag.add(tmp_path / "page.html")
        assert not account.failed
        assert rag.search("needle")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_in_circles(tmp_path: Path) -> None:
    """A link to itself is a bad file and hurts no other; links between folders are not followed, by patterns either."""
    folder = tmp_path / "docs"
    (folder / "inner" / ".hidden").mkdir(parents=True)
    (folder / "inner" / "a.md").write_text("Alpha is here.")
    (folder / "inner" / ".hidden" / "b.md").write_text("Hidden.")
    (folder / "b.md").write_text("Beta is here.")
    (folder / "self.md").symlink_to("self.md")
    (folder / "one").symlink_to(".")
    (folder / "two").symlink_to(".")
    (folder / "inner" / "up").symlink_to("..")
    with RAG(path=":memory:", embeddings=False) as rag:
        account = rag.add(folder)
        assert [Path(s).name for s in account.added] == ["b.md", "a.md"]
        assert [Path(f.source).name for f in account.failed] == ["self.md"]
        account = rag.add(f"{folder}/**/*.md")
        assert [Path(s).name for s in account.unchanged] == ["b.md", "a.md"]
        assert rag.add(f"{tmp_path}/d*/**").unchanged == account.unchanged
        assert rag.add(f"{folder}/**/inner/*.md").unchanged == account.unchanged[1:]
        assert rag.add(f"{folder}/*.md").unchanged == account.unchanged[:1]


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Two files whose names are no UTF-8 are two documents, and can be taken away."""
    paths = [tmp_path / os.fsdecode(name) for name in (b"bad\xff.md", b"bad\xfe.md")]
    for number, path in enumerate(paths):
        path.write_text(f"Text number {number}.")
    with RAG(path=":memory:", embeddings=False) as rag:
        assert len(rag.add(tmp_path).added) == 2
        assert len(rag.add(tmp_path, remove_missing=True).unchanged) == 2
        assert len(rag.remove(paths)) == 2
        assert rag.sources() == []
