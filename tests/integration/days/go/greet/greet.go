// SPDX-License-Identifier: Apache-2.0

// Package greet is what the application depends on.
package greet

// Greet says hello.
func Greet() string { return "hello from a module" }
