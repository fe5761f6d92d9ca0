// SPDX-License-Identifier: Apache-2.0
package greet;

public final class Greet {
    private Greet() {
    }

    public static String greet() {
        return "hello from a jar";
    }
}
