"""A process that adds documents until it is killed, for the faults: `python rag_indexing.py INDEX COUNT [SIZE]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from toolsmith import RAG, Document
from toolsmith.rag import Progress


def documents(count: int, size: int) -> Iterator[Document]:
    for n in range(count):
        yield Document(f"# Number {n}\n\nThis is document number{n}x. " + "Words to fill it. " * size, f"d{n}")


def main() -> None:
    path, count = sys.argv[1], int(sys.argv[2])
    size = int(sys.argv[3]) if len(sys.argv) > 3 else 20

    def told(progress: Progress) -> None:
        print(progress.done, flush=True)

    with RAG(path=path, embeddings=False) as rag:
        account = rag.add(documents(count, size), progress=told)
    print(len(account.added), len(account.unchanged), len(account.failed), flush=True)


if __name__ == "__main__":
    main()
