#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the packages of the servers that tests in tests/integration start themselves, as far as they
# are missing: OpenSSH's and PostgreSQL (network_packages.py), about 200 MB, most of it LLVM, and
# Debian's registry of images (images.py). Installing one must not make this machine serve, so its
# units are masked before where systemd runs ('systemctl unmask' gives them back).
set -euo pipefail

# Without the right to mask there is none to install, either.
mask() { # UNIT...
	[ -d /run/systemd/system ] || return 0
	if [ "$(id -u)" -eq 0 ]; then
		systemctl mask "$@" >&2
	else
		sudo -n systemctl mask "$@" >&2 || true
	fi
}

is_installed() { # PACKAGE
	[ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = 'install ok installed' ]
}

if ! is_installed openssh-server; then
	mask ssh.service ssh.socket
	echo openssh-server
fi
if ! is_installed postgresql; then
	mask postgresql.service
	echo postgresql
fi
if ! is_installed docker-registry; then
	mask docker-registry.service
	echo docker-registry
fi
