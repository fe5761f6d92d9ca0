// SPDX-License-Identifier: Apache-2.0
pub const KIND: &str = "vendored";
