"""Asks the counters that runs share."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolsmith._run.budget import Order

log = logging.getLogger("toolsmith")


def taken(orders: Sequence[Order]) -> list[Sequence[int | None] | None]:
    """What each counter said; None where it failed, so that the call is refused and the run goes on."""
    answers: list[Sequence[int | None] | None] = []
    for counter, budgets in orders:
        try:
            answers.append(counter.take(budgets))
        except Exception:
            log.exception("The shared counter %r could not count; the call is refused.", counter)
            answers.append(None)
    return answers


async def ataken(orders: Sequence[Order]) -> list[Sequence[int | None] | None]:
    """`taken` on a worker thread: a counter may wait for a disk or another process."""
    import asyncio

    from toolsmith._calls import workers

    return await workers.call(asyncio.get_running_loop(), lambda: taken(orders))
