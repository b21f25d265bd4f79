"""One signature, every service: what the schema says, what goes on the wire, and the way back. No model is asked.

    python examples/03_one_signature.py

`limit` has a default, `labels` is a dict and `area` a tuple. OpenAI's strict mode has no word for any of the three; the
function gets them all the same, and a default is applied by Python itself.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field

from toolsmith import tool
from toolsmith.dialects import CLAUDE_STRICT, OPENAI_STRICT


@tool
def find_shops(
    area: tuple[float, float],
    labels: dict[str, bool],
    limit: Annotated[int, Field(ge=1, le=50)] = 7,
) -> str:
    """Find shops around a place.

    Args:
        area: latitude and longitude of the middle
        labels: what a shop must have or must not have, such as {"wifi": true}
        limit: how many at the most
    """
    return f"area={area!r}, labels={labels!r}, limit={limit!r}"


def main() -> None:
    forms = {
        "the function": find_shops.input_schema,
        "OpenAI strict": find_shops.to_openai()["parameters"],
        "Claude strict": find_shops.to_anthropic()["input_schema"],
    }
    for name in find_shops.input_schema["properties"]:
        print(f"\n{name}")
        for form, schema in forms.items():
            must = "required" if name in schema["required"] else "optional"
            member = {key: value for key, value in schema["properties"][name].items() if key != "description"}
            print(f"  {form:<14} {must}  {json.dumps(member)}")

    sent: dict[str, Any] = {
        "area": {"item_1": 59.9, "item_2": 10.7},
        "labels": [{"key": "wifi", "value": True}],
        "limit": None,
    }
    arguments = OPENAI_STRICT.decode(sent, find_shops.input_schema)
    print(f"\nA strict model sends:\n  {json.dumps(sent)}")
    print(f"which is read as:\n  {json.dumps(arguments)}")
    print(f"and the function gets:\n  {find_shops.call_json_sync(json.dumps(arguments)).data}")
    assert CLAUDE_STRICT.decode({**sent, "limit": 7}, find_shops.input_schema) == {**arguments, "limit": 7}

    print()
    print(find_shops.strict_report("openai"))
    print(find_shops.strict_report("anthropic"))
    print("\nIt is still the function it was:", find_shops((59.9, 10.7), {}, limit=2))


if __name__ == "__main__":
    main()
