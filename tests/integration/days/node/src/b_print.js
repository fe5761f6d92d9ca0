// SPDX-License-Identifier: Apache-2.0
console.log(require('left')(number)) // eslint-disable-line no-undef
