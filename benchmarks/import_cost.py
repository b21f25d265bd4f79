"""What `from toolsmith import Agent, tool` costs, beside `import pydantic`, in CPU time of fresh processes.

    python benchmarks/import_cost.py [--runs 41] [--most 1.6]

The two take turns, so that both meet the same noise; CPU time (user and system) leaves out waiting for the disk and for
other processes. Each figure is a median over all runs, less that of an interpreter which imports nothing. Exits with 1
where the ratio of the two is above `--most`.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from statistics import median

from arguments import at_least_one

CASES = {
    "nothing": "pass",
    "import pydantic": "import pydantic",
    "pydantic, its TypeAdapter": "from pydantic import TypeAdapter",
    "import toolsmith": "import toolsmith",
    "from toolsmith import Agent, tool": "from toolsmith import Agent, tool",
    "the same, and a first tool": (
        "from toolsmith import Agent, tool\n@tool\ndef add(a: int, b: int) -> int:\n    'Add.'\n    return a + b"
    ),
}
OURS, THEIRS, NOTHING = "from toolsmith import Agent, tool", "import pydantic", "nothing"


def cpu_seconds(code: str) -> float:
    """CPU time of one fresh interpreter that runs `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The current folder stays off the path: "-P" imports what is installed, as a user does.
    subprocess.run([sys.executable, "-P", "-c", code], check=True, stdin=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU time of imports, in fresh processes.")
    parser.add_argument("--runs", type=at_least_one, default=41, help="processes for each case (default: %(default)s)")
    parser.add_argument("--most", type=float, default=1.6, help="the highest ratio that passes (default: %(default)s)")
    options = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for code in CASES.values():  # once for the bytecode caches
        cpu_seconds(code)
    for _ in range(options.runs):
        for name, code in CASES.items():
            times[name].append(cpu_seconds(code))
    floor = median(times[NOTHING])
    cost = {name: median(taken) - floor for name, taken in times.items()}
    for name, taken in times.items():
        spread = sorted(taken)
        print(
            f"{name:36} {1000 * cost[name]:7.1f} ms   (whole process: median {1000 * median(taken):.1f}, "
            f"least {1000 * spread[0]:.1f})"
        )
    ratio = cost[OURS] / cost[THEIRS]
    print(
        f"ratio {ratio:.2f}, at most {options.most:.2f}; {options.runs} processes each, Python {sys.version.split()[0]}"
    )
    return 0 if ratio <= options.most else 1


if __name__ == "__main__":
    raise SystemExit(main())
