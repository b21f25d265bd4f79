"""A model that looks things up in documents and cites them, and what happens when the documents change.

    python examples/07_search_documents.py

The index is a file in a temporary folder. The model is scripted (`toolsmith.testing`), so that it runs offline; the
searches are real.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from toolsmith import RAG, Agent
from toolsmith.testing import ScriptedModel, call, say

HANDBOOK = {
    "returns.md": "# Returns\n\n## Time\n\nGoods may be sent back within thirty days.\n\n## Cost\n\nPostage is paid.\n",
    "hours.md": "# Opening hours\n\nThe shop opens at nine. It is closed on Sundays.\n",
    "gifts.html": "<title>Gift cards</title><script>track()</script><p>Gift cards are valid for three years.</p>",
    "scan.pdf": "this is no PDF",
}
RECIPES = "# Bread\n\nBake it for forty minutes.\n\n# Soup\n\nLet it simmer for an hour.\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, text in HANDBOOK.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "recipes.txt").write_text(RECIPES, encoding="utf-8")
        names = [folder / name for name in HANDBOOK]
        with (
            RAG("shop", description="the handbook of the shop", path=folder / "index.sqlite3") as shop,
            RAG("kitchen", description="recipes", path=folder / "index.sqlite3") as kitchen,
        ):
            kitchen.add(folder / "recipes.txt")
            add(shop, names, folder)
            ask(shop, kitchen, folder)
            (folder / "hours.md").write_text("# Opening hours\n\nThe shop opens at ten.\n", encoding="utf-8")
            add(shop, names, folder)
            hit = shop.search("when does it open?", 1)[0]
            print(f"Now: {hit.text}")


def add(rag: RAG, paths: list[Path], folder: Path) -> None:
    """Adding is always the same call; what has not changed is skipped, and what cannot be read hurts nothing else."""
    print(f"{str(rag.add(paths)).replace(f'{folder.as_posix()}/', '')}\n")


def ask(shop: RAG, kitchen: RAG, folder: Path) -> None:
    """The model chooses where to look by what the tools say of themselves; its marks lead back to the passages."""
    mark = shop.search("send something back", 1)[0].mark
    model = ScriptedModel(
        [call("rag_search_shop", query="time to send goods back"), say(f"You have thirty days [{mark}].")]
    )
    agent = Agent(model.provider("anthropic"), rag=[shop, kitchen])
    result = agent.run_sync("How long can I think about it?")
    print(f"The model reads:\n{result.tool_calls[0].result.data.replace(f'{folder.as_posix()}/', '')}\n")
    print(f"It answers: {result.output}")
    for hit in shop.cited(result.output):
        print(f"  [{hit.mark}] {hit.place.replace(f'{folder.as_posix()}/', '')}: {hit.text}\n")


if __name__ == "__main__":
    main()
