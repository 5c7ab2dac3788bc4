"""`python -m bvb` is the `bvb` command."""

from bvb._start import main

main()
