#!/bin/bash
# Prints the names of all architectures of a build, a line each, so that no script has a list of its own.
# usage: architectures.sh WEIR
set -euo pipefail
"$1" serve --list-architectures --json | sed -n 's/^ *"name": "\(.*\)",\{0,1\}$/\1/p'
