#!/usr/bin/env bash
# Builds the static binary and the Debian package, and shows what is in it. Needs Rust, dpkg-deb and
# file. Gives OUT/weir and OUT/weir_VERSION_ARCHITECTURE.deb; OUT is target/packaging unless the
# first argument names another. PROFILE=dev builds sooner and serves slower.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=${PROFILE:-release}
target=${CARGO_TARGET_DIR:-target}
out=${1:-$target/packaging}
triple="$(uname -m)-unknown-linux-gnu"
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
architecture=$(dpkg --print-architecture)

# With --target the flags are for what runs there only, and not for build scripts.
RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build -p weir --bin weir --profile "$profile" --target "$triple"
built=$target/$triple/$([[ $profile == dev ]] && echo debug || echo "$profile")/weir
mkdir -p "$out"
install -m 755 "$built" "$out/weir"

file "$out/weir" | grep -Eq 'statically linked|static-pie linked' ||
    { echo "$out/weir is not static: $(file "$out/weir")" >&2; exit 1; }
if ldd "$out/weir" 2>/dev/null | grep -q '=>'; then
    echo "$out/weir wants libraries" >&2
    exit 1
fi

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
put() { install -D -m "$1" "$2" "$tree/$3"; }
put 755 "$out/weir" usr/bin/weir
put 644 packaging/weir.service usr/lib/systemd/system/weir.service
put 644 packaging/weir.socket usr/lib/systemd/system/weir.socket
put 644 packaging/weir.toml etc/weir/weir.toml
for document in README.md CHANGELOG.md docs/{admin,configuration,fleet,host}.md; do
    put 644 "$document" "usr/share/doc/weir/$(basename "$document")"
done
for page in docs/*.1; do
    if [[ -f $page ]]; then
        put 644 "$page" "usr/share/man/man1/$(basename "$page")"
        gzip -9n "$tree/usr/share/man/man1/$(basename "$page")"
    fi
done
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: weir"
    echo
    echo "Files: *"
    echo "Copyright: the contributors of Weir"
    echo "License: Expat or Apache-2.0"
    echo
    echo "License: Expat"
    sed 's/^$/./; s/^/ /' LICENSE-MIT
    echo
    echo "License: Apache-2.0"
    echo " See /usr/share/common-licenses/Apache-2.0."
} > "$tree/usr/share/doc/weir/copyright"
chmod 644 "$tree/usr/share/doc/weir/copyright"

mkdir -p "$tree/DEBIAN"
cat > "$tree/DEBIAN/control" <<EOF
Package: weir
Version: $version
Architecture: $architecture
Maintainer: The contributors of Weir <weir@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f1)
Section: httpd
Priority: optional
Description: web server for static sites
 Weir serves the files of a directory over HTTP. Its concurrency architecture
 is a choice: the same site can be served by an event loop, by threads, by a
 loop with helpers or through io_uring.
 .
 The units are installed and not enabled: weir.socket has port 80, and
 weir.service serves /srv/www, or what /etc/weir/weir.toml says.
EOF
echo /etc/weir/weir.toml > "$tree/DEBIAN/conffiles"
package=$out/weir_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null

# What has to be in it, is.
content=$(dpkg-deb --contents "$package")
for path in usr/bin/weir etc/weir/weir.toml usr/lib/systemd/system/weir.service \
    usr/lib/systemd/system/weir.socket usr/share/doc/weir/copyright; do
    grep -q " ./$path\$" <<<"$content" || { echo "$package has no $path" >&2; exit 1; }
done
sed "s|/srv/www|$tree|" packaging/weir.toml > "$tree/weir.toml"
"$out/weir" check "$tree/weir.toml"
echo "$content"
"$out/weir" --version
echo "$package"
