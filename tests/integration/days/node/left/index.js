// SPDX-License-Identifier: Apache-2.0
module.exports = (value) => String(value).padStart(4)
