// SPDX-License-Identifier: Apache-2.0
package app;

import greet.Greet;

public final class App {
    private App() {
    }

    public static void main(String[] arguments) {
        System.out.println(Greet.greet());
    }
}
