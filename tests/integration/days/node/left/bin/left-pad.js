#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
console.log(require('../index.js')(process.argv[2]))
