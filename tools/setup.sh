#!/bin/sh
# Makes .venv hold exactly the pins of requirements.txt, once. `make setup` calls this, and so does every
# target that needs Python: when .venv is up to date it returns at once.
#
#   PYTHON=python3.12   which Python to build .venv with (default: the first of 3.11 to 3.14 that is found)
#   TORCH_INDEX=URL     a further package index to take torch's build from; remembered for later runs
#   TORCH_INDEX=none    no further index: torch's default build, with CUDA; remembered too
#
# Without TORCH_INDEX a new .venv on a machine without an NVIDIA GPU gets torch's CPU build, if its index can be
# reached (tools/torch_index.py decides). That is remembered like everything else, and not asked again.
# pip's own settings (pip.conf, PIP_*) stay in force.
set -eu
cd "$(dirname "$0")/.."

venv=.venv
mark=$venv/made-by-flashlearn # present from the first moment: this folder is ours to remove
stamp=$venv/flashlearn-stamp  # present only when the set-up went through to its end
cpu_index=${TORCH_CPU_INDEX:-https://download.pytorch.org/whl/cpu}
root=$(pwd -P)
if [ "$(id -u)" = 0 ]; then sudo=""; else sudo="sudo "; fi

fail() {
    printf '\n%s\n' "$*" | fold -s -w 100 >&2
    exit 1
}

# ---- nothing to do: the usual case ---------------------------------------------------------------
pins=$(cat requirements.txt constraints.txt | cksum)
known() { [ ! -f "$stamp" ] || sed -n "s|^$1=||p" "$stamp"; }
index=${TORCH_INDEX-$(known index)}
if [ "$index" = none ]; then index=""; fi
if [ -f "$stamp" ] && [ "$(known pins)" = "$pins" ] && [ "$(known root)" = "$root" ] &&
    [ "$(known index)" = "$index" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi

# ---- can it work here at all? --------------------------------------------------------------------
container="Use a Linux container instead (.devcontainer/ opens in VS Code, or: devcontainer up)"
case "$(uname -s)" in
Linux) ;;
Darwin) fail "FlashLearn needs Linux: triton has no build for macOS. $container; see docs/install.md." ;;
MINGW* | MSYS* | CYGWIN*)
    fail "FlashLearn needs Linux: triton has no build for Windows. Use WSL 2 (wsl --install -d Ubuntu, then" \
        "the same commands inside it). $container; see docs/install.md."
    ;;
*) fail "FlashLearn needs Linux: triton has no build for $(uname -s). $container; see docs/install.md." ;;
esac
case "$(uname -m)" in
x86_64 | aarch64) ;;
*) fail "FlashLearn needs an x86_64 or aarch64 processor: triton has no build for $(uname -m)." ;;
esac
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc 2\.\([0-9]*\).*/\1/p')
if [ "${glibc:-0}" -lt 28 ]; then
    fail "FlashLearn needs a Linux with glibc 2.28 or newer (Debian 10, Ubuntu 20.04 and later have it): torch" \
        "and triton have no builds for this system's C library. $container; see docs/install.md."
fi

# ---- which Python --------------------------------------------------------------------------------
fits() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null
}
python=""
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if fits "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    found=$("${PYTHON:-python3}" --version 2>/dev/null || echo "no ${PYTHON:-python3}")
    fail "FlashLearn needs Python 3.11, 3.12, 3.13 or 3.14 (torch and triton are built for these); found $found." \
        "On Debian 12, Ubuntu 24.04 and later: ${sudo}apt install python3 python3-venv. On Ubuntu 22.04:" \
        "${sudo}apt install python3.11 python3.11-venv. A Python in another place: make setup PYTHON=/path/to/python3.12"
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    fail "Python $version is here, but not its venv module, which Debian and Ubuntu ship as a package of its own." \
        "Install it and run make again: ${sudo}apt install python$version-venv"
fi

undecided=no
if [ ! -f "$stamp" ] && [ -z "${TORCH_INDEX+given}" ]; then undecided=yes; fi

# ---- .venv itself --------------------------------------------------------------------------------
if [ -e "$venv" ] && [ ! -f "$mark" ]; then
    fail "There is a .venv here that make did not make. Move it away (mv .venv .venv-mine) and run make again."
fi
if [ -f "$stamp" ] && [ "$(known root)" = "$root" ] && [ "$(known index)" = "$index" ] &&
    "$venv/bin/python" -c '' 2>/dev/null; then
    rm -f "$stamp" # only the pins moved: pip changes what differs
else
    # never made, interrupted half-way, moved with the folder, or torch is asked for from elsewhere
    # the mark stays while the rest goes: an interruption here must not leave a folder that looks foreign
    mkdir -p "$venv"
    : >"$mark"
    find "$venv" -mindepth 1 -maxdepth 1 ! -path "$mark" -exec rm -rf {} +
    unset PYTHONPATH PYTHONHOME
    "$python" -m venv "$venv" || fail "Python could not create .venv; its message is above."
fi

echo "Setting up .venv with $("$venv/bin/python" --version). This is done once; torch is the large download."
if [ "$undecided" = yes ]; then
    index=$("$venv/bin/python" tools/torch_index.py "$cpu_index") || index=""
fi
install() {
    PIP_USER=0 "$venv/bin/python" -m pip install --disable-pip-version-check "$@" ||
        fail "The set-up did not finish: pip's message is above. What was downloaded is kept; run make again."
}
# One step with every pin: a local build such as 2.13.0+cpu satisfies the pin and is preferred where it is found.
install ${index:+--extra-index-url "$index"} -r requirements.txt -c constraints.txt
install --quiet --no-deps --no-build-isolation -e .
"$venv/bin/python" -c 'import torch, triton' ||
    fail "torch and triton are installed but cannot be imported; Python's message is above."

{
    echo "pins=$pins"
    echo "root=$root"
    echo "index=$index"
} >"$stamp.new"
mv "$stamp.new" "$stamp"
echo "The environment is ready."
