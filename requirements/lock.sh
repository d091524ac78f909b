#!/bin/sh
# Compiles requirements/*.txt from pyproject.toml: exact versions, the hashes of every published file, no address.
#
# Pip's own configuration is switched off, so that a mirror or a folder of wheels on this machine leaves no trace.
# Compiled with the oldest Python we run on. Versions stay where they are unless UPGRADE=1. requirements/model.txt is
# written by hand. pip-tools has an environment of its own, because it brings its own pip.
set -eu

cd "$(dirname "$0")/.."
venv=.venv-lock
unset PIP_FIND_LINKS PIP_EXTRA_INDEX_URL PIP_CONSTRAINT PIP_INDEX_URL
export PIP_CONFIG_FILE=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1

python=${PYTHON:-python3.11}
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || {
    echo "make lock needs Python 3.11, the oldest we run on: make lock PYTHON=/path/to/python3.11" >&2
    exit 1
}
"$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --require-hashes -r requirements/lock.txt

compile() {
    out=$1
    shift
    echo "compiling requirements/$out.txt" >&2
    "$venv/bin/pip-compile" --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-index-url \
        --no-emit-find-links --no-emit-trusted-host --no-emit-options ${UPGRADE:+--upgrade} \
        --output-file "requirements/$out.txt" "$@"
}

compile run --build-deps-for editable --extra embedded pyproject.toml
compile dev --build-deps-for editable --extra embedded --extra dev --constraint requirements/run.txt pyproject.toml
compile lock requirements/lock.in
