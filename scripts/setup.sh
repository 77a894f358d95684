#!/bin/sh
# Builds the checkout's environment in .venv, or returns at once when it is up to date. Run by `make`, which keeps the
# user's own Python settings out and all caches inside the checkout.
#
# A stamp is written last and removed first. No stamp: a set-up did not finish, and is begun again (downloads are kept).
# So it is where the checkout was moved. Another stamp: pins or distributions changed, and the environment is adapted.
set -eu
cd "$(dirname "$0")/.."

venv=.venv
python=$venv/bin/python
stamp=$venv/.setup-stamp
pins="constraints-uv.txt constraints.txt"
distributions="shared services/turn-runner services/outbox-relay services/receipt-reconciler"

say() { printf 'setup: %s\n' "$*"; }

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

# Where the environment stands (the scripts in it hold absolute paths) and what it was built from.
wanted_stamp() {
    pwd -P
    {
        cat scripts/setup.sh pyproject.toml $pins
        for distribution in $distributions; do cat "$distribution/pyproject.toml"; done
    } | cksum
}

is_current() {
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(wanted_stamp)" ] && "$python" -I -S -c '' 2>/dev/null
}

# Sets `base` to the first interpreter that will do. python3 comes first: it is what the user chose. Python says 3 for
# "too old" and 4 for "cannot make environments" (Debian packages venv apart).
find_base_python() {
    base= seen= lacks_venv=
    probe='
import sys
sys.stdout.write("%d.%d" % sys.version_info[:2])
if sys.version_info < (3, 11): sys.exit(3)
try: import ensurepip, venv
except ImportError: sys.exit(4)
'
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        status=0
        version=$("$candidate" -c "$probe" 2>/dev/null) || status=$?
        case $status in
            0) base=$candidate && return ;;
            3) seen="$seen$candidate is $version, " ;;
            4) lacks_venv=${lacks_venv:-$version} ;;
        esac
    done
    [ -z "$lacks_venv" ] || fail "Python $lacks_venv is here, but without its venv module." \
        "Install it and run the command again, on Debian or Ubuntu: apt-get install python$lacks_venv-venv"
    fail "Python 3.11 or newer is needed and was not found (${seen:-there is no python3, }nor is there a newer one beside it)." \
        "Install it and run the command again, on Debian or Ubuntu: apt-get install python3 python3-venv"
}

# uv reads none of pip's settings: what the user's pip needs to reach its index, uv is told.
follow_pip() {
    index=${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null || true)}
    certificate=${PIP_CERT:-$("$python" -m pip config get global.cert 2>/dev/null || true)}
    [ -z "$index" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
    [ -z "$certificate" ] || export SSL_CERT_FILE="${SSL_CERT_FILE:-$certificate}"
}

can_be_adapted() {
    [ -f "$stamp" ] && read -r place <"$stamp" && [ "$place" = "$(pwd -P)" ] && "$python" -m pip --version >/dev/null 2>&1
}

build() {
    if ! can_be_adapted; then
        find_base_python
        say "making $venv with Python $version"
        rm -rf "$venv"
        "$base" -m venv "$venv"
    fi
    rm -f "$stamp"
    trap '[ $? -eq 0 ] || say "did not finish; run the command again, what was downloaded is kept in .cache" >&2' EXIT
    say "fetching the installer (uv, about 25 MB the first time)"
    "$python" -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints-uv.txt
    follow_pip
    say "fetching and installing the pinned packages (about 100 MB the first time, Postgres and a Java runtime among them)"
    "$python" -m uv pip sync --python "$python" --require-hashes constraints.txt
    say "installing this checkout"
    editables=
    for distribution in . $distributions; do editables="$editables -e ./$distribution"; done
    "$python" -m uv pip install --quiet --python "$python" --no-deps --no-build-isolation $editables
    wanted_stamp >"$stamp"
    say "done"
}

is_current && exit 0
mkdir -p .cache
# Two commands started side by side must not build in one place. Where there is no flock (macOS), that is not guarded.
if command -v flock >/dev/null; then
    exec 9>.cache/setup.lock
    flock 9
    is_current && exit 0
fi
build
