#!/bin/sh
# Builds the image of Containerfile with whatever builder is here: podman, docker or buildah. `make container` calls
# this. Further arguments go to the builder: tools/container.sh --build-arg TORCH_INDEX=none
set -eu
cd "$(dirname "$0")/.."
for builder in podman docker buildah; do
    # docker's client may be installed where no engine runs
    if command -v "$builder" >/dev/null 2>&1 && "$builder" info >/dev/null 2>&1; then
        exec "$builder" build -f Containerfile -t flashlearn-hub "$@" .
    fi
done
echo "No builder of images works here: install podman, docker or buildah, or start docker's engine." >&2
exit 1
