"""``python -m bayesspn``: the command line."""

from __future__ import annotations

from bayesspn.cli import main

if __name__ == "__main__":
    main()
