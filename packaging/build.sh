#!/usr/bin/env bash
# Builds the static binary and, where dpkg-deb is, the Debian package, and shows what is in it.
# Needs Rust and binutils. Gives OUT/weir, its debug information in OUT/weir.debug, and
# OUT/weir_VERSION_ARCHITECTURE.deb; OUT is target/packaging unless the first argument names
# another. PROFILE=dev builds sooner and serves slower. packaging/try.sh installs what this has made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=${PROFILE:-release}
target=${CARGO_TARGET_DIR:-target}
out=${1:-$target/packaging}
triple="$(uname -m)-unknown-linux-gnu"
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)

# With --target the flags are for what runs there only, and not for build scripts.
RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build -p weir --bin weir --profile "$profile" --target "$triple"
built=$target/$triple/$([[ $profile == dev ]] && echo debug || echo "$profile")/weir
mkdir -p "$out"
objcopy --only-keep-debug "$built" "$out/weir.debug"
strip -o "$out/weir" "$built"
(cd "$out" && objcopy --add-gnu-debuglink=weir.debug weir)

if readelf --program-headers "$out/weir" | grep -q INTERP; then
    echo "$out/weir is not static: it wants a loader" >&2
    exit 1
fi

if ! command -v dpkg-deb >/dev/null; then
    "$out/weir" --version
    echo "$out/weir; no dpkg-deb here, so no package"
    exit 0
fi
architecture=$(dpkg --print-architecture)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
put() { install -D -m "$1" "$2" "$tree/$3"; }
put 755 "$out/weir" usr/bin/weir
put 644 packaging/weir.service usr/lib/systemd/system/weir.service
put 644 packaging/weir.socket usr/lib/systemd/system/weir.socket
put 644 packaging/weir.toml etc/weir/weir.toml
put 644 packaging/logrotate etc/logrotate.d/weir
put 644 packaging/index.html usr/share/weir/index.html
for document in README.md CHANGELOG.md ARCHITECTURE.md docs/*.md docs/*.png \
    docs/results/README.md docs/results/flood/*.{md,svg}; do
    put 644 "$document" "usr/share/doc/weir/$document"
done
completions() { "$out/weir" completions "$1" > "$tree/completions" && put 644 "$tree/completions" "$2"; }
completions bash usr/share/bash-completion/completions/weir
completions zsh usr/share/zsh/vendor-completions/_weir
completions fish usr/share/fish/vendor_completions.d/weir.fish
rm "$tree/completions"
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
printf '%s\n' /etc/weir/weir.toml /etc/logrotate.d/weir > "$tree/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "packaging/$script" "$tree/DEBIAN/$script"
done
package=$out/weir_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package" >/dev/null

dpkg-deb --contents "$package"
"$out/weir" --version
echo "$package"
