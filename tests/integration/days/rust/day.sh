# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC1091,SC2164
. ./steps.sh

# A registry's crate as `cargo vendor` leaves it.
mkdir -p vendor/tiny
mv vendored/* vendor/tiny/
echo '{"files":{},"package":null}' >vendor/tiny/.cargo-checksum.json
mkdir app/.cargo
cat >app/.cargo/config.toml <<'END'
[source.crates-io]
replace-with = "vendored"
[source.vendored]
directory = "../vendor"
END
cd app
done_with project

cargo build --quiet
test "$(target/debug/app)" = 'hello from a crate, vendored'
done_with build

mv .cargo/config.toml /tmp/
cp Cargo.toml /tmp/
echo 'absent = "1"' >>Cargo.toml
fails_with offline cargo build
mv /tmp/config.toml .cargo/
mv /tmp/Cargo.toml .
done_with nothing from a registry

cargo test --quiet >tests.log 2>&1 || {
	cat tests.log
	exit 1
}
grep -q '4 passed' tests.log
done_with tests

cargo install --quiet --path .
test "$(app)" = 'hello from a crate, vendored'
done_with install for the user

test -e /home/agent/.cargo/.package-cache
done_with cache
