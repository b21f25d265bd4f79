"""`python -m toolsmith`: the command line."""

from toolsmith.cli import main

raise SystemExit(main())
