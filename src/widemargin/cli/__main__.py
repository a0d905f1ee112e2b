"""``python -m widemargin.cli``."""

import sys

from widemargin.cli.main import main

sys.exit(main())
