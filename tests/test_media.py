"""What an image or a file is: told by its bytes, refused with the way out, never printed, and kept without loss."""

from __future__ import annotations

import base64
import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import PDF, gif, jpeg, png, webp

from toolsmith import (
    Agent,
    File,
    HistoryError,
    Image,
    Message,
    Text,
    Tool,
    ToolOutput,
    ToolResult,
    dump_messages,
    load_messages,
    tool,
)
from toolsmith._feedback import FEEDBACK
from toolsmith.media import MAX_BYTES

PNG = png()
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("data", "kind", "pixels"),
    [
        (png(640, 480), "image/png", (640, 480)),
        (jpeg(), "image/jpeg", (3, 2)),
        (gif(), "image/gif", (4, 3)),
        (webp(b"VP8X"), "image/webp", (5, 4)),
        (webp(b"VP8L"), "image/webp", (5, 4)),
        (webp(b"VP8 "), "image/webp", (5, 4)),
        (png()[:10], "image/png", None),
        (jpeg()[:10], "image/jpeg", None),
        (b"\xff\xd8\xff\xd9\xff\xda\0\0\0\0\0\0", "image/jpeg", None),
        (webp(b"VP8X")[:14], "image/webp", None),
    ],
)
def test_an_image_is_what_its_bytes_are(data: bytes, kind: str, pixels: tuple[int, int] | None) -> None:
    """Whatever it is called: services answer 400 to a JPEG that is called PNG."""
    image = Image(data, media_type="image/png")
    assert (image.media_type, image.pixels, image.data) == (kind, pixels, data)


@settings(deadline=None)
@given(
    st.binary(max_size=60), st.sampled_from([b"", b"\xff\xd8\xff", b"GIF89a", b"RIFF0000WEBPVP8X", PNG[:24], b"%PDF-"])
)
def test_any_bytes_are_an_image_or_told_to_be_none(data: bytes, head: bytes) -> None:
    """Damaged heads raise nothing else."""
    try:
        pixels = Image(head + data).pixels
    except ValueError:
        return
    assert pixels is None or min(pixels) > 0


def test_from_a_path(tmp_path: Path) -> None:
    """A picture under a wrong name is still told by its bytes; a document keeps its own name for the model."""
    picture, report, notes = tmp_path / "a.png", tmp_path / "report.pdf", tmp_path / "Grüße.md"
    picture.write_bytes(jpeg())
    report.write_bytes(PDF)
    notes.write_text("# Grüße", encoding="utf-8")
    assert Image.from_path(picture) == Image(jpeg())
    assert Image.from_path(str(picture)).media_type == "image/jpeg"
    assert File.from_path(report) == File(PDF, name="report.pdf")
    assert File.from_path(report, name="Q3").label == f"Q3, application/pdf, {len(PDF)} bytes"
    assert (File.from_path(notes).text, File.from_path(notes).media_type) == ("# Grüße", "text/markdown")
    assert File(PDF, name="x").text is None
    assert File(PDF, name="half \ud83d.pdf").name == "half ?.pdf", "or no service could be told it"


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (File(PDF), "application/pdf"),
        (File(b"\n" + PDF), "application/pdf"),
        (File(b"junk before " + PDF, name="scan.PDF"), "application/pdf"),
        (File(b"a,b\n1,2\n", name="x.csv"), "text/csv"),
        (File(b'{"a": 1}', name="x.json"), "application/json"),
        (File(b"print('%PDF-1.4 is how they begin')\n", name="x.py"), "text/plain"),
        (File("\ufeffGrüße".encode()), "text/plain"),
        (File(b"PK\x03\x04\xff", name="letter.docx"), DOCX),
        (File(b"\x00\xff", media_type="Application/X-Thing; v=1"), "application/x-thing"),
        (File(url="https://example.org/report.pdf?v=2#p3"), "application/pdf"),
        (File(url="https://example.org/download"), ""),
        (File(url="data:text/csv;charset=utf-8;base64,YSxi"), "text/csv"),
    ],
)
def test_the_type_of_a_file(file: File, kind: str) -> None:
    """By the bytes where they tell, then as it was given, then by the name, then as text."""
    assert file.media_type == kind


def test_addresses() -> None:
    """An http(s) address stays one; a data: address becomes bytes; what may be a signature is not printed."""
    signed = Image(url="https://example.org/x.png?sig=secret")
    assert (signed.data, signed.media_type, signed.pixels) == (None, "image/png", None)
    assert repr(signed) == "Image(image/png, https://example.org/x.png)"
    assert Image(url="data:image/png;base64," + base64.b64encode(PNG).decode()) == Image(PNG)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Image(), "bytes or url="),
        (lambda: Image(PNG, url="https://example.org/x.png"), "one of the two"),
        (lambda: Image("x.png"), "from_path('x.png')"),  # type: ignore[arg-type]
        (lambda: Image(b""), "no bytes"),
        (lambda: Image(b"BM123456"), "Convert them"),
        (lambda: Image(b"<svg/>"), "PNG, JPEG, GIF or WebP"),
        (lambda: Image(PDF), "use File(...)"),
        (lambda: Image(b"abc", media_type="text/plain"), "no type of image"),
        (lambda: Image(url="x.png"), "https://"),
        (lambda: Image(url="file:///etc/passwd"), "https://"),
        (lambda: Image(url="data:image/png,abc"), "base64"),
        (lambda: Image(url="data:image/png;base64,a!"), "base64"),
        (lambda: File(), "bytes or url="),
        (lambda: File(PNG), "use Image(...)"),
        (lambda: File(b"x", name="x.png"), "use Image(...)"),
        (lambda: File(b"x", name="x.pdf"), "no PDF"),
        (lambda: File(b"\xff\xfe"), "media_type="),
        (lambda: File(b"a\0b"), "media_type="),
        (lambda: File(b"x" * (MAX_BYTES + 1)), "50,000,001 bytes"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(make: Callable[[], object], says: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert says in str(caught.value)


def test_a_file_on_disk_that_cannot_be_is_named(tmp_path: Path) -> None:
    """Its path stands in the error; a huge one is not read first."""
    bitmap, huge = tmp_path / "a.bmp", tmp_path / "huge.png"
    bitmap.write_bytes(b"BM123456")
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ValueError, match=r"a\.bmp: These bytes are no PNG"):
        Image.from_path(bitmap)
    assert Image.from_path(bitmap, media_type="image/bmp").media_type == "image/bmp"
    with pytest.raises(ValueError, match=r"huge\.png: .*50,000,001 bytes"):
        Image.from_path(huge)
    with pytest.raises(FileNotFoundError):
        File.from_path(tmp_path / "none.pdf")


@pytest.mark.parametrize("value", [Image(PNG), Image(url="https://example.org/x"), File(PDF, name="r.pdf")])
def test_they_are_values(value: Image | File) -> None:
    """Equal, hashable, copied and pickled; never printed whole."""
    assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)
    assert len({value, copy.copy(value)}) == 1
    assert len(repr(value)) < 80
    assert Image(bytearray(PNG)) == Image(memoryview(PNG)) == Image(PNG)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ([], "The prompt is empty"),
        ("", "The prompt is empty"),
        (" \n", "The prompt is empty"),
        (["", " "], "to go on from message_history as it stands, give None"),
        (Path("x.png"), "type " + type(Path()).__name__),
        (b"abc", "type bytes"),
        (["What is this?", Path("x.png")], "Item 2 of the prompt is a value of type " + type(Path()).__name__),
        (["What is this?", PNG], "Image.from_path(path)"),
    ],
)
def test_a_prompt_of_something_else_is_refused(prompt: Any, says: str) -> None:
    """Before anything is sent, and with what to write instead."""
    with pytest.raises((TypeError, ValueError)) as caught:
        Agent("openai-chat:x").run_sync(prompt)
    assert says in str(caught.value)


# ---- out of tools


@dataclasses.dataclass
class Chart:
    title: str
    picture: Image


class Page(pydantic.BaseModel):
    title: str
    chart: Image | File | None = None
    more: list[File] = []


def result_of(value: Any) -> ToolResult:
    def probe() -> Any:
        return value

    return Tool(probe).call_json_sync("{}")


IMAGE, REPORT = Image(PNG), File(PDF, name="r.pdf")
ONE, TWO = f"[image 1: image/png, {len(PNG)} bytes]", f"[file 2: r.pdf, application/pdf, {len(PDF)} bytes]"


@pytest.mark.parametrize(
    ("value", "data", "media", "text"),
    [
        (IMAGE, ONE, (IMAGE,), ONE),
        ([IMAGE, REPORT], [ONE, TWO], (IMAGE, REPORT), f"{ONE}\n{TWO}"),
        (("Sales", IMAGE, {"n": 1}), ["Sales", ONE, {"n": 1}], (IMAGE,), f'Sales\n{ONE}\n{{"n": 1}}'),
        ({"chart": IMAGE, "n": float("nan")}, {"chart": ONE, "n": None}, (IMAGE,), f'{{"chart": "{ONE}", "n": null}}'),
        (
            Chart("Sales", IMAGE),
            {"title": "Sales", "picture": ONE},
            (IMAGE,),
            f'{{"title": "Sales", "picture": "{ONE}"}}',
        ),
        ([IMAGE, IMAGE], [ONE, ONE], (IMAGE,), f"{ONE}\n{ONE}"),
        (
            Page(title="Sales", chart=IMAGE, more=[REPORT]),
            {"title": "Sales", "chart": ONE, "more": [TWO]},
            (IMAGE, REPORT),
            f'{{"title": "Sales", "chart": "{ONE}", "more": ["{TWO}"]}}',
        ),
        (ToolResult(True, [IMAGE]), [ONE], (IMAGE,), ONE),
        (ToolResult(True, "Two.", media=(IMAGE, REPORT)), "Two.", (IMAGE, REPORT), f"Two.\n{ONE}\n{TWO}"),
        (ToolResult(True, media=(IMAGE,)), None, (IMAGE,), ONE),
        (ToolResult(True, REPORT, media=(IMAGE,)), TWO, (IMAGE, REPORT), f"{TWO}\n{ONE}"),
    ],
)
def test_a_result_with_images(value: Any, data: Any, media: tuple[Image | File, ...], text: str) -> None:
    """The data says where each stands, and stays JSON; the images are beside it, in the order of their numbers."""
    result = result_of(value)
    assert (result.success, result.data, result.media) == (True, data, media)
    told = FEEDBACK.media_marked(FEEDBACK.result_text(dataclasses.replace(result, notes=())), result.media)
    assert told == text
    again = result_of(result)
    assert (again.data, again.media) == (data, media), "a tool may hand on what another gave"


def test_the_return_type_may_say_so() -> None:
    """An image as the declared result, also of a generator, is no trouble for the schema."""

    @tool
    def shoot(url: str) -> Image:
        """Take a screenshot."""
        return IMAGE

    @tool
    def film(url: str) -> Iterator[Image]:
        """Take two."""
        yield IMAGE
        yield Image(PNG)

    assert shoot.input_schema["required"] == ["url"]
    assert shoot.call_json_sync('{"url": "x"}').media == (IMAGE,)
    assert film.call_json_sync('{"url": "x"}').media == (IMAGE, IMAGE)


def test_a_model_of_ones_own_holds_them_whole() -> None:
    """Dumped by its owner, a pydantic model with images is JSON that can be read back."""
    page = Page(title="x", chart=Image(PNG), more=[REPORT])
    dumped = page.model_dump(mode="json")
    assert dumped["chart"] == {"media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    assert page.model_dump()["chart"]["data"] == PNG
    assert Page(title="y", chart=Image(url="https://x.org/y")).model_dump(mode="json")["chart"] == {
        "url": "https://x.org/y"
    }


def test_a_failure_shows_none() -> None:
    """Beside an error only its text is told."""
    result = result_of(ToolResult(False, IMAGE, "no paper"))
    assert not result.success
    assert "no paper" in str(result.error)
    assert "image" not in str(result.error)


# ---- kept


def _image(width: int, height: int) -> Image:
    return Image(png(width, height))


def _file(text: str, name: str) -> File:
    return File(f".{text}".encode(), name=name)


def _output(media: list[Image | File]) -> Message:
    return Message("tool", (ToolOutput("c", "n", "t", media=tuple(media)),))


_words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
_media = st.one_of(
    st.builds(_image, st.integers(1, 3), st.integers(1, 3)),
    st.sampled_from([Image(jpeg()), Image(gif()), Image(url="https://example.org/ü?x=1")]),
    st.just(Image(b"BM", media_type="image/bmp")),
    st.builds(_file, _words, st.sampled_from(["", "a.csv", "ü.md", "x"])),
    st.sampled_from([REPORT, File(url="https://example.org/a.pdf", name="A"), File(b"\xff", media_type="a/b")]),
)
_prompts = st.builds(Message, st.just("user"), st.lists(st.builds(Text, _words) | _media, max_size=4).map(tuple))
_messages = _prompts | st.builds(_output, st.lists(_media, max_size=3))


@settings(deadline=None)
@given(st.lists(_messages, max_size=4))
def test_a_dumped_history_comes_back_as_it_was(messages: list[Message]) -> None:
    assert load_messages(dump_messages(messages)) == messages


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ('{"part": "image", "data": "!"}', "parts[0].data: this is no base64"),
        ('{"part": "image", "data": "AAAA"}', "parts[0]: These bytes are no PNG"),
        ('{"part": "image", "data": 1}', "parts[0].data: 1 does not belong here"),
        ('{"part": "image", "name": "x", "url": "https://x"}', "parts[0]: "),
        ('{"part": "file"}', "parts[0]: File(...) takes bytes or url="),
        ('{"part": ["image"]}', "parts[0].part"),
        (
            '{"part": "tool_output", "call_id": "c", "name": "n", "text": "t", "media": {}}',
            "parts[0].media: must be a list",
        ),
        (
            '{"part": "tool_output", "call_id": "c", "name": "n", "text": "t", "media": [{"part": "text"}]}',
            "parts[0].media[0].part: must be image or file",
        ),
        ('{"part": "text", "text": "x", "media": []}', "parts[0].media"),
    ],
)
def test_a_damaged_dump_is_refused_with_its_place(part: str, says: str) -> None:
    with pytest.raises(HistoryError) as caught:
        load_messages(f'{{"toolsmith_history": 1, "messages": [{{"role": "user", "parts": [{part}]}}]}}')
    assert says in str(caught.value)


def test_histories_from_before_there_were_images_are_read() -> None:
    """An output without `media` is one without images; and none is written for it."""
    old = (
        '{"toolsmith_history": 1, "messages": [{"role": "tool", "parts": [{"part": "tool_output", "call_id": "c", '
        '"name": "n", "text": "t", "is_error": false}]}]}'
    )
    messages = load_messages(old)
    assert messages == [Message("tool", (ToolOutput("c", "n", "t"),))]
    assert dump_messages(messages) == old
