// SPDX-License-Identifier: Apache-2.0
package main

import (
	"fmt"

	"example.test/greet"
)

func main() { fmt.Println(greet.Greet()) }
