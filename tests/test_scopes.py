"""A name in a postponed annotation means what Python's scopes say where it stands; or the tool is refused.

Never the other: that the schema says one thing and the function another. Python itself, which evaluates annotations
that are not postponed where they stand, says what is meant.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from own_modules import forgotten
from scope_cases import HEAD, REFUSED, REFUSED_SINCE_3_12, RIGHT, RIGHT_SINCE_3_12, generated

from toolsmith import DefinitionError

Run = Callable[[str], Any]

since_3_12 = pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")


def postponed(source: str) -> str:
    return f"from __future__ import annotations\n{source}"


def quoted(source: str) -> str:
    """The same with each annotation as a text."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
            node.annotation = ast.Constant(ast.unparse(node.annotation))
    return ast.unparse(tree)


spellings = pytest.mark.parametrize("spelling", [postponed, quoted], ids=lambda s: s.__name__)


@pytest.fixture(scope="module")
def properties(tmp_path_factory: pytest.TempPathFactory) -> Generator[Run]:
    """Run a module and give the properties in the schema of its tool."""
    folder = tmp_path_factory.mktemp("scopes")
    with forgotten(folder):

        def run(source: str) -> Any:
            path = folder / f"scope_{len(list(folder.iterdir()))}.py"
            path.write_text(source, encoding="utf-8")
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            return module.f.input_schema["properties"]

        yield run


def _same(properties: Run, spelling: Callable[[str], str], case: str) -> None:
    assert properties(spelling(HEAD + case)) == properties(HEAD + case)


def _refused(properties: Run, spelling: Callable[[str], str], case: str) -> None:
    assert properties(HEAD + case)
    with pytest.raises(DefinitionError) as caught:
        properties(spelling(HEAD + case))
    text = str(caught.value)
    assert Path(text.partition(":")[0]).suffix == ".py"
    assert "'Item'" in text or "'Given'" in text
    assert "give one of the two another name" in text.lower()


@spellings
@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT.keys())
def test_a_name_means_what_the_scopes_say(properties: Run, spelling: Callable[[str], str], case: str) -> None:
    """Imports in a function, aliases in a class, what running functions have bound: the schema is the very same."""
    _same(properties, spelling, case)


@spellings
@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_name_that_is_out_of_reach_is_refused(properties: Run, spelling: Callable[[str], str], case: str) -> None:
    """Another thing of its name is not taken for it; the text says where, which name, and what to do."""
    _refused(properties, spelling, case)


@since_3_12
@spellings
@pytest.mark.parametrize("case", RIGHT_SINCE_3_12.values(), ids=RIGHT_SINCE_3_12.keys())
def test_a_type_parameter_comes_before_a_global_thing(
    properties: Run, spelling: Callable[[str], str], case: str
) -> None:
    """Of the function, its class, and what is around them."""
    _same(properties, spelling, case)


@since_3_12
@spellings
@pytest.mark.parametrize("case", REFUSED_SINCE_3_12.values(), ids=REFUSED_SINCE_3_12.keys())
def test_a_type_parameter_that_is_out_of_reach_is_refused(
    properties: Run, spelling: Callable[[str], str], case: str
) -> None:
    """Where pydantic has taken the global thing, or nobody can tell whose it is."""
    _refused(properties, spelling, case)


@spellings
def test_no_way_to_bind_a_name_goes_wrong(properties: Run, spelling: Callable[[str], str]) -> None:
    """However a function binds it, and whatever class names it: the same schema, or a refusal."""
    cases = generated()
    right = 0
    for title, case in cases.items():
        meant = properties(HEAD + case)
        try:
            found = properties(spelling(HEAD + case))
        except DefinitionError:
            continue
        assert found == meant, title
        right += 1
    # Where the tool is made in the function, all is at hand, but for what pydantic reads itself.
    assert right >= len(cases) / 3


def test_a_method_may_be_named_like_a_type(properties: Run) -> None:
    """Where Python would find no type in the class, the name keeps its other meaning."""
    case = """
class Api:
    date = None
    def list(self): ...
    def f(self, x: list[Item]): ...
f = Tool(Api().f)
"""
    assert properties(postponed(HEAD + case)) == {"x": {"type": "array", "items": {"type": "integer"}}}


def test_a_subclass_elsewhere_may_have_the_same_name(properties: Run) -> None:
    """A method's annotations are read in the class that defines it, not in one of that name which inherits it."""
    base = "class Api:\n    Item = bool\n    def f(self, x: Item): ...\nf = Tool(Api().f)\n"
    assert properties(postponed(HEAD + base)) == {"x": {"type": "boolean"}}
    kid = "from {} import Api as Base\nclass Api(Base):\n    Item = str\nf = Tool(Api().f)\n"
    module = next(name for name, held in reversed(sys.modules.items()) if name.startswith("scope_") and held)
    assert properties(postponed(HEAD + kid.format(module))) == {"x": {"type": "boolean"}}
