"""Whether this Python can start threads: in a browser it cannot."""

from __future__ import annotations

import sys

CAN_START = sys.platform != "emscripten"
