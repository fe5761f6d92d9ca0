// SPDX-License-Identifier: Apache-2.0
const number = 7
