"""The sides of the benchmark: each is a module in this folder, which `sides.py` finds; an environment of its own is
made for it. Nothing else has to be told of a new one.

    NAME = "name"                     # in the tables
    LABEL = "name"                    # optional: in the plots
    COLOR = "#b6bdc6"                 # optional: of its bars
    ORDER = 4                         # optional: its place in the tables; those without come last

    INSTALL = ["name", ...]           # for pip
    DISTS = ["name", ...]             # whose versions are written down
    IMPORT = "from name import Agent, tool"      # as a user writes it; "" for none
    WIRES = ("chat", "resp", "ant")   # the APIs that it speaks

    def derive(fn): ...               # all that its decorator does, until the schema is there; or None
    def caller(fn): ...               # gives call(text) -> text, sync or async: the tool object's own way; or None

    class Session:                    # an agent and its client; made before the clock runs
        def __init__(self, wire, base, fns): ...
        async def run(self, prompt, turns) -> str: ...                  # the final text
        async def stream(self, prompt, turns) -> tuple[str, int]: ...   # and how many pieces came
        def fork(self): ...           # optional: a conversation of its own, on the same client

    def modes(wire, fns, sent): ...   # optional: mode -> tool list, where it differs from `sent`, which is sent unasked

What belongs to the side is imported inside the functions, so that the start of a program is measured as it is. No side
retries, since the service does not fail; otherwise each is used as its documentation shows.
"""
