#!/bin/sh
# Run once, as root, when Gradescope builds the image: Python, bubblewrap, and the course with its pins.
set -eu
root=${AUTOGRADER:-/autograder}

apt-get update
apt-get install -y make bubblewrap
# Ubuntu 22.04 has Python 3.11 beside its own 3.10; later ones have a Python that is new enough
apt-get install -y python3.11 python3.11-venv || apt-get install -y python3 python3-venv
sh "$root/source/course/tools/setup.sh"
# which sandbox layers work here; grading tests them again, and refuses to run with too few
"$root/source/course/.venv/bin/flashlearn" class doctor || true
