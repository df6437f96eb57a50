#!/usr/bin/env bash
# Installs the package of packaging/build.sh into a directory that is made for it and removed again,
# serves by the settings that came with it, and removes the package. Needs root, dpkg and curl. The
# first argument is the package; the second one, if there is any, how large the program may be, in
# bytes.
set -euo pipefail
package=$1 size_max=${2:-}

root=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$root"' EXIT
mkdir -p "$root"/var/lib/dpkg/{updates,info} "$root/var/log"
touch "$root"/var/lib/dpkg/{status,available}
install_it() {
    dpkg --root="$root" --log=/dev/null --force-script-chrootless --force-not-root \
        --no-triggers "$@"
}
install_it --install "$package"

fail() { echo "$package: $*" >&2; exit 1; }
for path in usr/bin/weir etc/weir/weir.toml etc/logrotate.d/weir srv/www/index.html \
    usr/lib/systemd/system/weir.service usr/lib/systemd/system/weir.socket \
    usr/share/bash-completion/completions/weir usr/share/man/man1/weir.1.gz \
    usr/share/doc/weir/docs/flags.md usr/share/doc/weir/copyright; do
    [[ -s $root/$path ]] || fail "has no $path, or nothing in it"
done
size=$(stat -c %s "$root/usr/bin/weir")
[[ -z $size_max ]] || ((size <= size_max)) || fail "the program has $size bytes"

# Its own settings, with the paths as they are in here.
mkdir -p "$root/var/log/weir"
sed "s|\"/srv/|\"$root/srv/|; s|\"/var/|\"$root/var/|" "$root/etc/weir/weir.toml" > "$root/weir.toml"
"$root/usr/bin/weir" check "$root/weir.toml"
# Each architecture answers: a page, and a path that there is not. Tests run with assertions, and the
# program of the package is built without.
ask() { # PATH
    curl --silent --retry 50 --retry-delay 0 --retry-all-errors --retry-max-time 10 --max-time 20 \
        --unix-socket "$root/http" --write-out ' %{http_code}' "http://localhost$1"
}
for architecture in $("$root/usr/bin/weir" serve --list-architectures | awk '/^[a-z]/ { print $1 }'); do
    "$root/usr/bin/weir" serve --config "$root/weir.toml" --listen "unix:$root/http" \
        --admin "unix:$root/admin" --user root --architecture "$architecture" &
    server=$!
    [[ $(ask /) == *'Weir serves'*' 200' ]] || fail "$architecture does not serve"
    [[ $(ask /none) == *' 404' ]] || fail "$architecture does not say what is missing"
    kill "$server"
    wait "$server"
    server=
done
grep -q 'GET / ' "$root/var/log/weir/access.log" || fail "the request is not in its log"

# A page of one's own stays, whatever comes.
echo mine > "$root/srv/www/index.html"
install_it --install "$package"
install_it --remove weir
[[ $(cat "$root/srv/www/index.html") == mine ]] || fail "removed or replaced a page"
[[ ! -e $root/usr/bin/weir ]] || fail "its removal leaves the program"
echo "installed, served and removed"
