// SPDX-License-Identifier: Apache-2.0
pub fn greet() -> &'static str {
    "hello from a crate"
}
