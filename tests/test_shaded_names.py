"""A class of a function may have the name of a global one: each field means what Python's scopes say, or is refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import shaded_functions

from toolsmith import DefinitionError

SOURCE = Path(shaded_functions.__file__)

MADE = (
    "named_tuple",
    "typed_dict",
    "typed_dict_of_an_alias",
    "dataclass",
    "model",
    "one_deeper",
    "tool_before_its_type",
    "model_from_elsewhere",
)
TOO_LATE = (
    "model_late",
    "model_late_for_a_library_class",
    "model_of_a_named_tuple_late",
    "pydantic_dataclass_late",
)
OUT_OF_REACH = (
    "named_tuple_from_elsewhere",
    "typed_dict_from_elsewhere",
    "dataclass_from_elsewhere",
    "function_from_elsewhere",
)


@pytest.fixture(scope="module")
def postponed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same functions with `from __future__ import annotations`."""
    path = tmp_path_factory.mktemp("shaded") / "shaded_later.py"
    doc, _, body = SOURCE.read_text(encoding="utf-8").partition('"""\n\n')
    path.write_text(f'{doc}"""\n\nfrom __future__ import annotations\n\n{body}', encoding="utf-8")
    spec = importlib.util.spec_from_file_location("shaded_later", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "shaded_later", module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(params=["as they are", "postponed"])
def functions(request: pytest.FixtureRequest, postponed: Any) -> Any:
    """The module, with its annotations as they are or postponed."""
    return postponed if request.param == "postponed" else shaded_functions


@pytest.mark.parametrize("name", MADE)
def test_the_fields_of_a_local_class_mean_the_local_class(functions: Any, name: str) -> None:
    """What the schema shows is what the function gets: the class that Python's scopes say."""
    made = getattr(functions, name)()
    assert "everywhere" not in str(made.input_schema)
    result = made.call_json_sync('{"x": {"inner": {"size": 2}}}')
    assert result.data is True, result.error


def test_a_named_tuple_may_be_an_array_too(functions: Any) -> None:
    """As any other named tuple; what has a default may be left out."""
    made = functions.named_tuple()
    assert made.call_json_sync('{"x": [{"size": 2}]}').data is True
    assert made.call_json_sync('{"x": [{"size": 2}, 3]}').data is True
    assert not made.call_json_sync('{"x": [{"size": 2}, "many"]}').success


def test_in_a_list_too(functions: Any) -> None:
    """The same one level down, the class being defined after the one that names it."""
    result = functions.named_tuple_late().call_json_sync('{"x": [{"inner": {"size": 2}}]}')
    assert result.data is True, result.error


def test_the_fields_of_a_global_class_mean_the_global_class(functions: Any) -> None:
    """A class beside the tool, of the same name, is none of its business."""
    result = functions.global_named_tuple().call_json_sync('{"x": {"inner": {"everywhere": 2}}}')
    assert result.data is True, result.error


def test_an_import_in_the_function_is_no_other_thing(functions: Any) -> None:
    """What is imported at the top and in a function again is the same."""
    result = functions.imported_here_too().call_json_sync('{"x": {"inner": "2026-12-01"}}')
    assert result.data is True, result.error


@pytest.mark.parametrize("name", TOO_LATE)
def test_what_pydantic_has_already_taken_wrongly_is_refused(functions: Any, name: str) -> None:
    """pydantic reads a model when it is made; the text says where, and what to do."""
    with pytest.raises(DefinitionError) as caught:
        assert getattr(functions, name)().input_schema
    text = str(caught.value)
    missing = "date" if "library" in name else "Inner"
    assert f"{Path(functions.__file__).name}:" in text
    assert f"means the {missing!r} of the function" in text
    assert f"Define that {missing!r} before" in text


def test_a_pydantic_dataclass_with_postponed_annotations_is_refused(postponed: Any) -> None:
    """It is pydantic's own way to look in the module only; the text says so."""
    with pytest.raises(DefinitionError, match="without `from __future__ import annotations`"):
        assert postponed.pydantic_dataclass_late().input_schema


@pytest.mark.parametrize("name", OUT_OF_REACH)
def test_a_name_of_a_function_that_has_ended_is_not_taken_for_a_global_one(functions: Any, name: str) -> None:
    """The function's own class is gone when the tool is made elsewhere: told with the place and the way out."""
    with pytest.raises(DefinitionError) as caught:
        assert getattr(functions, name)().input_schema
    text = str(caught.value)
    missing = "Outer" if name == "function_from_elsewhere" else "Inner"
    assert f"{Path(functions.__file__).name}:" in text
    assert f"means the {missing!r} of _types()" in text
    assert f"Make the tool within _types(), after that {missing!r}" in text
